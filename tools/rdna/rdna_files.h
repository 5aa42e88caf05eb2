// What the commands for AMD GPUs share: whole files in and out, the options --target and --wave64, lines of --hex.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::tools {

inline constexpr size_t kMostOfFile = size_t{1} << 30;  // of code: far more than any holds

// "-": standard input, of which kMostOfFile are read at most. More than `most` bytes are refused.
Result<std::vector<std::byte>> read_bytes(const std::string& path, size_t most = kMostOfFile);
// Under a temporary name beside it, then renamed: the file, or the one that a symbolic link leads to, is whole or as it
// was. "-": standard output, unless it is a terminal, which bytes would garble.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
// The same refusal before any work, and that of a folder and of a file in one that does not exist or is not to be
// written.
Result<void> check_output(const std::string& path);
// Whether both are names of one regular file, which need not exist yet.
bool is_same_file(const std::string& a, const std::string& b);
// "-" for another name of what standard output goes to (/dev/stdout), so that it is written through one descriptor;
// every other path as it is.
std::string dash_for_standard_output(const std::string& path);

std::string clipped(std::string_view text);  // to 80 bytes, for messages

struct RdnaChoice {
    std::optional<rdna::Target> target;
    rdna::WaveSize wave_size = rdna::WaveSize::wave32;
};
void add_rdna_target(CLI::App& app, RdnaChoice& choice, const std::string& help);  // --target alone
void add_rdna_choice(CLI::App& app, RdnaChoice& choice, const std::string& target_help, const std::string& wave_help);

// A line of standard input in, a line out; comments (';', "//" or '#' to the end of the line) and blanks around it are
// cut off, and lines of more than 4096 bytes refused. A line that `translate` refuses is an error with its number on
// stderr, an empty line out, and exit code 1 at the end.
int translate_lines(const std::function<Result<std::string>(std::string_view)>& translate);

}  // namespace riftjit::tools
