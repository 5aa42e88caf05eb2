// Generation with guesses: the same text and logits, token by token, and a context that looks at every moment as it
// would without.
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/generation.h"
#include "engine/model_draft.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace drafting_test {

using Ids = std::vector<int32_t>;

const Ids kPrompt = {1, 20, 300, 4, 50, 60, 7, 20, 300};
constexpr uint32_t kMostGuesses = 8;

EngineOptions options_with(uint32_t threads = 1, uint32_t context = 0) {
    EngineOptions options = nano_options();
    options.threads = threads;
    options.context = context;
    options.outputs = kMostGuesses + 1;
    return options;
}

Ids copy(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

// Guesses a text that is known, some of it wrong: each `wrong_every`th token, counted from the text's start.
class KnownDraft : public Draft {
public:
    KnownDraft(Ids known, size_t wrong_every) : known_(std::move(known)), wrong_every_(wrong_every) {}

    void restart(std::span<const int32_t> text) override { length_ = text.size(); }
    void accept(int32_t) override { ++length_; }
    std::optional<uint32_t> grade() const override { return 0; }
    Result<std::span<const int32_t>> propose(uint32_t most) override {
        proposal_.clear();
        for (size_t at = length_; proposal_.size() < most; ++at) {
            const int32_t id = at < known_.size() ? known_[at] : 3;
            const bool is_wrong = wrong_every_ != 0 && at % wrong_every_ == 0;
            proposal_.push_back(is_wrong ? (id + 1) % 512 : id);
        }
        return proposal_;
    }
    bool is_free() const override { return true; }

private:
    Ids known_, proposal_;
    size_t wrong_every_, length_ = 0;
};

struct Told {
    Ids ids;
    std::vector<std::string> texts;  // of the steps
    FinishReason finish = FinishReason::interrupted;
    std::string hash;
    Timings timings;
};

Told generate(Context& context, const Engine& engine, runtime::Sampler& sampler, std::span<const int32_t> prompt,
              GenerationOptions options, Drafting* drafting, std::optional<size_t> stop_after = {}) {
    Told told;
    runtime::LogitsHash hash;
    options.hash = &hash;
    options.drafting = drafting;
    const size_t before = context.ids().size();
    Generation generation(context, engine.tokenizer, sampler, prompt, std::move(options));
    for (size_t steps = 0;; ++steps) {
        const auto step = steps == stop_after ? generation.stop() : generation.next();
        EXPECT_TRUE(step) << (step ? "" : step.error().message);
        if (!step) break;
        if (step->id) told.ids.push_back(*step->id);
        told.texts.push_back(step->text);
        const bool is_read = !told.ids.empty() || step->finish;
        if (is_read) {
            Ids expected = copy(prompt);  // all but the last, which nobody evaluated
            if (!told.ids.empty()) expected.insert(expected.end(), told.ids.begin(), told.ids.end() - 1);
            const bool has_ended = step->finish == FinishReason::end_of_generation && !told.ids.empty();
            if (has_ended) expected.push_back(told.ids.back());
            EXPECT_EQ(copy(context.ids().subspan(before)), expected) << steps;
        }
        if (!step->finish) continue;
        told.finish = *step->finish;
        break;
    }
    told.hash = hash.hex();
    told.timings = generation.timings();
    return told;
}

void expect_same(const Told& told, const Told& plain, const std::string& what) {
    EXPECT_EQ(told.ids, plain.ids) << what;
    EXPECT_EQ(told.texts, plain.texts) << what;
    EXPECT_EQ(told.finish, plain.finish) << what;
    EXPECT_EQ(told.hash, plain.hash) << what;
    EXPECT_EQ(told.timings.generation_runs, plain.timings.generation_runs) << what;
    EXPECT_EQ(told.timings.sampled_tokens, plain.timings.sampled_tokens) << what;
}

// An engine, and generations from nothing on it.
class Lab {
public:
    explicit Lab(const EngineOptions& options = options_with()) : engine(open_nano(options)) {}

    Told run(const runtime::SamplerParameters& parameters, GenerationOptions options, Drafting* drafting = nullptr,
             std::optional<size_t> stop_after = {}, const Ids& prompt = kPrompt) {
        EXPECT_TRUE(engine.session->truncate(0));
        Context context(*engine.session);
        runtime::Sampler sampler = sampler_of(parameters);
        return generate(context, engine, sampler, prompt, std::move(options), drafting, stop_after);
    }
    runtime::Sampler sampler_of(const runtime::SamplerParameters& parameters) const {
        return *make_sampler(engine, {.parameters = parameters}, [](const std::string&) {});
    }

    Engine engine;
};

Drafting always(std::unique_ptr<Draft> draft, uint32_t most) {
    return {std::move(draft), DraftPace({.most = most, .is_bounded = false})};
}

Drafting knowing(const Told& plain, size_t wrong_every = 0, uint32_t most = kMostGuesses) {
    Ids text = kPrompt;
    text.insert(text.end(), plain.ids.begin(), plain.ids.end());
    return always(std::make_unique<KnownDraft>(text, wrong_every), most);
}

runtime::SamplerParameters greedy() { return {.temperature = 0}; }

std::vector<runtime::SamplerParameters> samplings() {
    std::vector<runtime::SamplerParameters> all = {
        {.temperature = 0},
        {.temperature = 0, .penalty_last_n = 32, .repeat_penalty = 1.3f, .presence_penalty = 0.2f},
        {.temperature = 0, .dry_multiplier = 2, .dry_allowed_length = 1, .dry_penalty_last_n = 64},
        {.temperature = 0, .logit_bias = {{7, 4}, {20, 3}}},
    };
    for (const uint32_t seed : {11U, 12U, 13U}) {  // of which none ends its text at once
        all.push_back({.seed = seed, .temperature = 0.7f});
        all.push_back({.seed = seed, .temperature = 1.5f, .top_k = 0, .top_p = 1, .min_p = 0});
        all.push_back({.seed = seed, .frequency_penalty = 0.3f, .logit_bias = {{9, 5}}});
    }
    all.push_back({.seed = 4, .xtc_probability = 0.5f, .xtc_threshold = 0.05f});
    all.push_back({.seed = 5, .mirostat = runtime::Mirostat::v1});
    all.push_back({.seed = 16, .mirostat = runtime::Mirostat::v2});
    all.push_back({.seed = 7, .dynatemp_range = 0.5f});
    all.push_back({.seed = 8, .adaptive_target = 0.4f});
    return all;
}

TEST(DraftingExact, WithGuessesOfAnyQualityAndAnySampler) {
    Lab lab;
    const auto all = samplings();
    for (size_t i = 0; i < all.size(); ++i) {
        const Told plain = lab.run(all[i], {.max_tokens = 120});
        ASSERT_GE(plain.ids.size(), 20u) << i;
        for (const size_t wrong_every : {0UL, 1UL, 2UL, 3UL, 7UL})
            for (const uint32_t most : {1U, 3U, kMostGuesses}) {
                Drafting drafting = knowing(plain, wrong_every, most);
                const Told told = lab.run(all[i], {.max_tokens = 120}, &drafting);
                expect_same(told, plain, fmt::format("sampling {}, wrong {}, most {}", i, wrong_every, most));
                EXPECT_GT(told.timings.drafted(), 0u);
                if (wrong_every == 1) {
                    EXPECT_EQ(told.timings.accepted(), 0u);
                }
                if (wrong_every == 0) {
                    EXPECT_LE(told.timings.generation_steps, plain.ids.size() / (most + 1) + 1);
                }
            }
        for (const bool is_bounded : {false, true}) {
            Drafting drafting{std::make_unique<NgramDraft>(3), DraftPace({.most = 8, .is_bounded = is_bounded})};
            expect_same(lab.run(all[i], {.max_tokens = 120}, &drafting), plain, fmt::format("lookup, sampling {}", i));
        }
    }
}

TEST(DraftingExact, OnAnyNumberOfThreads) {
    const runtime::SamplerParameters parameters{.seed = 3};
    const Told plain = Lab().run(parameters, {.max_tokens = 60});
    for (const uint32_t threads : {1U, 2U}) {
        Lab lab(options_with(threads));
        Drafting drafting = knowing(plain, 5);
        expect_same(lab.run(parameters, {.max_tokens = 60}, &drafting), plain, std::to_string(threads));
    }
}

// Every way to end, at every place within a step of guesses that are all right.
TEST(DraftingEnds, WhereAPlainTextEnds) {
    Lab lab;
    const Told whole = lab.run(greedy(), {.max_tokens = 40});
    for (int64_t most = 0; most <= 20; ++most) {
        Drafting drafting = knowing(whole);
        const Told told = lab.run(greedy(), {.max_tokens = most}, &drafting);
        expect_same(told, lab.run(greedy(), {.max_tokens = most}), fmt::format("-n {}", most));
        EXPECT_EQ(told.timings.drafted(), told.timings.accepted()) << "none is guessed that nobody samples behind";
    }
    for (size_t steps = 1; steps <= 20; ++steps) {
        Drafting drafting = knowing(whole);
        expect_same(lab.run(greedy(), {}, &drafting, steps), lab.run(greedy(), {}, nullptr, steps),
                    fmt::format("interrupted after {}", steps));
    }
    const std::string text = lab.engine.tokenizer.decode(whole.ids);
    for (size_t at = 2; at < 20; ++at) {
        Drafting drafting = knowing(whole);
        const GenerationOptions options{.max_tokens = 40, .stop_words = {text.substr(at, 3)}};
        expect_same(lab.run(greedy(), options, &drafting), lab.run(greedy(), options), fmt::format("word at {}", at));
    }
}

TEST(DraftingEnds, AtTheEndTokenWhichIsNotGuessed) {
    Lab lab;
    const int32_t end = lab.engine.tokenizer.end_of_generation().front();
    size_t ends = 0;
    for (float bias = 0; bias < 12; bias += 0.25f) {
        const runtime::SamplerParameters parameters{.seed = 5, .temperature = 1, .logit_bias = {{end, bias}}};
        const Told plain = lab.run(parameters, {.max_tokens = 60});
        ends += plain.finish == FinishReason::end_of_generation && plain.ids.size() > 2;
        Told known = plain;
        known.ids.push_back(end);
        Drafting drafting = knowing(known);
        const Told told = lab.run(parameters, {.max_tokens = 60}, &drafting);
        expect_same(told, plain, fmt::format("bias {}", bias));
        if (plain.finish == FinishReason::end_of_generation) {
            EXPECT_EQ(told.timings.drafted(), told.timings.accepted()) << bias;
        }
    }
    EXPECT_GE(ends, 3u);
}

TEST(DraftingEnds, WhereTheContextIsFull) {
    for (const uint32_t context : {10U, 11U, 13U, 16U, 17U, 18U, 19U, 30U}) {
        Lab lab(options_with(1, context));
        const Told plain = lab.run(greedy(), {});
        EXPECT_EQ(plain.finish, FinishReason::length);
        EXPECT_EQ(plain.ids.size(), context - kPrompt.size() + 1);
        Drafting drafting = knowing(plain);
        expect_same(lab.run(greedy(), {}, &drafting), plain, fmt::format("context {}", context));
        Drafting lookup = always(std::make_unique<NgramDraft>(1), 1000);
        expect_same(lab.run(greedy(), {}, &lookup), plain, fmt::format("context {}, guesses without end", context));
    }
}

// Turns of a conversation, each of which ends within a step and cuts the text back.
TEST(DraftingExact, FromOneTurnToTheNext) {
    Lab plain_lab, lab;
    const Told whole = plain_lab.run(greedy(), {.max_tokens = 40});
    const runtime::SamplerParameters parameters{.seed = 11, .temperature = 0.9f, .repeat_penalty = 1.1f};
    ASSERT_TRUE(plain_lab.engine.session->truncate(0));
    Context plain(*plain_lab.engine.session), context(*lab.engine.session);
    runtime::Sampler plain_sampler = plain_lab.sampler_of(parameters), sampler = lab.sampler_of(parameters);
    for (const bool is_lookup : {true, false}) {
        Drafting drafting = is_lookup ? always(std::make_unique<NgramDraft>(2), 4) : knowing(whole, 4);
        Ids text = kPrompt;
        for (size_t turn = 0; turn < 8; ++turn) {
            const GenerationOptions options{.max_tokens = 20};
            const std::optional<size_t> stop_after = turn % 2 == 0 ? std::optional(3 + turn) : std::nullopt;
            const auto told = [&](Context& held, const Engine& engine, runtime::Sampler& of, Drafting* guesses) {
                const auto rest = held.reuse(text);
                EXPECT_TRUE(rest);
                return generate(held, engine, of, *rest, options, guesses, stop_after);
            };
            const Told expected = told(plain, plain_lab.engine, plain_sampler, nullptr);
            expect_same(told(context, lab.engine, sampler, &drafting), expected, fmt::format("turn {}", turn));
            EXPECT_EQ(copy(context.ids()), copy(plain.ids()));
            const size_t kept = expected.ids.size() - turn % 3;
            text.insert(text.end(), expected.ids.begin(), expected.ids.begin() + static_cast<ptrdiff_t>(kept));
            text.insert(text.end(), {20, static_cast<int32_t>(30 + turn), 300});
        }
    }
}

TEST(DraftingContext, ForgetsGuessesThatWereNotTaken) {
    const Engine engine = open_nano(options_with(1, 32));
    Context context(*engine.session);
    ASSERT_TRUE(context.evaluate(Ids{1, 2, 3}));
    EXPECT_EQ(context.most_guesses(), kMostGuesses);
    ASSERT_TRUE(context.append(4, Ids{5, 6, 7}, runtime::LogitReading::rows));
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3, 4}));
    EXPECT_FALSE(context.take_guess(6));
    EXPECT_TRUE(context.take_guess(5));
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3, 4, 5}));
    EXPECT_FALSE(context.take_guess(7));
    EXPECT_EQ(copy(*context.reuse(Ids{1, 2, 3, 4, 5, 6, 7})), (Ids{6, 7})) << "6 was guessed, not said";
    EXPECT_EQ(engine.session->position(), 5u);
    EXPECT_FALSE(context.take_guess(6));

    ASSERT_TRUE(context.append(8, Ids{9, 10}, runtime::LogitReading::rows));
    EXPECT_FALSE(context.append(11, Ids{9, 512}, runtime::LogitReading::rows)) << "no such token";
    EXPECT_FALSE(context.take_guess(9)) << "they are gone";
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3, 4, 5, 8}));
    ASSERT_TRUE(context.evaluate(Ids(20, 7)));
    EXPECT_EQ(context.most_guesses(), 5u);  // 26 positions, one more token
    ASSERT_TRUE(context.append(1, Ids{2, 3, 4, 5, 6}, runtime::LogitReading::rows));
    EXPECT_FALSE(context.is_full()) << "guesses are no text";
    for (const int32_t id : {2, 3, 4, 5, 6}) EXPECT_TRUE(context.take_guess(id));
    EXPECT_TRUE(context.is_full());
    EXPECT_EQ(context.most_guesses(), 0u);
    ASSERT_TRUE(context.truncate(4));
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3, 4}));
}

