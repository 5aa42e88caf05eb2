// Runs the built program on a terminal of its own: what a user sees there.
#pragma once

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace riftjit::tools {

struct TerminalOutcome {
    int exit_code = -1;
    std::string shown;  // standard output and error, with what moves the cursor
};

inline TerminalOutcome run_on_terminal(const std::vector<std::string>& arguments, unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int terminal = -1;
    const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
    if (process == 0) {
        std::vector<char*> argv{const_cast<char*>(RIFTJIT_BINARY)};
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        execv(RIFTJIT_BINARY, argv.data());
        _exit(127);
    }
    TerminalOutcome outcome;
    char bytes[4096];
    for (ssize_t count = 0; (count = read(terminal, bytes, sizeof bytes)) > 0;)
        outcome.shown.append(bytes, static_cast<size_t>(count));
    int status = 0;
    waitpid(process, &status, 0);
    close(terminal);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

}  // namespace riftjit::tools
