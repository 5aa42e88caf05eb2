// A sampler for an engine's logits and vocabulary.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/grammar/constraint.h"

namespace riftjit::engine {

struct SamplerChoice {
    runtime::SamplerParameters parameters;
    std::vector<std::string> dry_breakers;   // texts over which no repetition reaches
    bool ignores_end = false;                // never samples a token that ends generation
    std::shared_ptr<const Grammar> grammar;  // what an answer, never a prompt, has to follow; null: nothing
    GrammarTriggers grammar_triggers;        // from when on
};

// Fails on parameters out of range; warns of those without effect.
Result<runtime::Sampler> make_sampler(const Engine& engine, SamplerChoice choice, const Warn& warn);

}  // namespace riftjit::engine
