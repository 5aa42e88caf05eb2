// Requests to a scheduler over a nano model, and what they get.
#pragma once

#include <random>
#include <thread>

#include "engine/serving/scheduler.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine::serving_lab {

using Ids = std::vector<int32_t>;
using namespace std::chrono_literals;

inline constexpr auto kLong = 60s;

inline Ids some_prompt(size_t tokens, uint32_t seed) {
    std::mt19937 numbers(seed);
    Ids ids(tokens);
    for (int32_t& id : ids) id = int32_t(3 + numbers() % 500);
    return ids;
}

inline EngineOptions serving_options(uint32_t slots, uint32_t context = 0) {
    EngineOptions options = nano_options();
    options.sequences = slots;
    options.context = context;
    return options;
}

struct Heard {
    Ids ids;
    std::string text, error;
    std::optional<FinishReason> finish;
    std::string stop_word;
    ServingTimings timings;
    std::vector<ServingEvent::Token> tokens;
    bool is_truncated = false;
};

inline Heard hear(Scheduler::Answer& answer) {
    Heard heard;
    while (true) {
        const auto event = answer.wait(kLong);
        if (!event) {
            ADD_FAILURE() << "nothing came";
            return heard;
        }
        heard.text += event->text;
        if (event->token) heard.tokens.push_back(*event->token);
        if (event->token && event->finish != FinishReason::end_of_generation) heard.ids.push_back(event->token->id);
        heard.timings = event->timings;
        heard.stop_word = event->stop_word;
        if (event->error) heard.error = event->error->message;
        heard.finish = event->finish;
        heard.is_truncated = event->is_truncated;
        if (event->is_last()) return heard;
    }
}

inline ServingRequest greedy_request(Ids prompt, int64_t max_tokens) {
    ServingRequest request;
    request.prompt = std::move(prompt);
    request.sampling.parameters.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

inline Scheduler::Answer submit(Scheduler& scheduler, ServingRequest request) {
    auto answer = scheduler.submit(std::move(request));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return std::move(*answer);
}

// What Generation says to the same request, alone on a model of its own.
class AloneEngine {
public:
    Heard answer_to(const ServingRequest& request) {
        EXPECT_TRUE(context_.truncate(0));
        auto sampler = make_sampler(engine_, request.sampling, expect_no_warning);
        Generation generation(context_, engine_.tokenizer, *sampler, request.prompt,
                              {.max_tokens = request.max_tokens, .stop_words = request.stop_words});
        Heard heard;
        while (!heard.finish) {
            const auto step = generation.next();
            EXPECT_TRUE(step) << (step ? "" : step.error().message);
            heard.finish = step->finish;
        }
        heard.ids = generation.ids();
        heard.text = generation.text();
        return heard;
    }

private:
    Engine engine_ = open_nano();
    Context context_{*engine_.session};
};

}  // namespace riftjit::engine::serving_lab
