// A device's kernels against references in double, and against the processor's bits: each kind by itself, and in models
// of one layer for every type of weights, all of random numbers. Nothing is read from or written to a cache.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/devices.h"

namespace riftjit::engine {

struct KernelSelftest {
    std::string name, text;           // "rj_embed_q8_0_w512", "embed q8_0 rows of 512"
    double error = 0, bound = 0;      // of the value that is nearest to its bound, or farthest beyond
    bool has_processors_bits = true;  // at avx2, where no kernel rounds in a way of its own
    double seconds = 0;               // that the step took, in the software machine the machine's

    bool is_passed() const { return error <= bound && has_processors_bits; }  // no number: not passed
};
// Tells of one after the other; the ops that come back are those that the device has no kernels for.
Result<std::vector<std::string>> selftest_kernels(const DeviceChoice& device,
                                                  const std::function<void(const KernelSelftest&)>& tell);

struct ModelSelftest {
    DType weights{};
    DType cache{};
    uint32_t kernels = 0;  // of both plans, each once
    double error = 0;      // of the worst logit, in standard deviations of all
    double bound = 0;
    bool has_processors_bits = true;

    bool is_passed() const { return error <= bound && has_processors_bits; }
};
// Prompts of several rows and then rows alone, so that both plans run.
Result<ModelSelftest> selftest_model(const DeviceChoice& device, DType weights, DType cache);

}  // namespace riftjit::engine
