// What becomes of a run when its streams, its limits or its terminal do not play along.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>

#include <chrono>
#include <thread>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace run_streams_test {

// Exit code of a script of bash in which $riftjit is the program.
int bash(const Program& program, const std::string& script) {
    const std::string path = program.folder() / "script.sh";
    std::ofstream(path) << "export RIFTJIT_CACHE_DIR=" << (program.folder() / "cache").string() << "\ncd "
                        << program.folder().string() << "\nriftjit=" << RIFTJIT_BINARY << "\n"
                        << script << "\n";
    const int status = std::system(("bash " + path).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Streams, AreNotMissedWhereOnlyDiagnosticsAreLost) {
    const Program program;
    EXPECT_EQ(bash(program, "$riftjit run -m /nonexistent 2> /dev/full"), 1);
    EXPECT_EQ(bash(program, "$riftjit inspect /nonexistent 2> /dev/full"), 1);
    EXPECT_EQ(bash(program, "$riftjit run -ngl 9 -v --prompt-ids 1,2 -n 1 --json > answer 2> /dev/full"), 0);
    EXPECT_NE(read_whole(program.folder() / "answer").find("\"stop_reason\""), std::string::npos);
}

TEST(Streams, TurnALimitOnFilesIntoAnError) {
    const Program program;
    EXPECT_EQ(
        bash(program, "(ulimit -f 1; exec $riftjit run --prompt-ids 1,2 --cache-mode off --dump-logits file 2> err)"),
        1);
    EXPECT_EQ(read_whole(program.folder() / "err"), "error: file: File too large\n");
    EXPECT_EQ(bash(program, "(ulimit -f 1; exec $riftjit inspect > file 2> err)"), 1);
    EXPECT_EQ(read_whole(program.folder() / "err"), "error: standard output: File too large\n");
    // Neither a kernel nor the warning about it can be written.
    EXPECT_EQ(bash(program, "(ulimit -f 0; exec $riftjit run --prompt-ids 1,2 -n 1 > /dev/null 2> err)"), 0);
}

TEST(Streams, KeepStdoutEmptyWhenARawPromptIsTooLong) {
    Program program;
    const Outcome outcome = program.run({"run", "-no-cnv", "-p", "Once upon a time", "-c", "2"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("context_length_exceeded"), std::string::npos) << outcome.err;
}

TEST(Memory, WhoseEndIsOneLine) {
    if (kSanitizerSlowdown > 1) GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
    const Program program;
    EXPECT_EQ(bash(program, "(ulimit -v 300000; exec $riftjit disasm - < /dev/zero 2> err)"), 1);
    EXPECT_EQ(read_whole(program.folder() / "err"), "error: out of memory\n");
}

TEST(Warming, FailsWhenKernelsCannotBeKept) {
    const Program program;
    EXPECT_EQ(bash(program,
                   "(ulimit -f 0; $riftjit warm 2>&1; echo \"exit $?\") | tail -n 2 | tee >(cat >&2) | "
                   "grep -q 'exit 1'"),
              0);
}

TEST(Interrupt, EndsTheDumpOfALongPrompt) {
    Program program;
    std::string ids = "1";
    for (int i = 0; i < 30000; ++i) ids += ",2";
    const std::string file = program.folder() / "logits.npy";
    program.start({"run", "--prompt-ids", ids, "-c", "40000", "--dump-logits", file, "--log-disable"});
    const auto began = [&] {  // under a name that nobody asked for
        for (const auto& entry : std::filesystem::directory_iterator(program.folder()))
            if (entry.path().string().starts_with(file) && entry.file_size() > 0) return true;
        return false;
    };
    for (int i = 0; i < 1000 && !began(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.send(SIGINT);
    const Outcome outcome = program.wait_for_end();
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_NE(outcome.err.find("of 30001 positions; " + file + " is not written"), std::string::npos) << outcome.err;
    EXPECT_FALSE(began());
}

// A conversation at a terminal.
class Terminal {
public:
    Terminal(const Program& program, const char* type) {
        process_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
        if (process_ != 0) return;
        setenv("RIFTJIT_CACHE_DIR", (program.folder() / "cache").c_str(), 1);
        setenv("RIFTJIT_HISTORY", "off", 1);
        setenv("TERM", type, 1);
        execl(RIFTJIT_BINARY, RIFTJIT_BINARY, "run", "-n", "2", "--temp", "0", "--no-perf", nullptr);
        _exit(127);
    }
    ~Terminal() { close(terminal_); }

    // With line editing the prompt stands behind what asks for pastes as such.
    void wait_for_prompt() {
        const auto is_asked = [&] { return seen_.ends_with("\n> ") || seen_.ends_with("\x1b[?2004h> "); };
        seen_.clear();
        pollfd ready{terminal_, POLLIN, 0};
        char byte = 0;
        while (!is_asked() && poll(&ready, 1, 20'000) == 1 && read(terminal_, &byte, 1) == 1) seen_ += byte;
        EXPECT_TRUE(is_asked()) << seen_;
    }
    void type(std::string_view text) const {
        EXPECT_EQ(write(terminal_, text.data(), text.size()), ssize_t(text.size()));
    }
    int exit_code() const {
        int status = 0;
        waitpid(process_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    std::string seen_;
    int terminal_ = -1;
    pid_t process_ = -1;
};

TEST(Conversation, EndsAtExitEndOfInputAndCtrlC) {
    const Program program;
    for (const char* type : {"dumb", "xterm"}) {
        for (const auto& [typed, code] : {std::pair("/exit\n", 0), {"\x04", 0}, {"\x03", 130}}) {
            Terminal terminal(program, type);
            terminal.wait_for_prompt();
            terminal.type("hello\n");
            terminal.wait_for_prompt();
            terminal.type(typed);
            EXPECT_EQ(terminal.exit_code(), code) << type << typed;
        }
    }
}

}  // namespace run_streams_test
}  // namespace riftjit::tools
