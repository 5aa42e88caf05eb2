#include "engine/generation.h"

#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace generation_test {

using Ids = std::vector<int32_t>;

const Ids kPrompt = {1, 20, 300, 4, 50, 60, 7};

struct Told {
    Ids ids;  // of the steps
    std::string text;
    FinishReason finish = FinishReason::interrupted;
    uint32_t steps = 0;
};

Told run(Generation& generation) {
    Told told;
    while (true) {
        const auto step = generation.next();
        EXPECT_TRUE(step) << (step ? "" : step.error().message);
        if (!step) return told;
        ++told.steps;
        if (step->id) told.ids.push_back(*step->id);
        told.text += step->text;
        if (step->finish) {
            told.finish = *step->finish;
            return told;
        }
    }
}

// One generation on an engine of its own.
class Alone {
public:
    explicit Alone(GenerationOptions options, runtime::SamplerParameters parameters = {},
                   const EngineOptions& engine_options = nano_options(), Ids prompt = kPrompt)
        : engine(open_nano(engine_options)),
          context(*engine.session),
          sampler(greedy_sampler(engine, std::move(parameters))),
          ids(std::move(prompt)),
          generation(context, engine.tokenizer, sampler, ids, std::move(options)) {}

    Engine engine;
    Context context;
    runtime::Sampler sampler;
    Ids ids;
    Generation generation;
};

TEST(Generation, GivesTheSameTokensHoweverThePromptIsCut) {
    runtime::LogitsHash whole_hash;
    Alone whole({.max_tokens = 12, .hash = &whole_hash});
    const Told expected = run(whole.generation);
    EXPECT_EQ(expected.steps, 12u);
    EXPECT_EQ(expected.ids.size(), 12u);
    EXPECT_EQ(expected.finish, FinishReason::length);
    for (const uint32_t batch : {1u, 3u, 7u}) {
        runtime::LogitsHash hash;
        Alone cut({.max_tokens = 12, .batch = batch, .hash = &hash});
        const Told told = run(cut.generation);
        EXPECT_EQ(told.ids, expected.ids) << batch;
        EXPECT_EQ(told.text, expected.text) << batch;
        EXPECT_EQ(hash.hex(), whole_hash.hex()) << batch;
        EXPECT_EQ(told.steps, 12 + (kPrompt.size() - 1) / batch) << batch;
    }
}

TEST(Generation, KeepsWhatItsStepsBrought) {
    Alone alone({.max_tokens = 9});
    const Told told = run(alone.generation);
    EXPECT_EQ(alone.generation.ids(), told.ids);
    EXPECT_EQ(alone.generation.text(), told.text);
    EXPECT_EQ(told.text, replace_invalid(alone.engine.tokenizer.decode(told.ids)));
    const Timings& timings = alone.generation.timings();
    EXPECT_EQ(timings.prompt_tokens, kPrompt.size());
    EXPECT_EQ(timings.sampled_tokens, 9u);
    EXPECT_EQ(timings.generation_runs, 8u);  // nobody asked for the logits after the last
    EXPECT_EQ(alone.context.ids().size(), kPrompt.size() + 8);
}

TEST(Generation, OfNoTokensReadsThePrompt) {
    Alone alone({.max_tokens = 0, .batch = 4});
    const Told told = run(alone.generation);
    EXPECT_EQ(told.steps, 2u);
    EXPECT_EQ(told.finish, FinishReason::length);
    EXPECT_TRUE(told.ids.empty());
    EXPECT_EQ(alone.context.ids().size(), kPrompt.size());
}

TEST(Generation, EndsWhenTheContextIsFull) {
    EngineOptions options = nano_options();
    options.context = 16;
    Alone alone({}, {}, options);
    const Told told = run(alone.generation);
    EXPECT_EQ(told.finish, FinishReason::length);
    EXPECT_EQ(told.ids.size(), 16 - kPrompt.size() + 1);  // the last needs no position
    EXPECT_TRUE(alone.context.is_full());
}

TEST(Generation, EndsAtTheEndToken) {
    const Engine engine = open_nano();
    const int32_t end = engine.tokenizer.end_of_generation().front();
    Alone alone({.max_tokens = 5}, {.logit_bias = {{end, 1e6f}}});
    const Told told = run(alone.generation);
    EXPECT_EQ(told.finish, FinishReason::end_of_generation);
    EXPECT_EQ(told.steps, 1u);
    EXPECT_TRUE(told.ids.empty());
    EXPECT_EQ(told.text, "");
    EXPECT_EQ(alone.generation.timings().sampled_tokens, 1u);
}

TEST(Generation, CutsTheTextAtAStopWord) {
    Alone whole({.max_tokens = 12});
    const std::string text = whole.engine.tokenizer.decode(run(whole.generation).ids);
    const std::string word = text.substr(text.size() / 2, 3);
    Alone cut({.max_tokens = 12, .stop_words = {word}});
    const Told told = run(cut.generation);
    EXPECT_EQ(told.finish, FinishReason::stop_word);
    EXPECT_EQ(told.text, replace_invalid(text.substr(0, text.find(word))));
}

