#include "host/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace riftjit {

namespace {

// The first number of a file, or `otherwise` ("max", no file).
uint64_t number_in(const char* path, uint64_t otherwise) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : otherwise;
}

uint64_t mem_available() {
    std::ifstream file("/proc/meminfo");
    for (std::string key; file >> key;) {
        uint64_t kibibytes = 0;
        if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
        std::getline(file, key);
    }
    return 0;
}

}  // namespace

uint64_t available_memory() {
    const uint64_t system = mem_available();
    const uint64_t limit = number_in("/sys/fs/cgroup/memory.max", UINT64_MAX);
    const uint64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
    return std::min(system, limit > used ? limit - used : 0);
}

uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

std::optional<uint64_t> memory_below(uint64_t bytes) {
    constexpr uint64_t kNeverMissed = 16 << 20;  // asking the system costs more than a small file
    if (bytes <= kNeverMissed) return std::nullopt;
    const uint64_t available = available_memory();
    return available == 0 || bytes <= available ? std::nullopt : std::optional(available);
}

Result<void> refuse_beyond_memory(uint64_t bytes) {
    const auto available = memory_below(bytes);
    if (!available) return {};
    return fail(ErrorKind::OutOfMemory, "reading it takes {} bytes of memory, {} are available", bytes, *available);
}

}  // namespace riftjit