// ---- draft models ---------------------------------------------------------------------------------------------------

Drafting by_model(Engine& engine, const Lab& lab, uint32_t most, float least_probable = 0, uint32_t least = 0) {
    auto draft = ModelDraft::create(engine, *engine.session, lab.engine.tokenizer, least_probable);
    EXPECT_TRUE(draft) << (draft ? "" : draft.error().message);
    return {std::move(*draft), DraftPace({.least = least, .most = most, .is_bounded = false})};
}

TEST(ModelDraft, OfTheSameModelIsAlwaysRight) {
    Lab lab;
    const Told plain = lab.run(greedy(), {.max_tokens = 50});
    for (const uint32_t most : {1U, 4U, kMostGuesses}) {
        Engine same = open_nano();
        Drafting drafting = by_model(same, lab, most);
        const Told told = lab.run(greedy(), {.max_tokens = 50, .batch = 4}, &drafting);
        EXPECT_EQ(told.ids, plain.ids);
        EXPECT_EQ(told.hash, plain.hash);
        EXPECT_EQ(told.timings.accepted(), told.timings.drafted());
        EXPECT_EQ(told.timings.generation_steps, (49 + most) / (most + 1));
        EXPECT_EQ(told.timings.accepted() + told.timings.generation_steps, 49u);
        EXPECT_EQ(told.timings.drafted_at.size(), most);
    }
}

