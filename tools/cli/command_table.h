// What the command line offers, read from CLI11's tree, for shell completion and the man page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace riftjit::tools {

struct CommandEntry {
    struct Flag {
        std::vector<std::string> names;   // with their dashes, shortest first
        std::string value;                // "N", "FILE"; empty: takes none
        std::vector<std::string> values;  // the only ones allowed, if there is such a list
        bool takes_list = false;          // several of them, with commas between
        std::string help, initial, group;

        bool takes_file() const { return value.starts_with("FILE") || value == "DIR"; }
    };
    std::string name = {};  // "cache stat"; empty: the program itself
    std::string help = {}, footer = {};
    std::vector<Flag> flags = {};
    std::vector<std::string> subcommands = {};
    bool takes_kernel = false;  // behind a code object, which knows the names
    // What may stand without a flag: one of these words, or a file of this ending.
    std::vector<std::string> operands = {};
    std::string operand_ending = {};
};

// The program first, then its commands in order, each before its own.
std::vector<CommandEntry> command_table(const CLI::App& app);

}  // namespace riftjit::tools
