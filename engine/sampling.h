// A sampler for an engine's logits and vocabulary.
#pragma once

#include <set>
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

// Sets what a model's file recommends (general.sampling.*, as llama.cpp follows it) in `parameters`, but for flags that
// were given ("--temperature", "--top-k", ..., and "--samplers" for the chain) and for what would have no effect beside
// the rest. What is no possible value is warned of and left. Returns what was set: "--temperature 0.7, --top-p 0.9";
// empty: nothing.
std::string recommend_sampling(const models::Gguf& file, const std::set<std::string>& given,
                               runtime::SamplerParameters& parameters, const Warn& warn);

// Fails on parameters out of range; warns of those without effect.
Result<runtime::Sampler> make_sampler(const Engine& engine, SamplerChoice choice, const Warn& warn);

}  // namespace riftjit::engine
