// Where the cache lives, and whether that place may be trusted with code.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "host/file_descriptor.h"
#include "host/result.h"

namespace riftjit {

struct CachePlace {
    std::filesystem::path root;      // absolute; the versioned directory of entries lies in it
    std::filesystem::path existing;  // never created (the home directory); empty: any parent may be
    std::filesystem::path entries() const;
};

// The only resolver: --cache-dir, RIFTJIT_CACHE_DIR, XDG_CACHE_HOME, HOME.
Result<CachePlace> locate_cache(std::string_view flag);

enum class Absent : uint8_t { create, report };
// A descriptor of the directory of entries; everything else is opened relative to it, so that nobody can exchange it
// under a running process. Fails when it cannot be had or must not be trusted: owned by someone else, or writable by
// group or others. Closed (false) when there is none and Absent::report forbids to create it.
Result<FileDescriptor> open_cache_directory(const CachePlace& place, Absent absent);

// The name of a network file system's type (statfs f_type), where rename and fsync promise less; nullopt: a local one.
std::optional<std::string_view> network_file_system(long type);

// For messages: control characters replaced, so that any path stays on one line.
std::string one_line(std::string_view text);

}  // namespace riftjit
