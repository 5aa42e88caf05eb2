// Files that tools read and write: regular ones, of bounded size, and never half written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit::server {

inline constexpr uint64_t kMostFileBytes = 16 << 20;  // of a file that is taken whole

// The whole text. Refused, in the words "PATH: ...": what is no regular file (nothing waits for a FIFO), has more than
// kMostFileBytes, or has a NUL byte, which texts have not.
Result<std::string> read_text_file(const std::string& path);

struct LineRange {
    int64_t first = 1;
    int64_t last = INT64_MAX;
    bool has_numbers = false;  // "N→" before each line
};
struct FileLines {
    std::string text;
    int64_t last = 0;        // line that is in it; 0: none
    bool is_cut = false;     // more of the range is there than `most_bytes`
    int64_t lines_seen = 0;  // of the file, as far as it was read
};
// Lines of a file of any size: as many whole ones as fit, or the beginning of the first. `is_wanted` is asked as it is
// read. Refusals as above, but for the size.
Result<FileLines> read_lines(const std::string& path, const LineRange& range, size_t most_bytes,
                             const std::function<bool()>& is_wanted);

// Makes folders that are missing, writes beside the file (or the one that a symbolic link leads to) and renames: it is
// whole or as it was, with its permissions.
Result<void> write_text_file(const std::string& path, std::string_view text);

}  // namespace riftjit::server
