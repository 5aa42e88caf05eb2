// Scans of a whole row of logits, by generated kernels where they were handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/result.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sampler.h"

namespace riftjit::runtime {

class LogitScan {
public:
    LogitScan(LogitKernels kernels, uint32_t vocabulary) : kernels_(kernels), vocabulary_(vocabulary) {}

    struct Best {
        int32_t id;
        float logit;
    };
    // The highest logit, lowest id on ties. Fails on NaN, on +infinity, and when all are -infinity.
    Result<Best> best(std::span<const float> logits) const;

    // Puts the `count` highest into `candidates` (and perhaps some more), without looking at each twice: those within
    // a margin of the best, which is adapted from token to token. False: no margin fits (too many equal logits).
    bool gather_highest(std::span<const float> logits, Best best, size_t count, Candidates& candidates);

private:
    // How many logits are at least `lowest`; their ids are in indices_ as far as they fit.
    uint32_t collect_above(std::span<const float> logits, float lowest);

    LogitKernels kernels_;
    uint32_t vocabulary_;
    float margin_ = 8;  // of logits, typical of a language model's 40 best
    std::vector<uint32_t> indices_;
};

}  // namespace riftjit::runtime
