// exec_shell_command and get_info.
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "host/child_process.h"
#include "host/utf8.h"
#include "server/tools/tool.h"

namespace riftjit::server {

namespace {

constexpr int64_t kUsualSeconds = 10, kMostSeconds = 60, kMostOutput = 16 << 10;
constexpr std::chrono::milliseconds kLookAtCommand{100};

struct CommandEnd {
    int exit_code = 0;
    bool is_late = false;
};

// What a command writes, as it comes. Behind the limit it is read on, and left out.
class CommandOutput {
public:
    CommandOutput(const ToolCall& call, size_t most) : call_(call), most_(most) {}

    bool is_wanted() const { return is_heard_ && (!call_.is_wanted || call_.is_wanted()); }
    void take(std::string_view bytes) {
        const size_t room = most_ - std::min(most_, taken_);
        taken_ += bytes.size();
        say(characters_.push(bytes.substr(0, room)));
    }
    void finish(const CommandEnd& end) {
        say(replace_invalid(characters_.finish()));
        if (taken_ > most_) say(fmt::format("\n[{} bytes of {} are left out]", taken_ - most_, taken_));
        say(fmt::format("\n[exit code: {}]{}", end.exit_code, end.is_late ? " [exit due to timed out]" : ""));
    }
    std::string text() { return std::move(text_); }

private:
    void say(const std::string& part) {
        if (part.empty()) return;
        if (call_.say)
            is_heard_ = is_heard_ && call_.say(part);
        else
            text_ += part;
    }

    const ToolCall& call_;
    const size_t most_;
    size_t taken_ = 0;
    bool is_heard_ = true;
    Utf8Stream characters_;
    std::string text_;
};

// Until the command ends, though what it left in the background may keep its output open.
CommandEnd follow_command(ChildProcess& child, CommandOutput& output, std::chrono::seconds most) {
    const auto until = std::chrono::steady_clock::now() + most;
    const auto read_all = [&] {
        char piece[16384];
        constexpr int kMostPieces = 4096;  // of one that writes faster than it is read
        for (int i = 0; i < kMostPieces; ++i) {
            const ssize_t count = read(child.output(), piece, sizeof piece);
            if (count <= 0) return count != 0;
            output.take({piece, size_t(count)});
        }
        return true;
    };
    CommandEnd end;
    while (true) {
        pollfd waiting{child.output(), POLLIN, 0};
        poll(&waiting, 1, int(kLookAtCommand.count()));
        const bool has_ended = child.has_ended();
        const bool is_open = read_all();
        if (has_ended || !output.is_wanted()) break;
        end.is_late = std::chrono::steady_clock::now() >= until;
        if (end.is_late) break;
        if (!is_open) child.wait_for_end(kLookAtCommand);  // it closed its output and goes on
    }
    end.exit_code = child.end();
    return end;
}

Outcome<Json> exec_shell_command(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string command = required_text(fields, "command");
    const int64_t seconds = std::min(kMostSeconds, fields.integer("timeout", 1, INT32_MAX).value_or(kUsualSeconds));
    const int64_t most = std::min(kMostOutput, fields.integer("max_output_size", 0, INT32_MAX).value_or(kMostOutput));
    RIFTJIT_ASK_VOID(fields.check());
    if (command.contains('\0')) return refuse(400, "\"command\": has a NUL byte");
    const auto child = ChildProcess::start({.arguments = {"/bin/sh", "-c", command}, .folder = call.folder});
    if (!child) return tool_error(child.error().message);
    CommandOutput output(call, size_t(most));
    output.finish(follow_command(**child, output, std::chrono::seconds(seconds)));
    return Json{{"plain_text_response", output.text()}};
}

Outcome<Json> get_info(const ToolCall& call) {
    utsname names{};
    uname(&names);
    return Json{{"plain_text_response", fmt::format("OS: {} {} {}\nworking directory: {}\n", names.sysname,
                                                    names.release, names.machine, call.folder)}};
}

}  // namespace

std::vector<Tool> system_tools() {
    return {
        {.name = "exec_shell_command",
         .title = "Run a shell command",
         .writes = true,
         .streams = true,
         .description = "Run a command with sh, and return what it writes (stdout and stderr) and its exit code. It "
                        "has no input and no terminal; what it leaves running is killed.",
         .parameters = parameters(
             {{"command", parameter("string", "The command")},
              {"timeout", parameter("integer", fmt::format("Seconds until it is killed, up to {} (default {})",
                                                           kMostSeconds, kUsualSeconds))},
              {"max_output_size",
               parameter("integer", fmt::format("Bytes of its output to return, up to {} (default)", kMostOutput))}},
             {"command"}),
         .run = exec_shell_command},
        {.name = "get_info",
         .title = "About this machine",
         .description = "Tell the operating system and the folder in which relative paths begin.",
         .parameters = parameters(Json::object(), {}),
         .run = get_info}};
}

}  // namespace riftjit::server
