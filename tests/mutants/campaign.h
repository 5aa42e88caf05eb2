// Files changed at random, read by a process with little memory and little time: none may end it or come to its limits.
//
// RIFTJIT_MUTANTS=20000 asks for more of each format than what every day can afford, RIFTJIT_MUTANTS_FROM=N for others:
// the mutant of a number is always the same, and one that does harm is left in a file.
#pragma once

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

namespace riftjit::mutants {

inline constexpr uint64_t kMemoryBytes = 1'000'000'000;
inline constexpr int kSeconds = 5;  // of processor time for one file, so that a busy machine fails none
inline constexpr uint64_t kEveryDay = 300;

// Sanitizers reserve far more address space than that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitsMemory = false;
#else
inline constexpr bool kLimitsMemory = true;
#endif

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

// What the reading process tells the one that waits for it, in memory that both see.
struct Progress {
    uint64_t number;  // of the mutant being read
    uint64_t refused, accepted, out_of_memory;
};

class Campaign {
public:
    // True: the file was taken. Whatever it returns, it must return.
    using Read = std::function<bool(const std::string& file)>;
    // Changes a changed file further: makes its checksums right again, so that what they protect is reached.
    using Mend = std::function<void(std::string& file, const std::string& seed, Random& random)>;

    Campaign(std::string format, std::vector<std::string> seeds, Read read, Mend mend = {})
        : format_(std::move(format)), seeds_(std::move(seeds)), read_(std::move(read)), mend_(std::move(mend)) {
        void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        progress_ = new (memory) Progress{};
    }
    ~Campaign() { munmap(progress_, sizeof(Progress)); }
    Campaign(const Campaign&) = delete;
    Campaign& operator=(const Campaign&) = delete;

    std::string mutant(uint64_t number) const {
        Random random(number);
        const std::string& seed = seeds_[number % seeds_.size()];
        std::string file = changed(seed, random);
        if (mend_) mend_(file, seed, random);
        return file;
    }

    void run() {
        const uint64_t first = asked("RIFTJIT_MUTANTS_FROM", 0), end = first + asked("RIFTJIT_MUTANTS", kEveryDay);
        for (uint64_t next = first; next < end && harmful_ < kMostTold; next = progress_->number + 1) {
            std::fflush(nullptr);
            const pid_t reader = fork();
            if (reader == 0) read_from(next, end);
            int status = 0;
            waitpid(reader, &status, 0);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
            tell(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit");
        }
        // Both are common, or the seeds are of no use.
        EXPECT_GT(progress_->refused, 0u) << format_;
        EXPECT_GT(progress_->accepted, 0u) << format_;
        std::printf("%s: %lu refused, %lu taken, %lu harmful\n", format_.c_str(), progress_->refused,
                    progress_->accepted, harmful_);
    }

private:
    static constexpr uint64_t kMostTold = 20;

    [[noreturn]] void read_from(uint64_t first, uint64_t end) {
        if (kLimitsMemory) {
            const rlimit limit{kMemoryBytes, kMemoryBytes};
            setrlimit(RLIMIT_AS, &limit);
        }
        std::signal(SIGPROF, SIG_DFL);  // ends the process
        for (uint64_t number = first; number < end; ++number) {
            progress_->number = number;
            const std::string file = mutant(number);
            const itimerval time{{}, {kSeconds, 0}};
            setitimer(ITIMER_PROF, &time, nullptr);
            bool is_taken = false;
            try {
                is_taken = read_(file);
            } catch (const std::bad_alloc&) {
                _exit(kOutOfMemory);
            }
            ++(is_taken ? progress_->accepted : progress_->refused);
        }
        _exit(0);
    }
    static constexpr int kOutOfMemory = 9;

    void tell(const char* end) {
        ++harmful_;
        const std::string path =
            (std::filesystem::temp_directory_path() / (format_ + "-mutant-" + std::to_string(progress_->number)))
                .string();
        const std::string file = mutant(progress_->number);
        std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
        ADD_FAILURE() << format_ << " mutant " << progress_->number << ", left in " << path << ": " << end;
    }

    const std::string format_;
    const std::vector<std::string> seeds_;
    const Read read_;
    const Mend mend_;
    Progress* progress_ = nullptr;
    uint64_t harmful_ = 0;
};

}  // namespace riftjit::mutants
