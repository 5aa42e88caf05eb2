// Options whose refusals name the flag, the value given and the values allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/isa.h"

namespace riftjit::tools {

// Each parses and checks while the command line is read, and throws CLI::ValidationError with the whole message.
CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& target, int64_t low, int64_t high,
                         const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& names, double& target, double low, double high,
                        const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& target, std::vector<std::string> allowed,
                        const std::string& help);

// The choices of -ctk and -ctv.
std::vector<std::string> cache_type_list();

// Ends the parse of a flag's value: 'error while handling argument "--flag": why'.
[[noreturn]] void refuse(const std::string& flag, const std::string& why);
std::vector<std::string> split(const std::string& text, char separator);

// A check for names of files and directories: empty, as an unset variable of a script leaves them, they would pass for
// "the default".
CLI::Validator file_name();

// Options of one value that stand several times on the command line: the last one counts, as in llama.cpp.
void let_last_count(CLI::App& command);
std::vector<std::string> given_repeatedly(const CLI::App& command);  // one warning each

// Which instructions kernels may use and where they are kept, the same for every command that runs some.
struct MachineChoice {
    std::optional<Isa> max_isa;
    std::string cache_directory, cache_mode = "rw";
};
// RIFTJIT_CACHE, which stands for --cache-mode where that is not given; "rw" where it is unset. Refuses other words.
Result<std::string> cache_mode_of_environment();
void add_machine_choice(CLI::App& app, const std::string& group, MachineChoice& choice);

// And for every command that runs a model.
struct KernelChoice : MachineChoice {
    std::string passes = "all";
    std::string activations = "i13";
    bool leaves_levels_untried = false;
};
void add_kernel_choice(CLI::App& app, const std::string& group, KernelChoice& choice);

// "60M": at least 1.
uint64_t parse_count(const std::string& flag, const std::string& text, uint64_t high);
uint64_t parse_unsigned(const std::string& flag, const std::string& text);
int64_t parse_integer(const std::string& flag, const std::string& text, int64_t low, int64_t high);
double parse_number(const std::string& flag, const std::string& text, double low, double high);

}  // namespace riftjit::tools
