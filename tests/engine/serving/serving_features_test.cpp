// What the scheduler does beside answering: guesses, full contexts, slow readers, slots in files.
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "engine/model_draft.h"
#include "tests/engine/serving/serving_lab.h"

namespace riftjit::engine {
namespace serving_features_test {

using namespace serving_lab;

// A text that repeats itself, so that looking it up finds what follows.
Ids repeating_prompt(size_t tokens) {
    Ids ids;
    for (size_t i = 0; i < tokens; ++i) ids.push_back(int32_t(20 + i % 7));
    return ids;
}

ServingOptions lookup_drafts(uint32_t slots, uint32_t most) {
    ServingOptions options;
    for (uint32_t i = 0; i < slots; ++i) options.drafts.push_back(std::make_unique<NgramDraft>(3));
    // Whether it pays or not: times are other people's here.
    options.draft_limits = {.most = most, .is_bounded = false};
    return options;
}

// `drafts` makes those of so many slots.
void expect_answers_as_without(const std::function<ServingOptions(uint32_t slots)>& drafts) {
    AloneEngine alone;
    std::vector<ServingRequest> requests;
    for (uint32_t i = 0; i < 12; ++i) {
        ServingRequest request = greedy_request(i % 2 == 0 ? repeating_prompt(30 + i) : some_prompt(20, i), 40);
        if (i % 3 == 1) request.sampling.parameters = {.seed = i, .temperature = 0.3f, .top_k = 4};
        if (i % 3 == 2) request.sampling.parameters = {.seed = i, .repeat_penalty = 1.2f};
        requests.push_back(request);
    }
    for (const uint32_t slots : {1u, 3u}) {
        EngineOptions options = serving_options(slots);
        options.outputs = slots * 9;
        Engine engine = open_nano(options);
        Scheduler scheduler(engine, drafts(slots));
        std::vector<Scheduler::Answer> answers;
        for (const ServingRequest& request : requests) answers.push_back(submit(scheduler, request));
        uint32_t drafted = 0, accepted = 0;
        for (size_t i = 0; i < requests.size(); ++i) {
            const Heard heard = hear(answers[i]);
            const Heard expected = alone.answer_to(requests[i]);
            EXPECT_EQ(heard.ids, expected.ids) << slots << " slots, request " << i;
            EXPECT_EQ(heard.text, expected.text) << slots << " slots, request " << i;
            EXPECT_EQ(heard.finish, expected.finish);
            EXPECT_LE(heard.timings.accepted_tokens, heard.timings.drafted_tokens);
            drafted += heard.timings.drafted_tokens;
            accepted += heard.timings.accepted_tokens;
        }
        EXPECT_GT(drafted, 0u);
        EXPECT_GT(accepted, 0u);
        const ServingTotals totals = scheduler.totals();
        EXPECT_EQ(totals.drafted_tokens, drafted);
        EXPECT_EQ(totals.accepted_tokens, accepted);
        EXPECT_LE(totals.drafts, totals.drafted_tokens);
    }
}

TEST(ServingDrafts, ChangeNothingOfAnswers) {
    expect_answers_as_without([](uint32_t slots) { return lookup_drafts(slots, 8); });
}

// A model of fewer bits, whose guesses are often right, with a text for each slot.
TEST(ServingDrafts, OfASmallerModelChangeNothingOfAnswers) {
    EngineOptions options = nano_options("q4_0");
    options.context = serving_options(1).context;
    Engine smaller = open_nano(options);
    std::vector<std::unique_ptr<runtime::Session>> sessions;
    expect_answers_as_without([&](uint32_t slots) {
        ServingOptions serving;
        sessions.clear();
        for (uint32_t i = 0; i < slots; ++i) {
            auto session = runtime::Session::create(smaller.device_model, smaller.context);
            if (!session) throw std::runtime_error(session.error().message);
            sessions.push_back(std::make_unique<runtime::Session>(std::move(*session)));
            auto draft = ModelDraft::create(smaller, *sessions.back(), smaller.tokenizer, 0);
            if (!draft) throw std::runtime_error(draft.error().message);
            serving.drafts.push_back(std::move(*draft));
        }
        serving.draft_limits = {.most = 8, .is_bounded = false};
        return serving;
    });
}

Heard answer_with_shares(std::vector<double> shares, const ServingRequest& request) {
    EngineOptions options = serving_options(1);
    options.outputs = 9;
    Engine engine = open_nano(options);
    ServingOptions serving = lookup_drafts(1, uint32_t(shares.size()));
    serving.synthetic_shares = std::move(shares);
    Scheduler scheduler(engine, std::move(serving));
    auto answer = submit(scheduler, request);
    return hear(answer);
}

TEST(SyntheticGuesses, AreTakenByLotAndByNothingElse) {
    ServingRequest plain = greedy_request(repeating_prompt(40), 90);
    plain.sampling.ignores_end = true;
    ServingRequest request = plain;
    request.sampling.parameters.seed = 5;  // of the lots
    const Heard all = answer_with_shares({1, 1, 1, 1}, request);
    EXPECT_GT(all.timings.drafted_tokens, 0u);
    EXPECT_EQ(all.timings.accepted_tokens, all.timings.drafted_tokens);
    EXPECT_EQ(all.ids.size(), 90u);
    const Heard none = answer_with_shares({0, 0, 0, 0}, request);
    EXPECT_GT(none.timings.drafted_tokens, 0u);
    EXPECT_EQ(none.timings.accepted_tokens, 0u);
    EXPECT_EQ(none.ids, AloneEngine().answer_to(plain).ids) << "what was not taken changes nothing";
    const Heard some = answer_with_shares({0.9, 0.2, 0, 0}, request);
    EXPECT_GT(some.timings.accepted_tokens, 0u);
    EXPECT_LT(some.timings.accepted_tokens, some.timings.drafted_tokens);
    const Heard again = answer_with_shares({0.9, 0.2, 0, 0}, request);
    EXPECT_EQ(again.timings.drafted_tokens, some.timings.drafted_tokens);
    EXPECT_EQ(again.ids, some.ids);
}

TEST(SyntheticGuesses, HaveTheShareThatWasAskedFor) {
    ServingRequest request = greedy_request(repeating_prompt(40), 400);
    request.sampling.ignores_end = true;
    request.sampling.parameters = {.seed = 9, .temperature = 1};
    const Heard heard = answer_with_shares({0.5}, request);
    const double tries = heard.timings.drafted_tokens;
    ASSERT_GT(tries, 100);
    // Each guess is a throw of a coin: six standard deviations of their sum.
    EXPECT_NEAR(heard.timings.accepted_tokens, tries / 2, 6 * std::sqrt(tries) / 2);
}

// Where the rows of logits, the context or the cache have no room for guesses, there are fewer of them.
TEST(ServingDrafts, FitWhereThereIsLittleRoom) {
    AloneEngine alone;
    EngineOptions options = serving_options(2, 64);
    options.outputs = 3;  // one guess for both
    Engine engine = open_nano(options);
    Scheduler scheduler(engine, lookup_drafts(2, 8));
    const ServingRequest request = greedy_request(repeating_prompt(40), -1);
    std::vector<Scheduler::Answer> answers;
    for (int i = 0; i < 4; ++i) answers.push_back(submit(scheduler, request));
    const Heard first = hear(answers[0]);
    EXPECT_EQ(first.finish, FinishReason::length);
    EXPECT_EQ(first.ids.size(), 25u);
    EXPECT_EQ(first.ids, alone.answer_to(greedy_request(repeating_prompt(40), 25)).ids);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(hear(answers[size_t(i)]).ids, first.ids);
}

// Each token is what the model says of the text that is left, read anew.
TEST(ContextShift, DropsHalfAndGoesOn) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(1, 64));
    ServingOptions shifting;
    shifting.shifts_context = true;
    Scheduler scheduler(engine, std::move(shifting));
    ServingRequest request = greedy_request(some_prompt(50, 3), 90);
    request.kept_tokens = 10;
    request.sampling.parameters.logit_bias = {{int32_t(engine.tokenizer.end_of_generation().front()), -1000.f}};
    auto answer = submit(scheduler, request);
    const Heard heard = hear(answer);
    ASSERT_EQ(heard.finish, FinishReason::length);
    ASSERT_EQ(heard.ids.size(), 90u);
    EXPECT_TRUE(heard.is_truncated);
    Ids text = request.prompt;
    for (size_t i = 0; i < heard.ids.size(); ++i) {
        if (text.size() == 65) text.erase(text.begin() + 10, text.begin() + 10 + (65 - 10) / 2);
        ServingRequest next = request;
        next.prompt = text;
        next.max_tokens = 1;
        ASSERT_EQ(alone.answer_to(next).ids, Ids{heard.ids[i]}) << i;
        text.push_back(heard.ids[i]);
    }
}

