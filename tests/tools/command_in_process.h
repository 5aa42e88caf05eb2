// Runs one subcommand in this process: what it prints and how it ends.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/cli/command.h"

namespace riftjit::tools {

struct CommandOutcome {
    int exit_code;
    std::string output, errors;
};

// `riftjit NAME ARGUMENTS...`, where `add` is the subcommand's add_..._command.
inline CommandOutcome run_in_process(void (*add)(CLI::App&, Command&), const std::string& name,
                                     const std::vector<std::string>& arguments) {
    CLI::App app("test", "riftjit");
    int exit_code = 0;
    Command chosen;
    add(app, chosen);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 parses from the back
    reversed.push_back(name);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    try {
        app.parse(std::move(reversed));
        if (chosen) exit_code = chosen();
    } catch (const CLI::ParseError& error) {
        exit_code = app.exit(error);
    }
    std::fflush(stdout);
    const std::string output = ::testing::internal::GetCapturedStdout();
    return {exit_code, output, ::testing::internal::GetCapturedStderr()};
}

}  // namespace riftjit::tools
