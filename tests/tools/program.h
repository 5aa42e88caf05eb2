// Runs the built program as a user does: arguments, standard input, what it prints and how it ends.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace riftjit::tools {

// Sanitizers slow start-up and templates down; the limits of the release build are what users see.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSanitizerSlowdown = 5;
#else
inline constexpr double kSanitizerSlowdown = 1;
#endif

struct Outcome {
    int exit_code = -1;  // 128 + signal when one ended it
    std::string out, err;
    double cpu_seconds = 0;
};

inline std::string read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class Program {
public:
    Program() : folder_(std::filesystem::temp_directory_path() / ("riftjit-tools-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~Program() { std::filesystem::remove_all(folder_); }

    const std::filesystem::path& folder() const { return folder_; }

    // Starts it; the kernels' cache lies in folder().
    void start(const std::vector<std::string>& arguments, const std::string& input = "", const std::string& out = "") {
        std::ofstream(folder_ / "in", std::ios::binary) << input;
        start_from(folder_ / "in", arguments, out);
    }
    void start_from(const std::filesystem::path& in, const std::vector<std::string>& arguments,
                    const std::string& out = "") {
        in_ = in;
        out_ = out.empty() ? folder_ / "out" : std::filesystem::path(out);
        std::filesystem::remove(folder_ / "out");
        process_ = fork();
        if (process_ == 0) become(arguments);
    }
    void send(int signal) const { kill(process_, signal); }
    // Whether it has a handler for `signal` by now: before, the signal would just end it.
    bool catches(int signal) const {
        std::ifstream status("/proc/" + std::to_string(process_) + "/status");
        for (std::string word; status >> word;)
            if (word == "SigCgt:" && status >> word) return std::stoull(word, nullptr, 16) >> (signal - 1) & 1;
        return false;
    }
    // Until it has computed that long, however busy the machine is, or ended.
    void wait_for_cpu_seconds(double seconds) const {
        clockid_t clock{};
        timespec used{};
        while (clock_getcpuclockid(process_, &clock) == 0 && clock_gettime(clock, &used) == 0 &&
               double(used.tv_sec) + 1e-9 * double(used.tv_nsec) < seconds && !has_ended())
            usleep(10'000);
    }
    Outcome wait_for_end() {
        int status = 0;
        rusage usage{};
        wait4(process_, &status, 0, &usage);
        Outcome outcome;
        outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        outcome.out = out_ == folder_ / "out" ? read_whole(out_) : "";
        outcome.err = read_whole(folder_ / "err");
        const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
        outcome.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        return outcome;
    }
    Outcome run(const std::vector<std::string>& arguments, const std::string& input = "", const std::string& out = "") {
        start(arguments, input, out);
        return wait_for_end();
    }
    // Killed, with exit code 137, once that long a time has passed.
    Outcome run_within(double seconds, const std::vector<std::string>& arguments) {
        start(arguments);
        for (int i = 0; i < int(seconds * 500) && !has_ended(); ++i) usleep(2000);
        if (!has_ended()) send(SIGKILL);
        return wait_for_end();
    }
    Outcome run_from(const std::filesystem::path& in, const std::vector<std::string>& arguments) {
        start_from(in, arguments);
        return wait_for_end();
    }

private:
    bool has_ended() const {
        siginfo_t info{};
        return waitid(P_PID, id_t(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
    }
    [[noreturn]] void become(const std::vector<std::string>& arguments) {
        const auto redirect = [](const std::filesystem::path& path, int flags, int descriptor) {
            dup2(open(path.c_str(), flags, 0600), descriptor);
        };
        redirect(in_, O_RDONLY, STDIN_FILENO);
        redirect(out_, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
        redirect(folder_ / "err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
        setenv("RIFTJIT_CACHE_DIR", (folder_ / "cache").c_str(), 1);
        unsetenv("RIFTJIT_ISA");
        setenv("RIFTJIT_TUNE", "off", 1);  // what is generated and said is the same on any machine
        std::vector<char*> argv{const_cast<char*>(RIFTJIT_BINARY)};
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        execv(RIFTJIT_BINARY, argv.data());
        _exit(127);
    }

    std::filesystem::path folder_, in_, out_;
    pid_t process_ = -1;
};

}  // namespace riftjit::tools
