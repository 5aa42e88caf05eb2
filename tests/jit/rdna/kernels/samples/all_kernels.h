// The project's kernels and the samples in one list.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "jit/rdna/kernels/kernels.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {

// Every kernel with its default spec, for tests that go over all of them.
struct KernelEntry {
    std::string_view name;
    bool runs_in_wave64;
    std::function<Result<KernelProgram>(KernelTarget, PassOptions)> assemble;
};
std::span<const KernelEntry> all_kernels();

}  // namespace riftjit::rdna::kernels
