// Options whose refusals name the flag, the value given and the values allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "jit/isa.h"

namespace riftjit::tools {

// Each parses and checks while the command line is read, and throws CLI::ValidationError with the whole message.
CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& target, int64_t low, int64_t high,
                         const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& names, double& target, double low, double high,
                        const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& target, std::vector<std::string> allowed,
                        const std::string& help);

// How kernels are chosen and kept, the same for every command that runs a model.
struct KernelChoice {
    std::optional<Isa> max_isa;
    std::string cache_directory, cache_mode = "rw", passes = "all";
};
void add_kernel_choice(CLI::App& app, const std::string& group, KernelChoice& choice);

int64_t parse_integer(const std::string& flag, const std::string& text, int64_t low, int64_t high);
double parse_number(const std::string& flag, const std::string& text, double low, double high);

}  // namespace riftjit::tools
