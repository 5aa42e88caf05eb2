// What `riftjit cache` does to a cache directory: list, verify, prune, clear.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_file.h"

namespace riftjit {

struct CacheListing {
    std::string key, kernel, target;  // kernel and target are empty when the entry has a problem
    uint64_t bytes = 0;
    int64_t modified_s = 0;  // last use, within an hour
    std::string problem;
};

struct CacheTotals {
    struct Count {
        uint64_t files = 0, bytes = 0;
    };
    Count entries, temporaries;
    uint64_t other_files = 0;
    std::map<std::string, Count> by_target;
};

struct BadEntry {
    std::string file, reason, text;
};  // reason: stale, corrupt, io; foreign: not a cache file
struct CacheVerdict {
    uint64_t sound = 0;
    std::vector<BadEntry> bad;
};

class CacheAdmin {
public:
    // A directory that does not exist counts as empty.
    static Result<CacheAdmin> open(std::string_view directory_flag);

    const std::filesystem::path& directory() const { return path_; }

    Result<std::vector<CacheListing>> list() const;  // by key
    Result<CacheTotals> totals() const;
    Result<CacheVerdict> verify() const;  // reads and checks every entry
    Result<Removed> prune(uint64_t max_bytes) const;
    Result<Removed> clear() const;  // entries and temporary files of this format; never what it does not know

private:
    Result<std::vector<std::string>> files() const;
    Result<Removed> told(Result<Removed> removed) const;  // an error, with the directory

    std::filesystem::path path_;
    FileDescriptor directory_;  // closed: there is no cache
};

}  // namespace riftjit
