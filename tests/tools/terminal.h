// Runs the built program on a terminal of its own: what a user sees there.
#pragma once

#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace riftjit::tools {

struct TerminalOutcome {
    int exit_code = -1;
    std::string shown;  // standard output and error, with what moves the cursor
};

// Whenever the program shows its prompt, "> ", at the start of a line, the next of `lines` is typed, and at last the
// end of input. The terminal is one that cannot move its cursor, unless its type says otherwise.
inline TerminalOutcome run_on_terminal(const std::vector<std::string>& arguments, unsigned short columns,
                                       std::vector<std::string> lines = {}, const char* terminal_type = "dumb") {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int terminal = -1;
    const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
    if (process == 0) {
        // As terminal programs set it up: erasing takes a whole UTF-8 character.
        termios modes{};
        tcgetattr(STDIN_FILENO, &modes);
        modes.c_iflag |= IUTF8;
        tcsetattr(STDIN_FILENO, TCSANOW, &modes);
        std::vector<char*> argv{const_cast<char*>(RIFTJIT_BINARY)};
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        setenv("TERM", terminal_type, 1);
        setenv("RIFTJIT_HISTORY", "off", 0);
        alarm(60);  // a prompt that is never met ends the test
        execv(RIFTJIT_BINARY, argv.data());
        _exit(127);
    }
    TerminalOutcome outcome;
    char bytes[4096];
    size_t looked_at = 0;
    for (ssize_t count = 0; (count = read(terminal, bytes, sizeof bytes)) > 0;) {
        outcome.shown.append(bytes, static_cast<size_t>(count));
        const std::string news = outcome.shown.substr(looked_at);
        // The second: of a message that goes on; the third: of a line editor, which has asked for pastes as such.
        if (!news.ends_with("\n> ") && !news.ends_with("\n. ") && !news.contains("\x1b[?2004h> ")) continue;
        looked_at = outcome.shown.size();
        std::string typed = "\x04";
        if (!lines.empty()) {
            typed = lines.front() + "\n";
            lines.erase(lines.begin());
        }
        for (size_t sent = 0; sent < typed.size();) {
            const ssize_t taken = write(terminal, typed.data() + sent, typed.size() - sent);
            if (taken <= 0) break;
            sent += static_cast<size_t>(taken);
        }
    }
    int status = 0;
    waitpid(process, &status, 0);
    close(terminal);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

}  // namespace riftjit::tools
