// Looks a kernel up in memory, then on disk, then compiles it; keeps successes only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/cache/disk_cache.h"
#include "jit/code_memory.h"
#include "jit/code_object.h"
#include "jit/kernel_spec.h"
#include "jit/profile.h"

namespace riftjit {

struct Kernel {
    KernelSpec spec;
    Target target;
    std::string name;
    KernelFunction function;  // null when the cache only warms (for another machine); may be called after seal()
    CodeObject object;
    uint32_t instruction_bytes;
    bool from_disk;
};

struct CacheStatistics {
    uint32_t hits = 0, misses = 0;  // disk hits and compilations
    double compile_ms = 0;          // time in the back end
    double load_ms = 0;             // time reading entries
};

class KernelCache {
public:
    using Compile = std::function<Result<CodeObject>(const KernelSpec&, Target)>;
    enum class Use { execute, warm };  // warm: compile and store, never map as executable

    KernelCache(Compile compile, DiskCache disk, Use use = Use::execute);
    ~KernelCache();  // waits for entries still being published

    // Which profilers seal() tells of new kernels; none by default. Call before the first get().
    void set_profile(Profile sinks);

    // The kernel lives as long as the cache. Thread safe; threads that ask for the same kernel wait for one of them,
    // others do not. Not for use between tokens.
    Result<const Kernel*> get(const KernelSpec& spec, Target target);

    const CacheStatistics& statistics() const;   // of the calls of get() that returned
    std::vector<const Kernel*> kernels() const;  // in order of first use
    // Makes everything asked for so far executable (pages are written first, then protected) and starts publishing.
    Result<void> seal();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit
