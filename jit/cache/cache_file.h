// The files of a cache directory: read with suspicion, written by rename, removed by age. Every name is relative to a
// descriptor of the directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/file_descriptor.h"
#include "jit/cache/cache_entry.h"

namespace riftjit {

// Whether reading an entry makes it the most recently used.
enum class Touch : uint8_t { no, yes };

// A file descriptor of a regular file that is ours, not writable by others and of a plausible size.
struct EntryFile {
    FileDescriptor descriptor;
    uint64_t bytes;
    int64_t modified_s;  // since 1970
};
CacheResult<EntryFile> open_entry_file(int directory, const std::string& file_name);
// The whole file, in memory: a mapping could change, or shrink, under the reader.
CacheResult<std::vector<std::byte>> read_entry_file(int directory, const std::string& file_name, Touch touch);

// Temporary file in the same directory, write, fsync, rename. Readers see the whole file or none.
Result<void> publish_file(int directory, const std::string& file_name, std::span<const std::byte> bytes);

Result<std::vector<std::string>> list_files(int directory);  // sorted; without "." and ".."
bool is_temporary_file_name(std::string_view file_name);

struct Removed {
    uint64_t files = 0, bytes = 0;
};
// Temporary files that a killed process left behind. Best effort.
Removed remove_old_temporaries(int directory, std::chrono::seconds age);
// Entries, least recently used first, until those left take at most max_bytes. A file that another process removed
// first is gone, and not counted.
Result<Removed> remove_least_recent(int directory, uint64_t max_bytes);
// Every entry and temporary file, whatever lies under its name; nothing else.
Result<Removed> remove_all(int directory);

}  // namespace riftjit
