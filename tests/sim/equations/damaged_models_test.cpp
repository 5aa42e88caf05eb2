// Texts of the built-in models with random damage: a model or one line of error, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/equations/model_file.h"

namespace riftjit::sim {
namespace damaged_models_test {

void damage(std::string& text, std::mt19937& random) {
    static const std::vector<std::string> kPieces = {"(",    ")",  "**", " if ",   " else ", "0", "mV",
                                                     "-",    "= ", ":",  "\n",     ",",      "w", "dt",
                                                     "exp(", "\"", "/",  "rand()", "not ",   "V"};
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0 && !text.empty(); --edits) {
        const size_t at = random() % text.size();
        if (random() % 2 == 0)
            text.erase(at, 1 + random() % 4);
        else
            text.insert(at, kPieces[random() % kPieces.size()]);
    }
}

std::string error_of(const NeuronModelSource& source) {
    const Result<NeuronModel> model = NeuronModel::parse(source);
    if (!model) return model.error().message;
    const auto program = lower(*model, {.step_ms = 0.1, .compat = Compat::brian2});
    return program ? "" : program.error().message;
}
std::string error_of(const SynapseModelSource& source) {
    const Result<SynapseModel> model = SynapseModel::parse(source);
    if (!model) return model.error().message;
    const auto programs = lower(*model, {}, 0.1);
    return programs ? "" : programs.error().message;
}

struct Counts {
    int models = 0, errors = 0;

    void add(const std::string& message) {
        ++(message.empty() ? models : errors);
        EXPECT_EQ(std::ranges::count(message, '\n'), 0) << message;
    }
};

TEST(DamagedModels, AreReadOrRefusedInOneLine) {
    std::mt19937 random(20260101);
    Counts counts;
    for (int i = 0; i < 60; ++i) {
        for (const std::string& name : builtin_neuron_model_names()) {
            NeuronModelSource source = builtin_neuron_model(name).value();
            std::vector<SourceText*> texts = {&source.equations, &source.threshold, &source.reset, &source.update,
                                              &source.parameters[0].text};
            if (!source.receptors.empty()) texts.push_back(&source.receptors[0].text);
            for (SourceText* text : texts)
                if (random() % 3 == 0) damage(text->text, random);
            counts.add(error_of(source));
        }
        for (const std::string& name : builtin_synapse_model_names()) {
            SynapseModelSource source = builtin_synapse_model(name).value();
            for (SourceText* text : {&source.equations, &source.on_pre, &source.on_post, &source.parameters[0].text})
                if (random() % 3 == 0) damage(text->text, random);
            counts.add(error_of(source));
        }
    }
    EXPECT_GT(counts.models, 50);  // undamaged, or in a number
    EXPECT_GT(counts.errors, 200);
}

TEST(DamagedModels, DeepOnesAreRefusedAndSharedSumsAreRead) {
    Counts counts;
    std::string minus = "x = ", chain = "x = ", sums = "x0 = 1 : 1\n";
    for (int i = 0; i < 3900; ++i) minus += "-";
    for (int i = 0; i < 600; ++i) chain += "1 if 1 < 2 else ";
    for (int i = 1; i < 200; ++i)
        sums += fmt::format("x{} = x{} + x{} : 1\n", i, i - 1, i - 1);  // 2^200 terms if spelt out
    for (const std::string& text : {minus + "1 : 1\n", chain + "1 : 1\n", sums + "dy/dt = -y * x199 / (1 ms) : 1\n"})
        counts.add(error_of(NeuronModelSource{.name = "deep", .equations = {text}}));
    EXPECT_EQ(counts.models, 1);  // the sums
    EXPECT_EQ(counts.errors, 2);
}

}  // namespace damaged_models_test
}  // namespace riftjit::sim
