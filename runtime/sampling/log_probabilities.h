// How probable the model holds a token, before any sampler had its way: what APIs return as logprobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace riftjit::runtime {

struct TokenLogProbability {
    int32_t id;
    float log_probability;  // natural; -infinity where the logit is
};

struct LogProbabilities {
    TokenLogProbability picked;
    std::vector<TokenLogProbability> top;  // the most probable first; of equal ones the lower id
};

// Of a row of logits; `count` is cut to the row's size. Sums are doubles, in the order of ids, so that the same row
// gives the same bits everywhere. Logits that are NaN count as -infinity; where no logit is finite, all are -infinity.
LogProbabilities log_probabilities(std::span<const float> logits, int32_t picked, uint32_t count);

}  // namespace riftjit::runtime
