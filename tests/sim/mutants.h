// Damaged files at length: mutants by a seed, read in processes of their own with 1 GB of memory and 5 s of the
// processor for each. A few hundred of each format in every run of the tests; RIFTJIT_SIM_MUTANTS=20000 asks for as
// many, RIFTJIT_SIM_SEED=N for others.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "host/result.h"

namespace riftjit::sim {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMutantsAreSlow = true;
#else
inline constexpr bool kMutantsAreSlow = false;
#endif

inline size_t number_of_environment(const char* name, size_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::stoul(text);
}
inline size_t mutant_count(size_t of_every_run) { return number_of_environment("RIFTJIT_SIM_MUTANTS", of_every_run); }
// Of one mutant, so that it can be made again by itself.
inline std::mt19937 mutant_random(size_t mutant) {
    return std::mt19937(uint32_t(number_of_environment("RIFTJIT_SIM_SEED", 1) * 1'000'003 + mutant));
}
inline size_t below(size_t limit, std::mt19937& random) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

// Changes a few bytes or bits, cuts, repeats or removes a part, or sets a number to what breaks arithmetic.
inline std::string mutate(std::string bytes, std::mt19937& random) {
    if (bytes.empty()) return bytes;
    switch (below(8, random)) {
        case 0:
            bytes.resize(below(bytes.size(), random));
            break;
        case 1: {
            const size_t start = below(bytes.size(), random);
            bytes.erase(start, 1 + below(64, random));
            break;
        }
        case 2: {
            const size_t start = below(bytes.size(), random);
            bytes.insert(below(bytes.size(), random), bytes.substr(start, 1 + below(64, random)));
            break;
        }
        case 3: {  // a run of one value: sizes and addresses become huge
            const size_t start = below(bytes.size(), random);
            const size_t length = std::min<size_t>(1 + below(8, random), bytes.size() - start);
            bytes.replace(start, length, length, below(2, random) == 0 ? '\xFF' : '\0');
            break;
        }
        case 4: {
            constexpr uint64_t kNumbers[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, uint64_t(1) << 63};
            const uint64_t number = kNumbers[below(std::size(kNumbers), random)];
            const size_t length = size_t(1) << below(4, random), start = below(bytes.size(), random);
            bytes.replace(start, length, reinterpret_cast<const char*>(&number), length);
            break;
        }
        case 5:  // one bit
            bytes[below(bytes.size(), random)] ^= char(1 << below(8, random));
            break;
        default:
            for (size_t i = 0, count = 1 + below(8, random); i < count; ++i)
                bytes[below(bytes.size(), random)] = static_cast<char>(below(256, random));
    }
    return bytes;
}

// The same of a text: also numbers that are too large or none, words from elsewhere in it, and nests of brackets.
inline std::string mutate_text(std::string text, std::mt19937& random) {
    constexpr std::string_view kDigits = "0123456789", kEnds = " \n\"=,[](){}";
    const std::string kNumbers[] = {
        "0",   "-1",  "1e308", "-1e308",   "1e-300", "4294967296",        "18446744073709551616",
        "nan", "inf", "0.5",   "99999999", "\"\"",   "0x7fffffffffffffff"};
    const auto word = [&] {
        const size_t start = text.find_first_not_of(kEnds, below(text.size(), random));
        if (start == std::string::npos) return std::pair<size_t, size_t>(0, 0);
        return std::pair(start, std::min(text.find_first_of(kEnds, start), text.size()) - start);
    };
    if (text.empty()) return text;
    for (size_t i = 0, count = 1 + below(3, random); i < count && !text.empty(); ++i) {
        switch (below(5, random)) {
            case 0: {
                const size_t start = text.find_first_of(kDigits, below(text.size(), random));
                if (start == std::string::npos) break;
                const size_t end = std::min(text.find_first_not_of(kDigits, start), text.size());
                text.replace(start, end - start, kNumbers[below(std::size(kNumbers), random)]);
                break;
            }
            case 1: {
                const auto [from, length] = word();
                const std::string other = text.substr(from, length);
                const auto [to, old] = word();
                text.replace(to, old, other);
                break;
            }
            case 2: {
                constexpr char kBrackets[] = "([{-";
                text.insert(below(text.size(), random), 1 + below(3000, random), kBrackets[below(4, random)]);
                break;
            }
            case 3: {  // a line elsewhere
                const size_t start = text.rfind('\n', below(text.size(), random));
                if (start == std::string::npos) break;
                const size_t length = std::min(text.find('\n', start + 1), text.size()) - start;
                const std::string line = text.substr(start, length);
                if (below(2, random) == 0) text.erase(start, length);
                text.insert(std::min(text.find('\n', below(text.size() + 1, random)), text.size()), line);
                break;
            }
            default:
                text = mutate(std::move(text), random);
        }
    }
    return text;
}

struct MutantTally {
    size_t taken = 0, refused = 0, beyond_limits = 0;  // beyond: refused since they would take too much memory or time
    std::vector<std::string> faults;                   // a signal, a limit, a message of two lines: none
};

// `make(i)` is the mutant i, `read` what a reader makes of it.
inline MutantTally read_mutants(size_t count, const std::function<std::string(size_t)>& make,
                                const std::function<Result<void>(const std::string&)>& read) {
    constexpr size_t kOfOneProcess = 50;
    constexpr rlim_t kMemory = rlim_t(1) << 30;
    constexpr int kSeconds = kMutantsAreSlow ? 40 : 5;
    MutantTally tally;
    for (size_t next = 0; next < count;) {
        int ends[2];
        if (pipe(ends) != 0) break;
        const pid_t process = fork();
        if (process == 0) {
            const rlimit no_core{0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            std::ifstream file("/proc/self/statm");
            rlim_t pages = 0;
            file >> pages;
            const rlimit memory{pages * rlim_t(sysconf(_SC_PAGESIZE)) + kMemory, RLIM_INFINITY};
            if (!kMutantsAreSlow) setrlimit(RLIMIT_AS, &memory);
            for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, SIG_DFL);
            for (size_t i = next; i < std::min(count, next + kOfOneProcess); ++i) {
                const itimerval limit{{0, 0}, {kSeconds, 0}};
                setitimer(ITIMER_PROF, &limit, nullptr);  // SIGPROF
                std::string text;
                try {
                    const Result<void> done = read(make(i));
                    if (!done) text = (done.error().kind == ErrorKind::OutOfMemory ? "m" : "r") + done.error().message;
                } catch (const std::bad_alloc&) {
                    text = "xstd::bad_alloc";
                }
                text += '\0';
                if (write(ends[1], text.data(), text.size()) != ssize_t(text.size())) _exit(1);
            }
            _exit(0);
        }
        close(ends[1]);
        std::string told;
        char buffer[4096];
        for (ssize_t bytes; (bytes = ::read(ends[0], buffer, sizeof buffer)) > 0;) told.append(buffer, size_t(bytes));
        close(ends[0]);
        int status = 0;
        waitpid(process, &status, 0);
        const auto fault = [&](const std::string& what) {
            const std::string kept =
                std::filesystem::temp_directory_path() / fmt::format("riftjit-mutant-{}-{}", getpid(), next);
            std::ofstream(kept, std::ios::binary) << make(next);
            tally.faults.push_back(fmt::format("mutant {}, kept in {}: {}", next, kept, what));
        };
        for (size_t start = 0, end; (end = told.find('\0', start)) != std::string::npos; start = end + 1, ++next) {
            const std::string text = told.substr(start, end - start);
            if (text.empty())
                ++tally.taken;
            else if (text[0] == 'm' || text.find("came to no end") != std::string::npos)
                ++tally.beyond_limits;
            else if (text[0] == 'x')
                fault(text.substr(1));
            else
                ++tally.refused;
            if (text.find('\n') != std::string::npos) fault("two lines: " + text);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        fault(WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                  : fmt::format("exit code {}", WEXITSTATUS(status)));
        ++next;
    }
    return tally;
}

inline void expect_harmless(const MutantTally& tally, size_t count) {
    EXPECT_EQ(tally.taken + tally.refused + tally.beyond_limits + tally.faults.size(), count);
    for (const std::string& fault : tally.faults) ADD_FAILURE() << fault;
    testing::Test::RecordProperty("taken", int(tally.taken));
    fmt::print("{} mutants: {} read, {} refused, {} beyond limits of memory or time, {} faults\n", count, tally.taken,
               tally.refused, tally.beyond_limits, tally.faults.size());
}

}  // namespace riftjit::sim
