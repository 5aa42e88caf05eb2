// Files changed at random, read by a process with little memory and little time: none may end it or come to its limits,
// nor to those that a reader sets itself.
//
// RIFTJIT_MUTANTS=20000 asks for more of each format than what every day can afford, RIFTJIT_MUTANTS_FROM=N for others:
// the mutant of a number is always the same, and one that does harm is left in a file.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::mutants {

// Sanitizers reserve far more address space than any limit, and take several times the time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
inline constexpr uint64_t kMemoryBytes = 1'000'000'000;  // beside what the process has already
inline constexpr int kSeconds = kIsSanitized ? 40 : 5;   // of the processor: a busy machine fails none
inline constexpr uint64_t kEveryDay = 300;

inline uint64_t asked(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

using Random = std::mt19937_64;
inline size_t below(Random& random, size_t bound) { return bound == 0 ? 0 : random() % bound; }

// One to four changes: of bits, bytes and integers, and of pieces that are lost, doubled, or come from elsewhere.
inline std::string changed(std::string file, Random& random) {
    static constexpr std::array<uint64_t, 16> kInteresting = {0,          1,
                                                              7,          0x7F,
                                                              0x80,       0xFF,
                                                              0xFFFF,     0x7FFFFFFF,
                                                              1ULL << 31, (1ULL << 32) - 1,
                                                              1ULL << 32, 1ULL << 40,
                                                              1ULL << 62, (1ULL << 63) - 1,
                                                              1ULL << 63, ~0ULL};
    for (size_t edits = 1 + below(random, 4); edits > 0; --edits) {
        // Formats say what they hold at their beginnings.
        const size_t reach = below(random, 3) == 0 ? file.size() : std::min<size_t>(file.size(), 1 + file.size() / 8);
        const size_t at = below(random, reach);
        const size_t length = std::min(1 + below(random, 24), file.size() - at);
        switch (below(random, 9)) {
            case 0:
                if (at < file.size()) file[at] = static_cast<char>(file[at] ^ (1 << below(random, 8)));
                break;
            case 1:
                if (at < file.size()) file[at] = static_cast<char>(random());
                break;
            case 2:
            case 3:
                for (const size_t bytes = size_t(1) << below(random, 4); at + bytes <= file.size();) {
                    const uint64_t value = kInteresting[below(random, kInteresting.size())];
                    std::memcpy(file.data() + at, &value, bytes);
                    break;
                }
                break;
            case 4:
                if (at + sizeof(uint32_t) <= file.size()) {
                    uint32_t value = 0;
                    std::memcpy(&value, file.data() + at, sizeof value);
                    value += static_cast<uint32_t>(below(random, 33)) - 16;
                    std::memcpy(file.data() + at, &value, sizeof value);
                }
                break;
            case 5:
                file.erase(at, length);
                break;
            case 6:
                file.insert(below(random, file.size() + 1), file.substr(at, length));
                break;
            case 7:
                if (at < file.size()) file.replace(below(random, file.size()), length, file.substr(at, length));
                break;
            default:
                if (below(random, 6) == 0) file.resize(below(random, file.size() + 1));
        }
    }
    return file;
}

// The same of a text: also numbers that are too large or none, words from elsewhere in it, and nests of brackets.
inline std::string changed_text(std::string text, Random& random) {
    constexpr std::string_view kDigits = "0123456789", kEnds = " \n\"=,[](){}";
    const std::string kNumbers[] = {
        "0",   "-1",  "1e308", "-1e308",   "1e-300", "4294967296",        "18446744073709551616",
        "nan", "inf", "0.5",   "99999999", "\"\"",   "0x7fffffffffffffff"};
    const auto word = [&] {
        const size_t start = text.find_first_not_of(kEnds, below(random, text.size()));
        if (start == std::string::npos) return std::pair<size_t, size_t>(0, 0);
        return std::pair(start, std::min(text.find_first_of(kEnds, start), text.size()) - start);
    };
    if (text.empty()) return text;
    for (size_t i = 0, count = 1 + below(random, 3); i < count && !text.empty(); ++i) {
        switch (below(random, 5)) {
            case 0: {
                const size_t start = text.find_first_of(kDigits, below(random, text.size()));
                if (start == std::string::npos) break;
                const size_t end = std::min(text.find_first_not_of(kDigits, start), text.size());
                text.replace(start, end - start, kNumbers[below(random, std::size(kNumbers))]);
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
                text.insert(below(random, text.size()), 1 + below(random, 3000), kBrackets[below(random, 4)]);
                break;
            }
            case 3: {  // a line elsewhere
                const size_t start = text.rfind('\n', below(random, text.size()));
                if (start == std::string::npos) break;
                const size_t length = std::min(text.find('\n', start + 1), text.size()) - start;
                const std::string line = text.substr(start, length);
                if (below(random, 2) == 0) text.erase(start, length);
                text.insert(std::min(text.find('\n', below(random, text.size() + 1)), text.size()), line);
                break;
            }
            default:
                text = changed(std::move(text), random);
        }
    }
    return text;
}

// What a reader made of a file.
struct Outcome {
    std::string refusal;         // "": it was taken
    bool is_at_a_limit = false;  // of the reader's own, which is a net: what ought to be refused before it is harm
};
template <class T>
Outcome outcome_of(const Result<T>& read) {
    if (read) return {};
    return {read.error().message, read.error().kind == ErrorKind::OutOfMemory};
}

// What the reading process tells the one that waits for it, in memory that both see.
struct Progress {
    uint64_t number;  // of the mutant being read
    uint64_t refused, accepted;
    uint64_t slowest, slowest_us, largest_bytes;  // largest: of the processes that read, beyond where they began
    char harm[1000];                              // of that mutant, where it is no signal
};

class Campaign {
public:
    // Whatever it returns, it must return.
    using Read = std::function<Outcome(const std::string& file)>;
    using Make = std::function<std::string(uint64_t number, Random& random)>;
    // Changes a changed file further: makes its checksums right again, so that what they protect is reached.
    using Mend = std::function<void(std::string& file, const std::string& seed, Random& random)>;

    Campaign(std::string format, Make make, Read read)
        : format_(std::move(format)), make_(std::move(make)), read_(std::move(read)) {
        void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        progress_ = new (memory) Progress{};
    }
    Campaign(std::string format, std::vector<std::string> seeds, Read read, Mend mend = {})
        : Campaign(
              std::move(format),
              [seeds = std::move(seeds), mend = std::move(mend)](uint64_t number, Random& random) {
                  const std::string& seed = seeds[number % seeds.size()];
                  std::string file = changed(seed, random);
                  if (mend) mend(file, seed, random);
                  return file;
              },
              std::move(read)) {}
    ~Campaign() { munmap(progress_, sizeof(Progress)); }
    Campaign(const Campaign&) = delete;
    Campaign& operator=(const Campaign&) = delete;

    // Both outcomes are common where whole files are taken, or the seeds are of no use.
    enum class Whole : uint8_t { taken, refused };
    void run(uint64_t every_day = kEveryDay, Whole whole = Whole::taken) {
        const uint64_t first = asked("RIFTJIT_MUTANTS_FROM", 0), end = first + asked("RIFTJIT_MUTANTS", every_day);
        for (uint64_t next = first; next < end && harmful_ < kMostTold; next = progress_->number + 1) {
            std::fflush(nullptr);
            const pid_t reader = fork();
            if (reader == 0) read_from(next, std::min(end, next + kOfOneProcess));
            int status = 0;
            waitpid(reader, &status, 0);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
            tell(WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                     : fmt::format("exit code {} {}", WEXITSTATUS(status), progress_->harm));
        }
        EXPECT_GT(progress_->refused, 0u) << format_;
        EXPECT_TRUE(progress_->accepted > 0 || whole == Whole::refused) << format_;
        fmt::print("{}: {} mutants, {} refused, {} taken, {} harmful; slowest {} ms (mutant {}), largest {} MB\n",
                   format_, progress_->refused + progress_->accepted + harmful_, progress_->refused,
                   progress_->accepted, harmful_, progress_->slowest_us / 1000, progress_->slowest,
                   progress_->largest_bytes / 1'000'000);
    }

private:
    static constexpr uint64_t kMostTold = 20, kOfOneProcess = 50;
    static constexpr int kHarm = 9;

    std::string mutant(uint64_t number) const {
        Random random(number);
        return make_(number, random);
    }

    [[noreturn]] void read_from(uint64_t first, uint64_t end) {
        limit_memory();
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGPROF}) std::signal(signal, SIG_DFL);
        const uint64_t largest_before = largest_bytes();
        for (uint64_t number = first; number < end; ++number) {
            progress_->number = number;
            const std::string file = mutant(number);
            const itimerval time{{}, {kSeconds, 0}};
            setitimer(ITIMER_PROF, &time, nullptr);
            const uint64_t before_us = processor_us();
            Outcome outcome;
            try {
                outcome = read_(file);
            } catch (const std::bad_alloc&) {
                harm("std::bad_alloc");
            }
            if (outcome.is_at_a_limit) harm("at a limit: " + outcome.refusal);
            if (outcome.refusal.find('\n') != std::string::npos) harm("two lines: " + outcome.refusal);
            ++(outcome.refusal.empty() ? progress_->accepted : progress_->refused);
            if (const uint64_t us = processor_us() - before_us; us > progress_->slowest_us) {
                progress_->slowest_us = us;
                progress_->slowest = number;
            }
            progress_->largest_bytes = std::max(progress_->largest_bytes, largest_bytes() - largest_before);
        }
        _exit(0);
    }
    [[noreturn]] void harm(const std::string& what) {
        fmt::format_to_n(progress_->harm, sizeof progress_->harm - 1, "{}{}", what, '\0');
        _exit(kHarm);
    }

    static void limit_memory() {
        if (kIsSanitized) return;
        std::ifstream file("/proc/self/statm");
        uint64_t pages = 0;
        file >> pages;
        const rlim_t bytes = pages * uint64_t(sysconf(_SC_PAGESIZE)) + kMemoryBytes;
        const rlimit memory{bytes, bytes}, no_core{0, 0};
        setrlimit(RLIMIT_AS, &memory);
        setrlimit(RLIMIT_CORE, &no_core);
    }
    // Of this process and those that it waited for.
    static uint64_t processor_us() {
        uint64_t us = 0;
        for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
            rusage usage{};
            getrusage(who, &usage);
            for (const timeval& time : {usage.ru_utime, usage.ru_stime})
                us += uint64_t(time.tv_sec) * 1'000'000 + uint64_t(time.tv_usec);
        }
        return us;
    }
    static uint64_t largest_bytes() {
        rusage self{}, children{};
        getrusage(RUSAGE_SELF, &self);
        getrusage(RUSAGE_CHILDREN, &children);
        return uint64_t(std::max(self.ru_maxrss, children.ru_maxrss)) * 1024;
    }

    void tell(const std::string& end) {
        ++harmful_;
        const std::string path =
            (std::filesystem::temp_directory_path() / fmt::format("{}-mutant-{}", format_, progress_->number)).string();
        std::ofstream(path, std::ios::binary) << mutant(progress_->number);
        ADD_FAILURE() << format_ << " mutant " << progress_->number << ", left in " << path << ": " << end;
    }

    const std::string format_;
    const Make make_;
    const Read read_;
    Progress* progress_ = nullptr;
    uint64_t harmful_ = 0;
};

}  // namespace riftjit::mutants
