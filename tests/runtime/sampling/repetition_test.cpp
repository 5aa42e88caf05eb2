// Penalties against definitions that look at every token and every length, without counts or the Z function.
#include "runtime/sampling/repetition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace riftjit::runtime {
namespace repetition_test {

constexpr uint32_t kVocabulary = 12;

std::vector<float> random_logits(std::mt19937& engine) {
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> logits(kVocabulary);
    for (float& logit : logits) logit = normal(engine);
    return logits;
}

std::vector<int32_t> last(const std::vector<int32_t>& history, size_t count) {
    return {history.end() - std::min(count, history.size()), history.end()};
}

// The same edits through the candidates of a row.
template <class Edits>
std::vector<float> apply_to_candidates(Edits& edits, const std::vector<float>& logits) {
    Candidates candidates;
    for (size_t id = logits.size(); id-- > 0;) candidates.add(int32_t(id), logits[id]);
    edits.apply(candidates);
    std::vector<float> edited(logits.size());
    for (const Candidate& candidate : candidates.all()) edited[candidate.id] = candidate.logit;
    return edited;
}

TEST(Penalties, EqualTheirDefinitionOverTheLastTokens) {
    std::mt19937 engine(11);
    for (uint32_t last_n : {1u, 3u, 64u}) {
        const PenaltyParameters p{last_n, 1.3f, 0.2f, 0.5f};
        Penalties penalties(p, kVocabulary);
        std::vector<int32_t> history;
        for (int step = 0; step < 300; ++step) {
            const std::vector<float> logits = random_logits(engine);
            std::map<int32_t, int> counts;
            for (int32_t id : last(history, last_n)) ++counts[id];
            std::vector<float> expected = logits;
            for (auto [id, count] : counts) {
                float& logit = expected[id];
                logit = logit <= 0 ? logit * p.repeat : logit / p.repeat;
                logit -= float(count) * p.frequency + p.presence;
            }
            std::vector<float> edited = logits;
            penalties.apply(std::span(edited));
            for (uint32_t id = 0; id < kVocabulary; ++id) ASSERT_NEAR(edited[id], expected[id], 1e-5);
            ASSERT_EQ(apply_to_candidates(penalties, logits), edited);
            history.push_back(int32_t(engine() % kVocabulary));
            penalties.accept(history.back());
        }
    }
}

TEST(RecentTokens, KeepTheNewestHoweverManyArePushed) {
    RecentTokens recent(3);
    for (int32_t id = 0; id < 5000; ++id) {
        recent.push(id);
        const auto window = recent.window();
        ASSERT_EQ(window.size(), size_t(std::min(id + 1, 3)));
        ASSERT_EQ(window.back(), id);
        ASSERT_EQ(window.front(), std::max(0, id - 2));
    }
}

TEST(Penalties, RestartedAreAsIfNew) {
    std::mt19937 engine(12);
    for (const uint32_t last_n : {1u, 5u, 64u}) {
        const PenaltyParameters p{last_n, 1.3f, 0.2f, 0.5f};
        Penalties used(p, kVocabulary);
        for (const size_t length : {0, 3, 200}) {
            for (int i = 0; i < 150; ++i) used.accept(int32_t(engine() % kVocabulary));
            std::vector<int32_t> text(length);
            for (int32_t& id : text) id = int32_t(engine() % kVocabulary);
            used.restart(text);
            Penalties fresh(p, kVocabulary);
            for (const int32_t id : text) fresh.accept(id);
            std::vector<float> left = random_logits(engine), right = left;
            used.apply(std::span(left));
            fresh.apply(std::span(right));
            EXPECT_EQ(left, right) << last_n << " " << length;
        }
    }
}

// For every token: the longest run of newest tokens that stood before an earlier occurrence of it, not reaching over a
// breaker.
std::map<int32_t, size_t> repetitions(const std::vector<int32_t>& window, const DryParameters& p) {
    size_t reach = window.size();
    for (size_t end = window.size(); end-- > 0;) {  // breakers that start latest count
        size_t longest = 0;
        for (const auto& breaker : p.breakers)
            if (end + breaker.size() <= window.size() &&
                std::equal(breaker.begin(), breaker.end(), window.begin() + end))
                longest = std::max(longest, breaker.size());
        if (longest == 0) continue;
        reach = window.size() - end - longest;
        break;
    }
    std::map<int32_t, size_t> longest;
    if (window.size() <= p.allowed_length || reach < p.allowed_length) return longest;
    for (size_t next = 1; next < window.size(); ++next) {
        size_t length = 0;
        while (length < next && length < reach && window[next - 1 - length] == window[window.size() - 1 - length])
            ++length;
        if (length >= p.allowed_length) longest[window[next]] = std::max(longest[window[next]], length);
    }
    return longest;
}

TEST(Dry, EqualsItsDefinition) {
    std::mt19937 engine(5);
    for (uint32_t allowed : {0u, 1u, 2u, 4u}) {
        for (uint32_t last_n : {5u, 64u}) {
            const DryParameters p{0.8f, 1.75f, allowed, last_n, {{7}, {8, 1}, {8, 1, 2}, {9, 9}}};
            Dry dry(p, kVocabulary);
            std::vector<int32_t> history;
            int penalised = 0;
            for (int step = 0; step < 800; ++step) {
                const std::vector<float> logits = random_logits(engine);
                std::vector<float> expected = logits;
                for (auto [id, length] : repetitions(last(history, last_n), p)) {
                    if (id == 7) continue;  // a breaker by itself
                    expected[id] -= 0.8f * std::pow(1.75, double(length) - allowed);
                    ++penalised;
                }
                std::vector<float> edited = logits;
                dry.apply(std::span(edited));
                for (uint32_t id = 0; id < kVocabulary; ++id)
                    ASSERT_NEAR(edited[id], expected[id], 1e-5 * (1 + std::abs(expected[id])));
                ASSERT_EQ(apply_to_candidates(dry, logits), edited);
                // Often what came some tokens before, so that long repetitions arise.
                const size_t period = 1 + step / 100;
                const bool repeat = history.size() > period && engine() % 8 != 0;
                history.push_back(repeat ? history[history.size() - period] : int32_t(engine() % kVocabulary));
                dry.accept(history.back());
            }
            EXPECT_GT(penalised, 20) << "the case must occur";
        }
    }
}

TEST(Dry, LongRepetitionsStayFinite) {
    Dry dry({1e30f, 4.0f, 2, 4096, {}}, kVocabulary);
    for (int i = 0; i < 4096; ++i) dry.accept(3);
    std::vector<float> logits(kVocabulary, 1);
    dry.apply(std::span(logits));
    EXPECT_LT(logits[3], -1e30f);
    EXPECT_FALSE(std::isnan(logits[3]));
    EXPECT_EQ(logits[2], 1);
}

TEST(DryBreakers, CoverTokensThatHoldOrBeginTheText) {
    // Tokens by id; the "tokenizer" cuts into single characters, which are ids 0 to 3.
    const std::vector<std::string> pieces = {"a", "b", "c", "\n", "xab", "abc", "ca", "zab c", "b\n"};
    const auto piece = [&](int32_t id) { return pieces[id]; };
    const auto tokenize = [](std::string_view text) {
        std::vector<int32_t> ids;
        for (char c : text) ids.push_back(c == '\n' ? 3 : c - 'a');
        return ids;
    };
    const std::vector<std::string> breakers = {"abc", "\n", ""};
    const auto sequences = dry_breaker_sequences(breakers, uint32_t(pieces.size()), piece, tokenize);
    EXPECT_EQ(sequences, (std::vector<std::vector<int32_t>>{
                             {0, 1, 2},  // "a" then "bc"
                             {3},        // the line end itself
                             {4, 2},     // "xab" then "c"
                             {5},        // holds all of it
                             {6, 1, 2},  // "ca" then "bc"
                             {8},        // holds a line end
                         }));
}

}  // namespace repetition_test
}  // namespace riftjit::runtime
