// Looks a kernel up in memory, then on disk, then compiles it; keeps successes only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/code_memory.h"
#include "jit/code_object.h"
#include "jit/disk_cache.h"
#include "jit/kernel_spec.h"

namespace riftjit {

struct Kernel {
    KernelSpec spec;
    Isa isa;
    std::string name;
    KernelFunction function;      // null when the cache only warms (other ISA)
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
    using Compile = std::function<Result<CodeObject>(const KernelSpec&, Isa)>;
    enum class Use { execute, warm };  // warm: compile and store, never map as executable

    KernelCache(Compile compile, DiskCache disk, Use use = Use::execute);
    ~KernelCache();                    // waits for entries still being published

    // The kernel lives as long as the cache. Not for use between tokens.
    Result<const Kernel*> get(const KernelSpec& spec, Isa isa);

    const CacheStatistics& statistics() const;
    std::vector<const Kernel*> kernels() const;  // in order of first use
    // Makes everything asked for so far executable (pages are written first, then protected) and starts publishing.
    Result<void> seal();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit
