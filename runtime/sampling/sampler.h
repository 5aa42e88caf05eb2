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
#include "runtime/sampling/log_probabilities.h"
#include "runtime/sampling/sampler_parameters.h"
#include "runtime/sampling/token_constraint.h"

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

    // From now on only what it allows is sampled. What it does not is out of the row before the chain begins, so that
    // the chain's shares are of what is allowed; a greedy choice that is allowed is taken as it is.
    void constrain(std::unique_ptr<TokenConstraint> constraint);

    // Fails on logits that are no numbers. Does not accept the token.
    Result<int32_t> sample(std::span<const float> logits);
    // The same token with the same random numbers, of the highest logits alone (HighestSpec); nullopt, with nothing
    // done, where it may take others to say: then the whole row is to be asked.
    std::optional<int32_t> sample(std::span<const IndexedLogit> highest);
    // Whether it mostly takes no others.
    bool takes_highest() const;
    // What sample() had to choose from when it chose `id`, behind all stages: up to `count`, the most probable first,
    // none that could not be. A greedy choice had nothing but itself.
    LogProbabilities shares(int32_t id, uint32_t count);
    // Tells penalties and targets that the text goes on with `id`; prompt tokens count too.
    void accept(int32_t id);
    // The same of a token of an answer, which is the constraint's too: fails where that does not allow it.
    Result<void> accept_sampled(int32_t id);
    // Makes `text` all that penalties have seen, and begins an answer: nothing was sampled yet. Targets and the seed's
    // numbers go on as they were.
    void restart(std::span<const int32_t> text);

    // The constraint lets nothing but an end follow; false without one.
    bool must_end() const;
    // How many of these, one behind the other, the constraint allows; all without one.
    size_t allowed_prefix(std::span<const int32_t> ids) const;

    bool is_greedy() const;
    uint32_t seed() const;         // the one in use, drawn when none was given
    std::string describe() const;  // "logits -> penalties -> top_k -> temperature -> dist": active stages only

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    explicit Sampler(std::unique_ptr<Impl> impl);
};

}  // namespace riftjit::runtime
