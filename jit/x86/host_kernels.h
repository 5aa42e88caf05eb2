// The kernels of a cache as functions of this process: code objects placed in memory, made executable, and shown to
// profilers. A device of another processor loads the same cache's objects in its own way.
#pragma once

#include <memory>

#include "jit/cache/kernel_cache.h"
#include "jit/profile.h"

namespace riftjit::x86 {

class HostKernels {
public:
    // The cache must outlive it. Profilers are told of kernels by seal().
    explicit HostKernels(KernelCache& cache, Profile profile = Profile::none);
    ~HostKernels();
    HostKernels(HostKernels&&) noexcept;

    // May be called after seal(), as long as this object lives. Each kernel is placed once. Thread safe. Not for use
    // between tokens.
    Result<KernelFunction> get(const KernelSpec& spec, Isa isa);
    // Makes everything asked for so far executable (pages are written first, then protected), and has the cache publish
    // it.
    Result<void> seal();

    const CacheStatistics& statistics() const;  // of the cache

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit::x86
