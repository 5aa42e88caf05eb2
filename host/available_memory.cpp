#include "host/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "host/control_groups.h"

namespace riftjit {

namespace {

uint64_t number_in(const std::filesystem::path& path, uint64_t otherwise) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : otherwise;  // "max", no file
}

// Of a memory.stat: pages of files, which the system takes back when it wants them.
uint64_t file_bytes(const std::filesystem::path& path, bool is_unified) {
    std::ifstream file(path);
    uint64_t sum = 0, value = 0;
    for (std::string key; file >> key >> value;)
        if (key == (is_unified ? "active_file" : "total_active_file") ||
            key == (is_unified ? "inactive_file" : "total_inactive_file"))
            sum += value;
    return sum;
}

uint64_t left_in(const ControlGroup& group) {
    const bool is_unified = group.is_unified;
    const uint64_t limit = number_in(group.folder / (is_unified ? "memory.max" : "memory.limit_in_bytes"), UINT64_MAX);
    if (limit == UINT64_MAX) return limit;
    const uint64_t used = number_in(group.folder / (is_unified ? "memory.current" : "memory.usage_in_bytes"), 0);
    const uint64_t kept = used - std::min(used, file_bytes(group.folder / "memory.stat", is_unified));
    return limit > kept ? limit - kept : 0;
}

uint64_t mem_available(const std::filesystem::path& root) {
    std::ifstream file(root / "proc/meminfo");
    for (std::string key; file >> key;) {
        uint64_t kibibytes = 0;
        if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
        std::getline(file, key);
    }
    return 0;
}

}  // namespace

uint64_t available_memory(const std::filesystem::path& root) {
    uint64_t least = mem_available(root);
    for (const ControlGroup& group : control_groups("memory", root)) least = std::min(least, left_in(group));
    return least;
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
