// Options whose refusals name the flag, the value given and the values allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace riftjit::tools {

// Each parses and checks while the command line is read, and throws CLI::ValidationError with the whole message.
CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& target, int64_t low, int64_t high,
                         const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& names, double& target, double low, double high,
                        const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& target, std::vector<std::string> allowed,
                        const std::string& help);

int64_t parse_integer(const std::string& flag, const std::string& text, int64_t low, int64_t high);
double parse_number(const std::string& flag, const std::string& text, double low, double high);

}  // namespace riftjit::tools