TEST(ContextShift, EndsTheAnswerWhereItIsOff) {
    Engine engine = open_nano(serving_options(1, 64));
    Scheduler scheduler(engine);
    auto full = submit(scheduler, greedy_request(some_prompt(60, 10), -1));
    EXPECT_TRUE(hear(full).is_truncated);
    auto part = submit(scheduler, greedy_request(some_prompt(20, 10), 3));
    EXPECT_FALSE(hear(part).is_truncated);
}

// Who reads nothing stops its own answer, and no other; when it reads, all of it is there.
TEST(SlowReaders, StallOnlyThemselves) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    ServingRequest request = greedy_request(some_prompt(10, 1), 900);
    request.sampling.parameters.logit_bias = {{int32_t(engine.tokenizer.end_of_generation().front()), -1000.f}};
    auto slow = submit(scheduler, request);
    ASSERT_TRUE(slow.wait(kLong));
    // The only slot comes free without a word from the slow one.
    for (uint32_t i = 0; i < 3; ++i) {
        auto other = submit(scheduler, greedy_request(some_prompt(5 + i, 20 + i), 4));
        EXPECT_EQ(hear(other).ids, alone.answer_to(greedy_request(some_prompt(5 + i, 20 + i), 4)).ids);
    }
    EXPECT_EQ(scheduler.totals().processing, 0u);
    EXPECT_EQ(scheduler.totals().deferred, 1u);
    EXPECT_LE(scheduler.totals().steps, Scheduler::kMostUnread + 40);  // what it left unread is all that was computed
    const Heard heard = hear(slow);
    Heard expected = alone.answer_to(request);
    expected.ids.erase(expected.ids.begin());  // heard above
    EXPECT_EQ(heard.ids, expected.ids);
    EXPECT_EQ(heard.finish, FinishReason::length);
}

