#include "host/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace riftjit {

namespace {

struct PipeEnds {
    FileDescriptor ours, theirs;
};

enum class Direction : uint8_t { to_child, from_child };

Result<PipeEnds> make_pipe(Direction direction) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::Io, "pipe: {}", std::strerror(errno));
    for (int& end : ends) {  // where a standard stream is closed, an end must not lie in its place
        if (end > STDERR_FILENO) continue;
        const int higher = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(std::exchange(end, higher));
    }
    PipeEnds pipe{FileDescriptor(ends[direction == Direction::to_child ? 1 : 0]),
                  FileDescriptor(ends[direction == Direction::to_child ? 0 : 1])};
    fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
    return pipe;
}

// What posix_spawn takes, freed.
struct SpawnActions {
    SpawnActions() { posix_spawn_file_actions_init(&files), posix_spawnattr_init(&attributes); }
    ~SpawnActions() { posix_spawn_file_actions_destroy(&files), posix_spawnattr_destroy(&attributes); }
    SpawnActions(const SpawnActions&) = delete;

    void lead_session() {
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }

    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
};

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view line = *entry;
        const bool is_changed = std::ranges::any_of(changes, [&](const auto& change) {
            return line.size() > change.first.size() && line.starts_with(change.first) &&
                   line[change.first.size()] == '=';
        });
        if (!is_changed) merged.emplace_back(line);
    }
    for (const auto& [name, value] : changes) merged.push_back(name + "=" + value);
    return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Field 6 of /proc/PID/stat, counted behind the name, which may hold anything (proc(5)); -1: gone, or a zombie.
pid_t session_of(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(") ");
    if (name_end == line.npos || line.size() < name_end + 3 || line[name_end + 2] == 'Z') return -1;
    const char* at = line.data() + name_end + 3;
    const char* const end = line.data() + line.size();
    pid_t value = -1;
    for (int field = 0; field < 3; ++field) {  // parent, group, session
        while (at != end && *at == ' ') ++at;
        const auto read = std::from_chars(at, end, value);
        if (read.ec != std::errc()) return -1;
        at = read.ptr;
    }
    return value;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const ChildOptions& options) {
    check(!options.arguments.empty(), "a program has a name");
    auto child = std::unique_ptr<ChildProcess>(new ChildProcess);
    RIFTJIT_TRY(output, make_pipe(Direction::from_child));
    PipeEnds input, errors;
    SpawnActions actions;
    actions.lead_session();
    if (options.input == ChildInput::pipe) {
        RIFTJIT_TRY(made, make_pipe(Direction::to_child));
        input = std::move(made);
        posix_spawn_file_actions_adddup2(&actions.files, input.theirs.get(), STDIN_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (options.errors == ChildErrors::pipe) {
        RIFTJIT_TRY(made, make_pipe(Direction::from_child));
        errors = std::move(made);
    }
    const FileDescriptor& told = errors.theirs ? errors.theirs : output.theirs;
    posix_spawn_file_actions_adddup2(&actions.files, told.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions.files, output.theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions.files, STDERR_FILENO + 1);
    if (!options.folder.empty()) {
        std::error_code error;
        if (!std::filesystem::is_directory(options.folder, error))
            return fail(ErrorKind::Io, "there is no folder {}", options.folder);
        posix_spawn_file_actions_addchdir_np(&actions.files, options.folder.c_str());
    }
    auto arguments = options.arguments, environment = merged_environment(options.environment);
    const auto argument_pointers = pointers_to(arguments), environment_pointers = pointers_to(environment);
    const int error = posix_spawnp(&child->id_, arguments[0].c_str(), &actions.files, &actions.attributes,
                                   argument_pointers.data(), environment_pointers.data());
    if (error != 0) return fail(ErrorKind::Io, "{}: {}", options.arguments[0], std::strerror(error));
    child->is_over_ = false;
    child->input_ = std::move(input.ours);
    child->output_ = std::move(output.ours);
    child->errors_ = std::move(errors.ours);
    return child;
}

bool ChildProcess::has_ended() const {
    const std::lock_guard lock(mutex_);
    return is_over_ || has_ended_now();
}

// WNOWAIT leaves the zombie, so that its number stays its own until end() has killed by it.
bool ChildProcess::has_ended_now() const {
    siginfo_t info{};
    return waitid(P_PID, id_t(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

bool ChildProcess::wait_for_end(std::chrono::milliseconds most) const {
    const auto until = std::chrono::steady_clock::now() + most;
    while (!has_ended()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

void ChildProcess::ask_to_end() const {
    const std::lock_guard lock(mutex_);
    if (!is_over_) kill(-id_, SIGTERM);
}

// The group first; then those that made groups of their own, as shells do for jobs, as often as new ones are found.
void ChildProcess::kill_session() const {
    constexpr int kMostRounds = 20;
    kill(-id_, SIGKILL);
    for (int round = 0; round < kMostRounds; ++round) {
        bool has_found = false;
        std::error_code error;
        for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
            const std::string name = it->path().filename().string();
            if (name[0] < '0' || name[0] > '9' || session_of(name) != id_) continue;
            has_found = true;
            kill(pid_t(std::stol(name)), SIGKILL);
        }
        if (!has_found) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int ChildProcess::end() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_over_, true)) return exit_code_;
    constexpr int kMostWaits = 2000;  // ms; a process that the kernel does not let die is left to it
    kill_session();
    int status = 0;
    for (int i = 0; i < kMostWaits; ++i) {
        const pid_t found = waitpid(id_, &status, WNOHANG);
        if (found == id_) return exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (found < 0 && errno != EINTR) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return exit_code_;
}

ssize_t write_to_pipe(int pipe, std::string_view bytes) {
    sigset_t broken, before, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    const ssize_t count = write(pipe, bytes.data(), bytes.size());
    const int error = errno;
    if (count < 0 && error == EPIPE && !was_pending) {
        const timespec now{};
        while (sigtimedwait(&broken, nullptr, &now) < 0 && errno == EINTR) continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return count;
}

std::string told_exit(int exit_code) {
    return exit_code > 128 ? fmt::format("signal {}", exit_code - 128) : fmt::format("exit code {}", exit_code);
}

}  // namespace riftjit
