// What the commands for AMD GPUs share: the options --target and --wave64, lines of --hex.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::tools {

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
