#include "jit/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/round_up.h"

namespace riftjit {

namespace {

constexpr size_t kCodeAlignment = 64;
// All kernels of a model usually fit one region; pages that are never touched cost nothing.
constexpr size_t kRegionBytes = size_t(1) << 20;

}  // namespace

CodeMemory::CodeMemory() = default;

CodeMemory::~CodeMemory() {
    for (const Region& region : regions_) munmap(region.base, region.size);
}

Result<const std::byte*> CodeMemory::add(std::span<const std::byte> code) {
    check(!code.empty(), "code to execute has bytes");
    const size_t size = round_up(code.size(), kCodeAlignment);
    const bool fits =
        !regions_.empty() && !regions_.back().sealed && regions_.back().size - regions_.back().used >= size;
    if (!fits) {
        const size_t region_bytes = std::max<size_t>(kRegionBytes, round_up(size, uint64_t(sysconf(_SC_PAGESIZE))));
        void* base = mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED)
            return fail(ErrorKind::OutOfMemory, "code memory: cannot map {} bytes: {}", region_bytes,
                        std::strerror(errno));
        regions_.push_back({static_cast<std::byte*>(base), region_bytes, 0, false});
    }
    Region& region = regions_.back();
    std::byte* address = region.base + region.used;
    std::memcpy(address, code.data(), code.size());
    region.used += size;
    return address;
}

Result<void> CodeMemory::seal() {
    for (Region& region : regions_) {
        if (region.sealed) continue;
        if (mprotect(region.base, region.size, PROT_READ | PROT_EXEC) != 0)
            return fail(ErrorKind::Io, "code memory: cannot make {} bytes executable: {}", region.size,
                        std::strerror(errno));
        region.sealed = true;
    }
    return {};
}

}  // namespace riftjit
