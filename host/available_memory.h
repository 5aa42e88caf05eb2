// What the system can give before it has to swap, and what it gave.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "host/result.h"

namespace riftjit {

// Bytes: MemAvailable, or what a control group of this process leaves if that is less; 0 when the system does not say.
// `root`: of the file system.
uint64_t available_memory(const std::filesystem::path& root = "/");

uint64_t peak_rss_bytes();  // the most that this process has held in memory at once

// What is available, if that is fewer than `bytes`; nullopt also when the system does not say.
std::optional<uint64_t> memory_below(uint64_t bytes);

// "reading it takes N bytes of memory, M are available"
Result<void> refuse_beyond_memory(uint64_t bytes);

}  // namespace riftjit