TEST(ModelDraft, OfOtherWeightsChangesNoBit) {
    Lab lab;
    EngineOptions options = nano_options("q2_k");
    Engine other = open_nano(options);
    const auto all = samplings();
    for (const size_t i : {0UL, 1UL, 4UL, 9UL}) {
        const Told plain = lab.run(all[i], {.max_tokens = 60});
        for (const float least_probable : {0.0f, 0.02f, 1.0f}) {
            ASSERT_TRUE(other.session->truncate(0));
            Drafting drafting = by_model(other, lab, 5, least_probable);
            const Told told = lab.run(all[i], {.max_tokens = 60}, &drafting);
            expect_same(told, plain, fmt::format("sampling {}, p-min {}", i, least_probable));
            if (least_probable == 1) {
                EXPECT_EQ(told.timings.drafted(), 0u) << "no guess is sure";
            }
            if (least_probable == 0) {
                EXPECT_GT(told.timings.drafted(), 0u);
            }
        }
    }
}

TEST(ModelDraft, DropsProposalsThatAreTooShort) {
    Lab lab;
    Engine same = open_nano();
    Drafting drafting = by_model(same, lab, 4, 0, 4);
    const Told told = lab.run(greedy(), {.max_tokens = 11}, &drafting);
    EXPECT_EQ(told.ids, lab.run(greedy(), {.max_tokens = 11}).ids);
    EXPECT_EQ(told.timings.drafted_at, (std::vector<uint32_t>{2, 2, 2, 2})) << "4 and 4 of 10; there is no room for 4";
}

