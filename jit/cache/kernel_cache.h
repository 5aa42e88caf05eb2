// Looks a kernel up in memory, then on disk, then compiles it; keeps successes only. What it yields are code objects,
// for any target: to load and run them is a device's business.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/cache/disk_cache.h"
#include "jit/code_object.h"
#include "jit/kernel_spec.h"

namespace riftjit {

struct Kernel {
    KernelSpec spec;
    CodeObject object;
    bool from_disk;
};

struct CacheStatistics {
    uint32_t hits = 0, misses = 0;  // disk hits and compilations
    double compile_ms = 0;          // while one thread or more is in the back end
    double load_ms = 0;             // while one or more reads entries
};

class KernelCache {
public:
    using Compile = std::function<Result<CodeObject>(const KernelSpec&, Target)>;

    KernelCache(Compile compile, DiskCache disk);
    ~KernelCache();  // publishes what is left, and waits for it

    // The kernel lives as long as the cache. Thread safe; threads that ask for the same kernel wait for one of them,
    // others do not. Not for use between tokens.
    Result<const Kernel*> get(const KernelSpec& spec, Target target);

    const CacheStatistics& statistics() const;   // of the calls of get() that returned
    std::vector<const Kernel*> kernels() const;  // in order of first use
    // Starts storing what was compiled on disk; until then the compiler has the processor to itself.
    void publish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit
