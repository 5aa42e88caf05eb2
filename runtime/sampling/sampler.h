// Logits to a token: llama.cpp's chain of samplers, with its order and defaults. Allocates nothing per token once warm.
//
// At temperature 0 the most probable token is taken (the lowest id of equal ones): biases and repetition penalties
// still apply, nothing else does, and the seed is not used.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/kernel_spec.h"
#include "runtime/sampling/sampler_parameters.h"

namespace riftjit::runtime {

// Generated kernels over a row of logits; null: plain code takes their place.
struct LogitKernels {
    KernelFunction argmax = nullptr;         // ReduceSpec{ReduceKind::argmax, vocabulary}
    KernelFunction collect_above = nullptr;  // ReduceSpec{ReduceKind::collect_above, vocabulary}
};
std::array<ReduceSpec, 2> logit_kernel_specs(uint32_t vocabulary);  // in this order

class Sampler {
public:
    // dry_breakers: from dry_breaker_sequences(); used with dry_multiplier above 0 only.
    static Result<Sampler> create(const SamplerParameters& parameters, uint32_t vocabulary,
                                  std::vector<std::vector<int32_t>> dry_breakers = {}, LogitKernels kernels = {});
    Sampler(Sampler&&) noexcept;
    Sampler& operator=(Sampler&&) noexcept;
    ~Sampler();

    // Fails on logits that are no numbers. Does not accept the token.
    Result<int32_t> sample(std::span<const float> logits);
    // The same token with the same random numbers, of the highest logits alone (HighestSpec); nullopt, with nothing
    // done, where it may take others to say: then the whole row is to be asked.
    std::optional<int32_t> sample(std::span<const IndexedLogit> highest);
    // Whether it mostly takes no others.
    bool takes_highest() const;
    // Tells penalties and targets that the text goes on with `id`; prompt tokens count too.
    void accept(int32_t id);
    // Makes `text` all that penalties have seen. Targets and the seed's numbers go on as they were.
    void restart(std::span<const int32_t> text);

    bool is_greedy() const;
    uint32_t seed() const;         // the one in use, drawn when none was given
    std::string describe() const;  // "logits -> penalties -> top_k -> temperature -> dist": active stages only

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    explicit Sampler(std::unique_ptr<Impl> impl);
};

}  // namespace riftjit::runtime
