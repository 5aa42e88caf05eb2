// Makes the kernels of a plan side by side: each is compiled by itself, from nothing but its spec and target.
#pragma once

#include <span>

#include "jit/cache/kernel_cache.h"

namespace riftjit {

struct KernelRequest {
    KernelSpec spec;
    Target target;
};

// From here on KernelCache::get() finds each of them. On as many threads as this process may use CPUs; which of them
// makes what shows in no byte. Of several that fail the first in their order is told.
Result<void> make_kernels(KernelCache& cache, std::span<const KernelRequest> requests);
Result<void> make_kernels(KernelCache& cache, std::span<const KernelRequest> requests, uint32_t threads);

}  // namespace riftjit
