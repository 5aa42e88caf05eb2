#include "tests/engine/serving/serving_lab.h"

namespace riftjit::engine {
namespace scheduler_test {

using namespace serving_lab;

TEST(Scheduler, AnswersAsGenerationDoesWhateverRunsBesideIt) {
    AloneEngine alone;
    std::vector<ServingRequest> requests;
    std::vector<Heard> expected;
    for (uint32_t i = 0; i < 64; ++i) {
        ServingRequest request = greedy_request(some_prompt(1 + (i * 37) % 90, i % 50), 5 + i % 20);
        if (i % 3 == 0) request.sampling.parameters = {.seed = i, .repeat_penalty = 1.3f};
        if (i % 3 == 1) request.sampling.parameters = {.seed = i, .top_k = 10};
        requests.push_back(request);
        expected.push_back(alone.answer_to(request));
    }
    for (const uint32_t slots : {1u, 4u, 64u}) {
        Engine engine = open_nano(serving_options(slots));
        Scheduler scheduler(engine);
        std::vector<Scheduler::Answer> answers;
        for (const ServingRequest& request : requests) answers.push_back(submit(scheduler, request));
        for (size_t i = 0; i < requests.size(); ++i) {
            const Heard heard = hear(answers[i]);
            EXPECT_EQ(heard.ids, expected[i].ids) << slots << " slots, request " << i;
            EXPECT_EQ(heard.text, expected[i].text) << slots << " slots, request " << i;
            EXPECT_EQ(heard.finish, expected[i].finish);
        }
        EXPECT_EQ(scheduler.totals().processing, 0u);
        EXPECT_EQ(scheduler.totals().deferred, 0u);
    }
}

TEST(Scheduler, GoesOnFromWhatASlotHolds) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(2));
    Scheduler scheduler(engine);
    const Ids prompt = some_prompt(60, 1);
    auto first = submit(scheduler, greedy_request(prompt, 10));
    const Heard heard = hear(first);
    EXPECT_EQ(heard.timings.cached_tokens, 0u);
    EXPECT_EQ(heard.timings.prompt_tokens, 60u);
    EXPECT_EQ(heard.timings.predicted_tokens, 10u);

    auto again = submit(scheduler, greedy_request(prompt, 10));
    const Heard same = hear(again);
    EXPECT_EQ(same.timings.cached_tokens, 59u);  // the last one's logits are wanted
    EXPECT_EQ(same.timings.prompt_tokens, 1u);
    EXPECT_EQ(same.ids, heard.ids);

    Ids longer = prompt;
    longer.insert(longer.end(), heard.ids.begin(), heard.ids.end());
    longer.push_back(7);
    auto third = submit(scheduler, greedy_request(longer, 10));
    const Heard on = hear(third);
    EXPECT_EQ(on.timings.cached_tokens, 69u);  // the answer's last token was never read
    EXPECT_EQ(on.ids, alone.answer_to(greedy_request(longer, 10)).ids);

    ServingRequest anew = greedy_request(prompt, 10);
    anew.reuses_text = false;
    auto fourth = submit(scheduler, anew);
    const Heard fresh = hear(fourth);
    EXPECT_EQ(fresh.timings.cached_tokens, 0u);
    EXPECT_EQ(fresh.ids, heard.ids);
}

TEST(Scheduler, ForksATextThatIsAtWork) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(2));
    Scheduler scheduler(engine);
    const Ids prompt = some_prompt(40, 2);
    auto running = submit(scheduler, greedy_request(prompt, 400));
    ASSERT_TRUE(running.wait(kLong));
    Ids other = prompt;
    other.push_back(9);
    auto fork = submit(scheduler, greedy_request(other, 12));
    const Heard forked = hear(fork);
    EXPECT_EQ(forked.timings.cached_tokens, 40u);
    EXPECT_EQ(forked.ids, alone.answer_to(greedy_request(other, 12)).ids);
}

TEST(Scheduler, CancelsWithinATokenAndKeepsServing) {
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    auto endless = submit(scheduler, greedy_request(some_prompt(5, 3), 100000));
    ASSERT_TRUE(endless.wait(kLong));
    auto waiting = submit(scheduler, greedy_request(some_prompt(5, 4), 3));
    endless.cancel();
    EXPECT_EQ(hear(endless).finish, FinishReason::interrupted);
    EXPECT_EQ(hear(waiting).ids.size(), 3u);
    {
        auto dropped = submit(scheduler, greedy_request(some_prompt(5, 5), 100000));
    }
    auto after = submit(scheduler, greedy_request(some_prompt(5, 6), 3));
    EXPECT_EQ(hear(after).ids.size(), 3u);
}

TEST(Scheduler, ReadsALongPromptBesideTextsThatGoOn) {
    EngineOptions options = serving_options(2);
    options.batch = 16;
    Engine engine = open_nano(options);
    Scheduler scheduler(engine);
    auto talker = submit(scheduler, greedy_request(some_prompt(4, 7), 400));
    ASSERT_TRUE(talker.wait(kLong));
    ServingRequest request = greedy_request(some_prompt(300, 8), 1);
    request.tells_progress = true;
    auto reader = submit(scheduler, std::move(request));
    uint32_t pieces = 0;
    for (bool is_done = false; !is_done;) {
        const auto event = reader.wait(kLong);
        ASSERT_TRUE(event);
        pieces += !event->token;
        is_done = event->is_last();
    }
    EXPECT_GE(pieces, 300u / 15u);  // the other took a row of each step
    talker.cancel();
    EXPECT_GE(hear(talker).tokens.size(), 15u);
}

