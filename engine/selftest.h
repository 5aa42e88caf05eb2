// A device's kernels against the reference in double, and against the processor's bits: a model of one layer for every
// type of weights, made of random numbers.
#pragma once

#include <functional>
#include <string>

#include "engine/devices.h"

namespace riftjit::engine {

struct SelftestResult {
    DType weights{};
    DType cache{};
    uint32_t kernels = 0;  // of both plans, each once
    double error = 0;      // of the worst logit, in standard deviations of all
    double bound = 0;
    bool has_processors_bits = true;  // at avx2, where no kernel rounds in a way of its own

    bool is_passed() const { return error <= bound && has_processors_bits; }  // no number: not passed
};

// Prompts of several rows and then rows alone, so that both plans run. Nothing is read from or written to a cache.
Result<SelftestResult> selftest(const DeviceChoice& device, DType weights, DType cache);

}  // namespace riftjit::engine