TEST(SlowReaders, AreForgottenWhenTheyLeave) {
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    {
        auto slow = submit(scheduler, greedy_request(some_prompt(10, 1), 900));
        auto other = submit(scheduler, greedy_request(some_prompt(5, 2), 4));
        hear(other);
    }
    auto after = submit(scheduler, greedy_request(some_prompt(5, 3), 2));
    hear(after);
    for (int i = 0; i < 500 && scheduler.totals().deferred != 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(scheduler.totals().deferred, 0u);
}

// Guessed shares are those that many draws have.
TEST(Chances, BehindTheSamplersAreTheSharesOfDraws) {
    Engine engine = open_nano(serving_options(4));
    Scheduler scheduler(engine);
    constexpr uint32_t kDraws = 400;
    std::map<int32_t, uint32_t> drawn;
    std::vector<runtime::TokenLogProbability> shares;
    std::vector<Scheduler::Answer> answers;
    for (uint32_t i = 0; i < kDraws; ++i) {
        ServingRequest request = greedy_request(some_prompt(12, 4), 1);
        request.sampling.parameters = {.seed = i, .temperature = 1.5f, .top_k = 3, .top_p = 1, .min_p = 0};
        request.chances = 10;
        request.chances_behind_samplers = true;
        answers.push_back(submit(scheduler, request));
    }
    for (Scheduler::Answer& answer : answers) {
        const Heard heard = hear(answer);
        ASSERT_EQ(heard.tokens.size(), 1u);
        ++drawn[heard.tokens[0].id];
        shares = heard.tokens[0].chances;
        ASSERT_EQ(shares.size(), 3u);  // what top-k left
        const auto own = std::ranges::find(shares, heard.tokens[0].id, &runtime::TokenLogProbability::id);
        ASSERT_NE(own, shares.end());
        EXPECT_EQ(own->log_probability, heard.tokens[0].logprob);
    }
    double sum = 0;
    for (const auto& [id, log_probability] : shares) {
        const double share = std::exp(log_probability);
        sum += share;
        // Five standard deviations of a binomial count.
        EXPECT_NEAR(drawn[id], kDraws * share, 5 * std::sqrt(kDraws * share * (1 - share)) + 1) << id;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_LE(drawn.size(), 3u);
}

TEST(Chances, OfAGreedyChoiceAreItsOwn) {
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    ServingRequest request = greedy_request(some_prompt(12, 4), 2);
    request.chances = 5;
    request.chances_behind_samplers = true;
    auto answer = submit(scheduler, request);
    for (const auto& token : hear(answer).tokens) {
        ASSERT_EQ(token.chances.size(), 1u);
        EXPECT_EQ(token.chances[0].id, token.id);
        EXPECT_EQ(token.logprob, 0);
    }
}

class SlotFileTest : public testing::Test {
protected:
    std::string path_ = testing::TempDir() + "riftjit-slot-" + std::to_string(getpid()) + ".bin";
    ~SlotFileTest() override { std::remove(path_.c_str()); }

    Result<uint32_t> save(Scheduler& scheduler, uint32_t slot, const TextIdentity& identity) const {
        std::ofstream file(path_, std::ios::binary);
        return scheduler.save(slot, identity, [&](std::span<const std::byte> bytes) -> Result<void> {
            file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
            return {};
        });
    }
};

TEST_F(SlotFileTest, ComesBackInAnotherSlotAndAnotherScheduler) {
    const EngineOptions options = serving_options(2);
    Engine engine = open_nano(options);
    const TextIdentity identity = text_identity(engine, options);
    const Ids prompt = some_prompt(300, 1);
    Heard heard;
    {
        Scheduler scheduler(engine);
        EXPECT_FALSE(save(scheduler, 0, identity));  // nothing is there
        ServingRequest request = greedy_request(prompt, 5);
        request.slot = 1;
        auto answer = submit(scheduler, request);
        heard = hear(answer);
        EXPECT_EQ(save(scheduler, 1, identity), 304u);
        const auto restored = scheduler.restore(0, path_, identity);
        ASSERT_TRUE(restored) << restored.error().message;
        EXPECT_EQ(restored->tokens, 304u);
        EXPECT_EQ(scheduler.status()[0].kept_tokens, 304u);
    }
    Engine other = open_nano(options);
    Scheduler scheduler(other);
    ASSERT_TRUE(scheduler.restore(0, path_, identity));
    ServingRequest request = greedy_request(prompt, 5);
    auto answer = submit(scheduler, request);
    const Heard again = hear(answer);
    EXPECT_EQ(again.timings.cached_tokens, 299u);
    EXPECT_EQ(again.ids, heard.ids);
}

TEST_F(SlotFileTest, IsRefusedWhereItDoesNotBelong) {
    const EngineOptions options = serving_options(1, 64);
    Engine engine = open_nano(options);
    const TextIdentity identity = text_identity(engine, options);
    Scheduler scheduler(engine);
    auto answer = submit(scheduler, greedy_request(some_prompt(40, 1), 1));
    hear(answer);
    ASSERT_TRUE(save(scheduler, 0, identity));
    TextIdentity another = identity;
    another[3] ^= std::byte{1};
    EXPECT_FALSE(scheduler.restore(0, path_, another));
    EXPECT_EQ(scheduler.status()[0].kept_tokens, 40u);  // nothing was changed
    EXPECT_FALSE(scheduler.restore(0, path_ + ".none", identity));
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(100);
        file.put('\x55');
    }
    EXPECT_FALSE(scheduler.restore(0, path_, identity));
    Engine shorter = open_nano(serving_options(1, 16));
    Scheduler small(shorter);
    EXPECT_FALSE(small.restore(0, path_, identity));
}

}  // namespace serving_features_test
}  // namespace riftjit::engine
