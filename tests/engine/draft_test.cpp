#include "engine/draft.h"

#include <gtest/gtest.h>

#include <random>

namespace riftjit::engine {
namespace draft_test {

using Ids = std::vector<int32_t>;

struct Found {
    size_t place, n;
};

// A scan of the whole text, from its end.
std::optional<Found> scan(const Ids& text, size_t longest) {
    for (size_t n = std::min(longest, text.size()); n > 0; --n)
        for (size_t end = text.size() - 1; end >= n; --end)
            if (std::equal(text.end() - n, text.end(), text.begin() + end - n)) return Found{end - 1, n};
    return std::nullopt;
}

Ids expected_proposal(const Ids& text, size_t longest, size_t most) {
    const auto found = scan(text, longest);
    if (!found) return {};
    Ids goes_on = text;
    for (size_t i = 0; i < most; ++i) goes_on.push_back(goes_on[found->place + 1 + i]);
    return {goes_on.begin() + static_cast<ptrdiff_t>(text.size()), goes_on.end()};
}

uint32_t expected_grade(const Ids& text, size_t place) {
    size_t same = 0;
    while (same <= place && same < 16 && text[place - same] == text[text.size() - 1 - same]) ++same;
    const size_t least[] = {1, 2, 3, 4, 8, 16};
    uint32_t grade = 0;
    while (grade < 5 && same >= least[grade + 1]) ++grade;
    return grade;
}

void expect_like_a_scan(NgramDraft& draft, const Ids& text, size_t longest, uint32_t most) {
    const auto found = scan(text, longest);
    const auto grade = draft.grade();
    ASSERT_EQ(grade.has_value(), found.has_value()) << text.size();
    if (found) {
        ASSERT_EQ(*grade, expected_grade(text, found->place)) << text.size();
    }
    const auto proposal = draft.propose(most);
    ASSERT_TRUE(proposal);
    ASSERT_EQ(Ids(proposal->begin(), proposal->end()), expected_proposal(text, longest, most)) << text.size();
}

TEST(NgramDraft, FindsWhatAScanFinds) {
    for (const int32_t tokens : {2, 5, 40, 3000})
        for (const uint32_t longest : {1U, 2U, 3U, 5U}) {
            std::mt19937 engine(static_cast<uint32_t>(tokens) + longest);
            NgramDraft draft(longest);
            Ids text;
            while (text.size() < 1500) {
                text.push_back(static_cast<int32_t>(engine() % tokens));
                draft.accept(text.back());
                expect_like_a_scan(draft, text, longest, 1 + engine() % 9);
                if (HasFatalFailure()) return;
            }
        }
}

TEST(NgramDraft, ForgetsWhatTheTextNoLongerHolds) {
    std::mt19937 engine(7);
    NgramDraft draft(3);
    Ids text;
    for (int round = 0; round < 300; ++round) {
        text.resize(engine() % 3 == 0 ? engine() % (text.size() + 1) : text.size());
        for (size_t more = engine() % 30; more > 0; --more) text.push_back(static_cast<int32_t>(engine() % 6));
        draft.restart(text);
        if (!text.empty()) expect_like_a_scan(draft, text, 3, 5);
        if (HasFatalFailure()) return;
    }
    draft.restart({});
    EXPECT_FALSE(draft.grade());
    EXPECT_TRUE(draft.propose(4)->empty());
}

TEST(NgramDraft, GoesOnWithAnEndlessRepetition) {
    NgramDraft draft(3);
    for (const int32_t id : {9, 1, 2, 1, 2}) draft.accept(id);
    const auto proposal = *draft.propose(5);
    EXPECT_EQ(Ids(proposal.begin(), proposal.end()), (Ids{1, 2, 1, 2, 1}));
}

TEST(NgramDraft, ProposesNothingWhereNothingMatches) {
    NgramDraft draft(3);
    for (int32_t id = 0; id < 100; ++id) {
        draft.accept(id);
        EXPECT_FALSE(draft.grade()) << id;
        EXPECT_TRUE(draft.propose(4)->empty()) << id;
    }
}

}  // namespace draft_test
}  // namespace riftjit::engine