TEST(Generation, StoppedBetweenTokensGoesOnWhereItWas) {
    Alone whole({.max_tokens = 10});
    const Ids expected = run(whole.generation).ids;

    Alone first({.max_tokens = 10});
    Ids text = kPrompt;
    for (int i = 0; i < 4; ++i) {
        const auto step = first.generation.next();
        ASSERT_TRUE(step && step->id);
        text.push_back(*step->id);
    }
    EXPECT_EQ(first.generation.stop().finish, FinishReason::interrupted);
    const auto rest = first.context.reuse(text);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->size(), 1u);  // all but the last token was there
    Generation second(first.context, first.engine.tokenizer, first.sampler, *rest, {.max_tokens = 6});
    const Told told = run(second);
    EXPECT_EQ(told.ids, Ids(expected.begin() + 4, expected.end()));
}

// What penalties look at is the text that the context holds, whatever stood there in between.
TEST(Generation, PenalisesWhatTheContextHoldsAndNothingElse) {
    const runtime::SamplerParameters kinds[] = {
        {.penalty_last_n = 512, .repeat_penalty = 1.7f},
        {.penalty_last_n = 512, .frequency_penalty = 2},
        {.penalty_last_n = 5, .presence_penalty = 3},
        {.dry_multiplier = 4, .dry_allowed_length = 1, .dry_penalty_last_n = 512},
    };
    for (const runtime::SamplerParameters& parameters : kinds) {
        Alone first({.max_tokens = 9}, parameters);
        const Ids answer = run(first.generation).ids;
        Ids goes_on = kPrompt, cut_back = kPrompt, other = {1, 5, 5, 5, 9};
        goes_on.insert(goes_on.end(), answer.begin(), answer.end());
        cut_back.insert(cut_back.end(), answer.begin(), answer.begin() + 4);
        for (Ids* text : {&goes_on, &cut_back}) text->insert(text->end(), {answer[2], 77, answer[3]});
        for (const Ids& text : {goes_on, cut_back, other, kPrompt}) {
            const auto rest = first.context.reuse(text);
            ASSERT_TRUE(rest);
            Generation second(first.context, first.engine.tokenizer, first.sampler, *rest, {.max_tokens = 9});
            Alone fresh({.max_tokens = 9}, parameters, nano_options(), text);
            EXPECT_EQ(run(second).ids, run(fresh.generation).ids) << text.size();
        }
    }
}

TEST(Generation, StoppedGivesWhatWasHeldBack) {
    Alone whole({.max_tokens = 12});
    const std::string bytes = whole.engine.tokenizer.decode(run(whole.generation).ids);
    Alone held({.max_tokens = 12, .stop_words = {bytes + "!"}});  // all of it may be its beginning
    for (int i = 0; i < 6; ++i) EXPECT_EQ(held.generation.next()->text, "");
    const std::string tail = held.generation.stop().text;
    EXPECT_EQ(tail, replace_invalid(held.engine.tokenizer.decode(held.generation.ids())));
    EXPECT_EQ(tail, held.generation.text());
}

TEST(Generation, AddsTimingsUp) {
    Timings sum{.prompt_ms = 1, .prompt_tokens = 2};
    sum += {.prompt_ms = 10,
            .sample_ms = 20,
            .generation_ms = 30,
            .prompt_tokens = 3,
            .sampled_tokens = 4,
            .generation_runs = 5};
    EXPECT_EQ(sum.prompt_ms, 11);
    EXPECT_EQ(sum.sample_ms, 20);
    EXPECT_EQ(sum.generation_ms, 30);
    EXPECT_EQ(sum.prompt_tokens, 5u);
    EXPECT_EQ(sum.sampled_tokens, 4u);
    EXPECT_EQ(sum.generation_runs, 5u);
}

// On a GPU tokens are drawn from the highest logits alone, unless somebody wants all or the device finds none; with
// guesses, whose rows come in one step, too.
TEST(Generation, TakesTheTokensOfAllLogitsFromTheHighest) {
    const auto tokens_of = [](const runtime::SamplerParameters& parameters, const std::string& passes,
                              runtime::LogitsHash* hash, bool is_guessing) {
        EngineOptions options = nano_options();
        options.device = {
            .kind = DeviceChoice::Kind::emulate, .chip = rdna::Target::gfx1100, .checks = runtime::MachineChecks::none};
        options.passes = passes;
        options.outputs = is_guessing ? 4 : 1;
        Engine engine = open_nano(options);
        EXPECT_EQ(engine.session->finds_highest(), passes == "all");
        Context context(*engine.session);
        auto sampler = make_sampler(engine, {.parameters = parameters}, expect_no_warning);
        EXPECT_TRUE(sampler);
        Drafting drafting{std::make_unique<NgramDraft>(3), DraftPace({.most = 3, .is_bounded = false})};
        Generation generation(context, engine.tokenizer, *sampler, kPrompt,
                              {.max_tokens = 24, .hash = hash, .drafting = is_guessing ? &drafting : nullptr});
        return run(generation).ids;
    };
    runtime::SamplerParameters greedy, drawn;
    greedy.temperature = 0;
    drawn.seed = 11;
    for (const auto& parameters : {greedy, drawn}) {
        runtime::LogitsHash hash;
        const Ids expected = tokens_of(parameters, "-find-highest", nullptr, false);
        EXPECT_EQ(expected.size(), 24u);
        EXPECT_EQ(tokens_of(parameters, "all", nullptr, false), expected);
        EXPECT_EQ(tokens_of(parameters, "all", nullptr, true), expected);
        EXPECT_EQ(tokens_of(parameters, "all", &hash, false), expected);
    }
}

}  // namespace generation_test
}  // namespace riftjit::engine
