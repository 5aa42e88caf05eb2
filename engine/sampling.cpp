#include "engine/sampling.h"

#include "runtime/sampling/repetition.h"

namespace riftjit::engine {

namespace {

std::vector<std::vector<int32_t>> breaker_sequences(const SamplerChoice& choice, const models::Tokenizer& tokenizer) {
    if (choice.parameters.dry_multiplier <= 0) return {};
    return runtime::dry_breaker_sequences(
        choice.dry_breakers, tokenizer.size(), [&](int32_t id) { return std::string(tokenizer.piece(id)); },
        [&](std::string_view text) {
            return tokenizer.encode(text, models::ParseSpecial::no, models::AddBos::no)
                .value_or(std::vector<int32_t>{});
        });
}

}  // namespace

Result<runtime::Sampler> make_sampler(const Engine& engine, SamplerChoice choice, const Warn& warn) {
    runtime::SamplerParameters& parameters = choice.parameters;
    const models::Tokenizer& tokenizer = engine.tokenizer;
    if (choice.ignores_end) {
        const auto end = tokenizer.end_of_generation();
        parameters.suppressed.assign(end.begin(), end.end());
    }
    // Rows that pad the table beyond the vocabulary are no tokens.
    const uint32_t rows = engine.device_model->vocabulary;
    for (uint32_t id = tokenizer.size(); id < rows; ++id) parameters.suppressed.push_back(static_cast<int32_t>(id));
    RIFTJIT_TRY_VOID(runtime::validate(parameters, tokenizer.size()));
    for (const std::string& unused : runtime::unused_settings(parameters)) warn(unused);
    RIFTJIT_TRY(sampler,
                runtime::Sampler::create(parameters, rows, breaker_sequences(choice, tokenizer), engine.logit_kernels));
    if (choice.grammar != nullptr) {
        RIFTJIT_TRY(masks, engine.grammars->of(choice.grammar));
        sampler.constrain(std::make_unique<GrammarConstraint>(std::move(masks), std::move(choice.grammar_triggers)));
    }
    if (engine.device_model->finds_highest() && !sampler.takes_highest())
        warn(fmt::format(
            "{}: what is sampled ({}) depends on more than the {} highest logits: all are read for each token",
            engine.device, sampler.describe(), kHighest));
    return std::move(sampler);
}

}  // namespace riftjit::engine
