// Programs that run beside this one: what they get, what is read of them, and that nothing of them stays.
#include "host/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/host/scratch.h"

namespace riftjit {
namespace child_process_test {

std::unique_ptr<ChildProcess> started(ChildOptions options) {
    auto child = ChildProcess::start(options);
    if (!child) ADD_FAILURE() << child.error().message;
    return child ? std::move(*child) : nullptr;
}

std::unique_ptr<ChildProcess> shell(const std::string& script, ChildInput input = ChildInput::nothing) {
    return started({.arguments = {"sh", "-c", script}, .folder = "", .environment = {}, .input = input});
}

// Until the pipe's end.
std::string all_of(int pipe) {
    std::string text;
    char piece[4096];
    for (int i = 0; i < 5000; ++i) {
        const ssize_t count = read(pipe, piece, sizeof piece);
        if (count == 0) return text;
        if (count > 0) text.append(piece, size_t(count));
        if (count < 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "no end of the pipe: " << text;
    return text;
}

// Its first line; the pipe may stay open.
std::string line_of(int pipe) {
    std::string text;
    for (int i = 0; i < 5000 && !text.ends_with('\n'); ++i) {
        char byte;
        if (read(pipe, &byte, 1) == 1)
            text += byte;
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return text;
}

bool is_running(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(") ");
    return name_end != line.npos && line[name_end + 2] != 'Z';
}

TEST(ChildProcess, IsReadAndTellsItsExitCode) {
    const auto child = shell("echo out; echo err >&2; exit 3");
    EXPECT_EQ(all_of(child->output()), "out\nerr\n");
    EXPECT_EQ(child->input(), -1);
    EXPECT_TRUE(child->wait_for_end(std::chrono::seconds(10)));
    EXPECT_EQ(child->end(), 3);
    EXPECT_EQ(child->end(), 3) << "again";
    EXPECT_EQ(waitpid(child->id(), nullptr, WNOHANG), -1) << "no zombie is left";
    EXPECT_EQ(told_exit(3), "exit code 3");
    EXPECT_EQ(told_exit(137), "signal 9");
}

TEST(ChildProcess, HasErrorsApartAndItsInputFromAPipe) {
    const auto child = started({.arguments = {"sh", "-c", "cat; echo err >&2"},
                                .folder = "",
                                .environment = {},
                                .input = ChildInput::pipe,
                                .errors = ChildErrors::pipe});
    EXPECT_EQ(write_to_pipe(child->input(), "given"), 5);
    EXPECT_FALSE(child->has_ended());
    child->close_input();
    EXPECT_EQ(all_of(child->output()), "given");
    EXPECT_EQ(all_of(child->errors()), "err\n");
}

TEST(ChildProcess, RunsInItsFolderWithItsVariables) {
    const Scratch scratch;
    ASSERT_EQ(setenv("RIFTJIT_TEST_KEPT", "kept", 1), 0);
    ASSERT_EQ(setenv("RIFTJIT_TEST_CHANGED", "before", 1), 0);
    const auto child = started(
        {.arguments = {"sh", "-c", "pwd; echo $RIFTJIT_TEST_KEPT $RIFTJIT_TEST_CHANGED; env | grep -c TEST_CHANGED"},
         .folder = scratch.directory().string(),
         .environment = {{"RIFTJIT_TEST_CHANGED", "after"}}});
    EXPECT_EQ(all_of(child->output()), std::filesystem::canonical(scratch.directory()).string() + "\nkept after\n1\n");
}

TEST(ChildProcess, GetsNoOtherDescriptorAndNoTerminal) {
    const FileDescriptor open_to_children(open("/dev/null", O_RDONLY));
    ASSERT_GE(fcntl(open_to_children.get(), F_SETFD, 0), 0);  // not closed by exec()
    const auto child = shell("cd /proc/self/fd && echo *; ps -o sid= -p $$ 2>/dev/null || cut -d' ' -f6 /proc/$$/stat");
    std::istringstream lines(all_of(child->output()));
    std::string descriptors, session;
    std::getline(lines, descriptors);
    lines >> session;
    // The shell opens the folder to list it, and so may have one more.
    EXPECT_EQ(descriptors.substr(0, 5), "0 1 2") << descriptors;
    EXPECT_LE(descriptors.size(), 7u) << descriptors;
    EXPECT_EQ(session, std::to_string(child->id()));
}

TEST(ChildProcess, HasTheDefaultActionsOfSignals) {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    const auto piped = shell("kill -PIPE $$; echo still here"), ended = shell("kill -TERM $$; echo still here");
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    std::signal(SIGPIPE, before);
    EXPECT_EQ(all_of(piped->output()), "");
    EXPECT_EQ(all_of(ended->output()), "");
    ASSERT_TRUE(piped->wait_for_end(std::chrono::seconds(10)) && ended->wait_for_end(std::chrono::seconds(10)));
    EXPECT_EQ(piped->end(), 128 + SIGPIPE);
    EXPECT_EQ(ended->end(), 128 + SIGTERM);
}

TEST(ChildProcess, TakesWhatItStartedAlongThoughThatHasAGroupOfItsOwn) {
    auto child = started({.arguments = {"python3", "-c",
                                        "import os, subprocess, time\n"
                                        "kept = subprocess.Popen(['sleep', '1000'])\n"
                                        "own = subprocess.Popen(['sleep', '1000'], preexec_fn=os.setpgrp)\n"
                                        "print(kept.pid, own.pid, flush=True)\n"
                                        "time.sleep(1000)"}});
    std::istringstream words(line_of(child->output()));
    pid_t same_group = 0, own_group = 0;
    words >> same_group >> own_group;
    ASSERT_GT(own_group, 0);
    EXPECT_EQ(getpgid(own_group), own_group);
    EXPECT_TRUE(is_running(same_group) && is_running(own_group));
    child = nullptr;
    for (int i = 0; i < 1000 && (is_running(same_group) || is_running(own_group)); ++i) usleep(2000);
    EXPECT_FALSE(is_running(same_group));
    EXPECT_FALSE(is_running(own_group));
}

TEST(ChildProcess, ThatCannotBeStartedIsNamed) {
    const auto error_of = [](ChildOptions options) {
        const auto child = ChildProcess::start(options);
        return child ? std::string("it was started") : child.error().message;
    };
    EXPECT_EQ(error_of({.arguments = {"no-program-of-this-name"}}),
              "no-program-of-this-name: No such file or directory");
    EXPECT_EQ(error_of({.arguments = {"/"}}), "/: Permission denied");
    EXPECT_EQ(error_of({.arguments = {"true"}, .folder = "/no/folder"}), "there is no folder /no/folder");
    EXPECT_EQ(error_of({.arguments = {"true"}, .folder = "/dev/null"}), "there is no folder /dev/null");
}

TEST(ChildProcess, ThatIsGoneIsWrittenToWithoutASignal) {
    ASSERT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);
    const auto child = shell("exit 0", ChildInput::pipe);
    ASSERT_TRUE(child->wait_for_end(std::chrono::seconds(10)));
    errno = 0;
    EXPECT_EQ(write_to_pipe(child->input(), "nobody reads"), -1);
    EXPECT_EQ(errno, EPIPE);
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(ChildProcess, IsAskedToEndBeforeItIsKilled) {
    const auto child = shell("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    EXPECT_EQ(line_of(child->output()), "ready\n");
    child->ask_to_end();
    ASSERT_TRUE(child->wait_for_end(std::chrono::seconds(10)));
    EXPECT_EQ(child->end(), 7);
}

}  // namespace child_process_test
}  // namespace riftjit