TEST(Scheduler, RefusesWhatDoesNotFitAndStopsWhereTheContextEnds) {
    Engine engine = open_nano(serving_options(2, 64));
    Scheduler scheduler(engine);
    const auto refused = scheduler.submit(greedy_request(some_prompt(65, 9), 1));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("65 tokens, the context 64"), std::string::npos) << refused.error().message;
    EXPECT_FALSE(scheduler.submit(greedy_request({}, 1)));
    EXPECT_FALSE(scheduler.submit(greedy_request({1, 512}, 1)));
    EXPECT_FALSE(scheduler.submit(greedy_request({-1}, 1)));
    ServingRequest elsewhere = greedy_request({1}, 1);
    elsewhere.slot = 2;
    EXPECT_FALSE(scheduler.submit(elsewhere));
    ServingRequest hot = greedy_request({1}, 1);
    hot.sampling.parameters.top_p = 2;
    EXPECT_FALSE(scheduler.submit(hot));
    auto full = submit(scheduler, greedy_request(some_prompt(60, 10), -1));
    const Heard heard = hear(full);
    EXPECT_EQ(heard.finish, FinishReason::length);
    EXPECT_EQ(heard.ids.size(), 5u);  // the last needs no position
    auto nothing = submit(scheduler, greedy_request(some_prompt(60, 10), 0));
    EXPECT_EQ(hear(nothing).finish, FinishReason::length);
}

// Both want all of the cache: the younger one waits, is read again, and says the same.
TEST(Scheduler, PutsATextBackThatTheCacheHasNoPagesFor) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(3, 512));
    Scheduler scheduler(engine);
    std::vector<ServingRequest> requests;
    std::vector<Scheduler::Answer> answers;
    for (uint32_t i = 0; i < 3; ++i) {
        requests.push_back(greedy_request(some_prompt(100, 20 + i), 250));
        requests.back().sampling.parameters = {.seed = i, .logit_bias = {{2, -100.f}}};
        answers.push_back(submit(scheduler, requests.back()));
    }
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(hear(answers[i]).ids, alone.answer_to(requests[i]).ids) << i;
}

TEST(Scheduler, TellsStopWordsAndChances) {
    AloneEngine alone;
    Engine engine = open_nano(serving_options(2));
    Scheduler scheduler(engine);
    ServingRequest request = greedy_request(some_prompt(20, 11), 12);
    const Heard whole = alone.answer_to(request);
    request.chances = 5;
    auto answer = submit(scheduler, request);
    const Heard heard = hear(answer);
    ASSERT_EQ(heard.ids, whole.ids);
    for (const auto& token : heard.tokens) {
        ASSERT_EQ(token.chances.size(), 5u);
        EXPECT_EQ(token.chances.front().id, token.id);  // greedy
        EXPECT_FLOAT_EQ(token.chances.front().log_probability, token.logprob);
        EXPECT_LE(token.logprob, 0);
        EXPECT_GE(token.chances[0].log_probability, token.chances[1].log_probability);
    }
    request.stop_words = {"no such text", whole.text.substr(whole.text.size() / 2, 4)};
    auto cut = submit(scheduler, request);
    const Heard stopped = hear(cut);
    EXPECT_EQ(stopped.finish, FinishReason::stop_word);
    EXPECT_EQ(stopped.stop_word, request.stop_words[1]);
    EXPECT_EQ(stopped.text, alone.answer_to(request).text);
}

TEST(Scheduler, StopsWithAnswersOnTheirWay) {
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    auto running = submit(scheduler, greedy_request(some_prompt(5, 3), 100000));
    auto waiting = submit(scheduler, greedy_request(some_prompt(5, 3), 100000));
    scheduler.stop();
    EXPECT_EQ(hear(running).finish, FinishReason::interrupted);
    EXPECT_EQ(hear(waiting).finish, FinishReason::interrupted);
    EXPECT_FALSE(scheduler.submit(greedy_request({1}, 1)));
    EXPECT_FALSE(scheduler.erase(0));
}

TEST(Scheduler, ErasesWhatAnIdleSlotHolds) {
    Engine engine = open_nano(serving_options(1));
    Scheduler scheduler(engine);
    auto answer = submit(scheduler, greedy_request(some_prompt(9, 3), 4));
    hear(answer);
    EXPECT_EQ(scheduler.status()[0].kept_tokens, 12u);
    EXPECT_EQ(scheduler.erase(0), 12u);
    EXPECT_EQ(scheduler.erase(0), 0u);
    auto running = submit(scheduler, greedy_request(some_prompt(5, 3), 100000));
    ASSERT_TRUE(running.wait(kLong));
    const std::jthread reader([&running] { hear(running); });  // else it would be set aside
    EXPECT_FALSE(scheduler.erase(0));
    running.cancel();
}

}  // namespace scheduler_test
}  // namespace riftjit::engine
