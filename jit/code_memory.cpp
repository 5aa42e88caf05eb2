#include "jit/code_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "host/file_descriptor.h"
#include "host/round_up.h"

namespace riftjit {

namespace {

constexpr size_t kCodeAlignment = 64;
// All kernels of a model usually fit one region; pages that are never touched cost nothing.
constexpr size_t kRegionBytes = size_t(1) << 20;

// From Linux 6.3 on a file in memory must be asked for as one that may be executed; older kernels know no such flag.
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

FileDescriptor code_file() {
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    FileDescriptor file(memfd_create("riftjit code", kFlags | MFD_EXEC));
    if (!file && errno == EINVAL) file = FileDescriptor(memfd_create("riftjit code", kFlags));
    return file;
}

bool write_whole(const FileDescriptor& file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(file.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return true;
}

// For systems on which memory that was writable never becomes executable (SELinux without execmem, systemd's
// MemoryDenyWriteExecute, PR_SET_MDWE): the same bytes in a file in memory, sealed against every change, take the place
// of the pages at their address. False: errno says why not.
bool replace_by_sealed_file(std::span<std::byte> pages, size_t used) {
    const FileDescriptor file = code_file();
    return file && write_whole(file, pages.first(used)) && ftruncate(file.get(), off_t(pages.size())) == 0 &&
           fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
           mmap(pages.data(), pages.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.get(), 0) !=
               MAP_FAILED;
}

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
        if (mprotect(region.base, region.size, PROT_READ | PROT_EXEC) != 0) {
            const std::string reason = std::strerror(errno);
            if (!replace_by_sealed_file({region.base, region.size}, region.used))
                return fail(ErrorKind::Io,
                            "code memory: this system makes no {} bytes executable that were written (mprotect: {}; a "
                            "sealed memfd: {})",
                            region.size, reason, std::strerror(errno));
        }
        region.sealed = true;
    }
    return {};
}

}  // namespace riftjit
