#include "tools/run/message_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

constexpr std::string_view kBlock = "\"\"\"";
// What a terminal passes on of a line, without its end, before it drops the rest (N_TTY_BUF_SIZE of the Linux kernel).
constexpr size_t kTerminalLineBytes = 4095;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// RIFTJIT_HISTORY (a file, or "off"), $XDG_STATE_HOME/riftjit/history, ~/.local/state/riftjit/history; empty: none.
std::string history_file() {
    const std::string given = environment("RIFTJIT_HISTORY"), state = environment("XDG_STATE_HOME"),
                      home = environment("HOME");
    if (given == "off") return {};
    if (!given.empty()) return given;
    std::filesystem::path folder;
    if (state.starts_with('/'))
        folder = state;
    else if (home.starts_with('/'))
        folder = std::filesystem::path(home) / ".local/state";
    else
        return {};
    folder /= "riftjit";
    std::error_code error;
    std::filesystem::create_directories(folder.parent_path(), error);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return {};
    return folder / "history";
}

// Names of files that a word may go on to.
std::vector<std::string> files_like(const std::string& word) {
    const size_t slash = word.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : word.substr(0, slash + 1);
    const std::string begin = word.substr(folder.size());
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(begin) || (begin.empty() && name.starts_with('.'))) continue;
        found.push_back(folder + name + (entry.is_directory(error) ? "/" : ""));
        if (found.size() == 200) break;
    }
    std::ranges::sort(found);
    return found;
}

// False when Ctrl-C came first. Short waits, as it may come in the moment before one and on any thread.
bool wait_for_line() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (pending_interrupt() == Interrupt::none) {
        if (poll(&input, 1, /*timeout in ms=*/100) > 0) return true;
    }
    return false;
}

}  // namespace

MessageInput::MessageInput(std::vector<std::string> commands, Warn warn)
    : commands_(std::move(commands)), warn_(std::move(warn)), is_terminal_(isatty(STDIN_FILENO) != 0) {}

// Without one the terminal's own editing has to do: a dumb terminal, or no module.
void MessageInput::open_editor() {
    const std::string terminal = environment("TERM");
    if (terminal.empty() || terminal == "dumb" || isatty(STDERR_FILENO) == 0) return;
    LineEditorOptions options;
    options.output = STDERR_FILENO;
    options.history_file = history_file();
    options.is_interrupted = [] { return pending_interrupt() != Interrupt::none; };
    options.completions = [this](std::string_view before) -> std::vector<std::string> {
        if (!before.starts_with('/')) return {};
        if (const size_t space = before.find(' '); space != std::string_view::npos)
            return files_like(std::string(before.substr(space + 1)));
        std::vector<std::string> found;
        for (const std::string& command : commands_)
            if (command.starts_with(before)) found.push_back(command);
        return found;
    };
    auto editor = open_line_editor(std::move(options));
    if (editor) editor_ = std::move(*editor);
}

Result<MessageInput::Line> MessageInput::read_line(const std::string& prompt, const std::string& initial) {
    if (!std::exchange(has_asked_, true)) open_editor();
    if (editor_) {
        LineEditor::Line line = editor_->read(prompt, initial);
        return Line{std::move(line.text), line.end != LineEditor::Line::End::entered};
    }
    write_diagnostic(prompt);
    Line line;
    line.has_ended = !wait_for_line() || !std::getline(std::cin, line.text);
    if (line.text.size() >= kTerminalLineBytes)
        RIFTJIT_TRY_VOID(
            warn_(fmt::format("the terminal passes on {} bytes of a line, so its end may be missing; -f FILE takes all",
                              kTerminalLineBytes)));
    return line;
}

Result<std::optional<std::string>> MessageInput::read(const std::string& initial) {
    if (!is_terminal_) {
        RIFTJIT_TRY(text, read_standard_input());
        return text.empty() ? std::nullopt : std::optional(std::move(text));
    }
    write_diagnostic("\n");
    RIFTJIT_TRY(line, read_line("> ", initial));
    if (line.has_ended) return std::nullopt;
    std::string message = std::move(line.text);
    const bool is_block = message.starts_with(kBlock);
    if (is_block) message.erase(0, kBlock.size());
    while (is_block ? !message.ends_with(kBlock) : message.ends_with('\\')) {
        RIFTJIT_TRY(next, read_line(". ", {}));
        if (next.has_ended) return std::nullopt;
        if (!is_block) message.pop_back();
        message += "\n" + next.text;
    }
    if (is_block) {
        message.resize(message.size() - kBlock.size());
        if (message.starts_with('\n')) message.erase(0, 1);
        if (message.ends_with('\n')) message.pop_back();
    }
    return message;
}

}  // namespace riftjit::tools