TEST(ModelDraft, CatchesUpFromOneTurnToTheNext) {
    Lab lab;
    Engine same = open_nano();
    Drafting drafting = by_model(same, lab, 3);
    Context context(*lab.engine.session);
    runtime::Sampler sampler = lab.sampler_of(greedy());
    Ids text = kPrompt;
    for (int turn = 0; turn < 5; ++turn) {
        const auto rest = context.reuse(text);
        ASSERT_TRUE(rest);
        const Told told = generate(context, lab.engine, sampler, *rest, {.max_tokens = 9}, &drafting);
        EXPECT_EQ(told.timings.accepted(), told.timings.drafted()) << turn;
        EXPECT_GT(told.timings.drafted(), 0u);
        text.insert(text.end(), told.ids.begin(), told.ids.end() - turn);
        text.insert(text.end(), {20, 300});
    }
}

// A copy of a model in which the first control token has another text.
std::string with_another_token(const Engine& engine, const std::string& copy) {
    std::string bytes;
    {
        std::ifstream file(nano_path("q8_0"), std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    int32_t id = 0;
    while (!engine.tokenizer.is_control(id)) ++id;
    const std::string text(engine.tokenizer.piece(id));
    std::string stored(sizeof(uint64_t), '\0');
    stored[0] = static_cast<char>(text.size());
    const size_t at = bytes.find(stored + text);
    EXPECT_NE(at, std::string::npos);
    bytes[at + stored.size()] = 'Q';
    std::ofstream(copy, std::ios::binary) << bytes;
    return copy;
}

TEST(ModelDraft, NeedsTheSameTokens) {
    const Lab lab;
    EngineOptions options = nano_options();
    options.model = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-q8_0.gguf";
    Engine other = open_nano(options);
    const auto refused = ModelDraft::create(other, *other.session, lab.engine.tokenizer, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "the draft model has a vocabulary of 4096 tokens, the model one of 512");
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("riftjit-drafting-{}", getpid());
    std::filesystem::create_directories(folder);
    options.model = with_another_token(lab.engine, folder / "other.gguf");
    const auto renamed = open_engine(options, [](const std::string&) {});
    ASSERT_TRUE(renamed) << renamed.error().message;
    const auto unequal = check_same_tokens(lab.engine.tokenizer, renamed->tokenizer);
    ASSERT_FALSE(unequal);
    EXPECT_TRUE(unequal.error().message.contains("'Q")) << unequal.error().message;
    std::filesystem::remove_all(folder);
}

}  // namespace drafting_test
}  // namespace riftjit::engine
