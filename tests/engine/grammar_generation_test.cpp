// Answers that follow a grammar, by a model whose weights are random.
#include <regex>

#include "engine/generation.h"
#include "engine/grammar/grammar.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace grammar_generation_test {

using Ids = std::vector<int32_t>;

const Ids kPrompt = {1, 20, 300, 4, 50, 60, 7};

runtime::Sampler sampler_of(const Engine& engine, std::string_view grammar, float temperature = 3,
                            SamplerChoice choice = {}) {
    if (temperature > 0) choice.parameters.seed = 11;
    choice.parameters.temperature = temperature;
    choice.grammar = *Grammar::from_gbnf(grammar);
    return *make_sampler(engine, std::move(choice), expect_no_warning);
}

struct Told {
    Ids ids;
    std::string text;
    FinishReason finish = FinishReason::interrupted;
    Timings timings;
};

Told answer(const Engine& engine, runtime::Sampler& sampler, GenerationOptions options = {}) {
    Context context(*engine.session);
    EXPECT_TRUE(context.reuse(kPrompt));
    Told told;
    Generation generation(context, engine.tokenizer, sampler, kPrompt, std::move(options));
    while (true) {
        const auto step = generation.next();
        EXPECT_TRUE(step) << step.error().message;
        if (!step) break;
        told.text += step->text;
        if (!step->finish) continue;
        told.finish = *step->finish;
        break;
    }
    told.ids = generation.ids();
    told.timings = generation.timings();
    EXPECT_TRUE(engine.session->truncate(0));
    return told;
}

TEST(GrammarGeneration, AnswersMatchAndEnd) {
    const Engine engine = open_nano();
    for (const float temperature : {0.0f, 3.0f}) {
        runtime::Sampler sampler = sampler_of(engine, "root ::= \"{\" \"}\"", temperature);
        const Told braces = answer(engine, sampler, {.max_tokens = 10});
        EXPECT_EQ(braces.text, "{}");
        EXPECT_EQ(braces.finish, FinishReason::end_of_generation);
        sampler = sampler_of(engine, "root ::= \"\"", temperature);
        EXPECT_EQ(answer(engine, sampler, {}).finish, FinishReason::end_of_generation);

        // One sampler, answer after answer: each begins the grammar anew, and no prompt is read by it.
        sampler = sampler_of(engine, "root ::= [a-z]{3,8} (\", \" [a-z]{3,8}){2} \".\"?", temperature);
        for (int i = 0; i < 5; ++i) {
            const Told words = answer(engine, sampler, {.max_tokens = 60});
            EXPECT_TRUE(std::regex_match(words.text, std::regex("[a-z]{3,8}(, [a-z]{3,8}){2}\\.?"))) << words.text;
            EXPECT_EQ(words.finish, FinishReason::end_of_generation);
        }
    }
    // An end that is never sampled is none that a grammar needs.
    runtime::Sampler sampler = sampler_of(engine, "root ::= \"ab\" \"c\"?", 1, {.ignores_end = true});
    EXPECT_EQ(answer(engine, sampler).text, "abc");
}

class Echo : public Draft {
public:
    void restart(std::span<const int32_t> text) override { text_.assign(text.begin(), text.end()); }
    void accept(int32_t id) override { text_.push_back(id); }
    std::optional<uint32_t> grade() const override { return 0; }
    Result<std::span<const int32_t>> propose(uint32_t most) override {
        return std::span<const int32_t>(text_).last(std::min<size_t>(most, text_.size()));
    }
    bool is_free() const override { return true; }

private:
    Ids text_;
};

TEST(GrammarGeneration, GuessesChangeNothing) {
    EngineOptions options = nano_options();
    options.outputs = 5;
    const Engine engine = open_nano(options);
    const char* grammar = "root ::= (\"ab\" | \"cd\" | \"xyz\")* \".\"";
    runtime::Sampler plain = sampler_of(engine, grammar), drafted = sampler_of(engine, grammar);
    const Told expected = answer(engine, plain, {.max_tokens = 40});
    Drafting drafting{std::make_unique<Echo>(), DraftPace({.least = 1, .most = 4, .is_bounded = false})};
    const Told found = answer(engine, drafted, {.max_tokens = 40, .drafting = &drafting});
    EXPECT_EQ(found.ids, expected.ids);
    EXPECT_EQ(found.text, expected.text);
    EXPECT_EQ(found.finish, expected.finish);
}

TEST(GrammarGeneration, WaitsForATriggerWord) {
    const Engine engine = open_nano();
    SamplerChoice choice;
    choice.grammar_triggers.words = {"e"};  // which a random text soon has
    runtime::Sampler sampler = sampler_of(engine, "root ::= \"e\" [0-9]{4}", 3, std::move(choice));
    size_t triggered = 0;
    for (int i = 0; i < 4; ++i) {
        const Told told = answer(engine, sampler, {.max_tokens = 400});
        const size_t at = told.text.find('e');
        if (told.finish == FinishReason::length || at == std::string::npos) continue;
        EXPECT_TRUE(std::regex_match(told.text.substr(at), std::regex("e[0-9]{4}"))) << told.text.substr(at);
        ++triggered;
    }
    EXPECT_GT(triggered, 0u);
}

}  // namespace grammar_generation_test
}  // namespace riftjit::engine
