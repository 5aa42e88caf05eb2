// The whole program on a card that fails: every call of HIP failing once in turn, memory that another process took,
// launches whose failure shows late. One line that names the call, what HIP says and what it was for; exit code 1;
// nothing left behind, by the stand-in's count (and LeakSanitizer's, in the asan preset); no wait without an end.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace hip_faults_test {

constexpr double kMostSeconds = 120;

// A call, with the kernel or the bytes that it was of.
struct Call {
    std::string name, of;
    auto operator<=>(const Call&) const = default;
};

class Card {
public:
    Card() { setenv("RIFTJIT_HIP_LIBRARY", RIFTJIT_HIP_STAND_IN "/whole/libamdhip64.so.7", 1); }
    ~Card() {
        unsetenv("RIFTJIT_HIP_LIBRARY");
        unsetenv("RIFTJIT_STAND_IN");
    }
    Card(const Card&) = delete;

    // Five tokens of a prompt and two more, on a model as small as any.
    Outcome run(const std::string& what) {
        std::filesystem::remove(count_);
        setenv("RIFTJIT_STAND_IN", (what + ",count=" + count_.string()).c_str(), 1);
        return program_.run_within(kMostSeconds,
                                   {"run", "-m", RIFTJIT_SOURCE_DIR "/tests/data/nano/nano-q4_k.gguf", "--prompt-ids",
                                    "5,60,7,33,2", "-n", "2", "-c", "64", "--temp", "0", "--json", "--device", "hip"});
    }
    std::vector<Call> calls() {
        const auto trace = program_.folder() / "trace";
        EXPECT_EQ(run("trace=" + trace.string()).exit_code, 0);
        std::vector<Call> calls;
        std::ifstream lines(trace);
        for (std::string line; std::getline(lines, line);) {
            const size_t space = line.find(' ');
            calls.push_back({line.substr(0, space), line.substr(space + 1)});
        }
        std::filesystem::remove(trace);
        return calls;
    }
    // "0 allocations, ..." where all was given back.
    std::string left() const {
        const std::string text = read_whole(count_);
        return text.substr(std::min(text.find(", ") + 2, text.size()));
    }

private:
    Program program_;
    std::filesystem::path count_ = program_.folder() / "count";
};

const std::string kNothingLeft = "0 allocations, 0 modules, 0 events\n";

bool is_release(const std::string& call) {
    return call == "hipFree" || call == "hipModuleUnload" || call == "hipEventDestroy";
}

// All that is said but the note of what the model needs.
std::vector<std::string> lines_of(const Outcome& outcome) {
    std::vector<std::string> lines;
    std::istringstream text(outcome.err);
    for (std::string line; std::getline(text, line);)
        if (!line.starts_with("hip:0 (Software machine, gfx1100): ") || !line.ends_with("are free"))
            lines.push_back(line);
    return lines;
}

std::string only_line(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    const std::vector<std::string> lines = lines_of(outcome);
    EXPECT_EQ(lines.size(), 1u) << outcome.err;
    return lines.empty() ? "" : lines[0];
}

// Calls of one name and one kernel, or one number of bytes, are alike: the first and the last of them fail. With
// RIFTJIT_HIP_FAULTS=all each does.
std::vector<size_t> calls_to_fail(const std::vector<Call>& calls) {
    std::vector<size_t> chosen;
    std::map<Call, size_t> last;
    const char* wish = std::getenv("RIFTJIT_HIP_FAULTS");
    const bool wants_all = wish != nullptr && std::string(wish) == "all";
    for (size_t i = 0; i < calls.size(); ++i)
        if (wants_all || last.insert_or_assign(calls[i], i).second) chosen.push_back(i);
    for (const auto& [call, index] : last) chosen.push_back(index);
    std::ranges::sort(chosen);
    chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
    return chosen;
}

TEST(HipFaults, EndTheRunInALineWhicheverCallFails) {
    Card card;
    card.run("");  // kernels are in the cache from now on
    const std::vector<Call> calls = card.calls();
    ASSERT_GT(calls.size(), 100u);
    EXPECT_EQ(card.left(), kNothingLeft);
    const std::vector<size_t> chosen = calls_to_fail(calls);
    for (const size_t index : chosen) {
        const Call& call = calls[index];
        const std::string what = "call " + std::to_string(index + 1) + ", " + call.name + " " + call.of;
        const Outcome outcome = card.run("fail=" + std::to_string(index + 1));
        const std::string line = only_line(outcome);
        const std::string failure = ": HIP: " + call.name + ": unknown error (hipErrorUnknown, 999)";
        EXPECT_TRUE(line.starts_with("error: ") && line.ends_with(failure)) << what << ": " << line;
        EXPECT_GT(line.size(), std::string("error: ").size() + failure.size() + 8) << "of what? " << line;
        EXPECT_EQ(outcome.out.empty(), !is_release(call.name)) << what;
        EXPECT_EQ(card.left(), kNothingLeft) << what;
        if (HasFailure()) break;  // the others would say the same
    }
    RecordProperty("calls", int(calls.size()));
    RecordProperty("failed", int(chosen.size()));
    EXPECT_EQ(card.run("").exit_code, 0);
}

TEST(HipFaults, SayHowMuchMemoryIsWantedAndFree) {
    Card card;
    const std::string line = only_line(card.run("taken=8589800000"));
    EXPECT_NE(line.find("error: hip:0 (Software machine, gfx1100): the model's weights, "), std::string::npos) << line;
    EXPECT_TRUE(
        line.ends_with(" bytes where 134592 of 8589934592 are free: HIP: hipMalloc: out of memory "
                       "(hipErrorOutOfMemory, 2)"))
        << line;
    EXPECT_EQ(card.left(), kNothingLeft);
}

// Of launches of which one failed the wait tells, and then nothing can be done on the card, which is no more news.
TEST(HipFaults, SayUpToWhichLaunchOneFailed) {
    Card card;
    for (const char* launch : {"late=1", "late=9", "late=40"}) {
        const Outcome outcome = card.run(launch);
        const std::string line = only_line(outcome);
        EXPECT_NE(line.find(" launches up to rj_"), std::string::npos) << line;
        EXPECT_TRUE(
            line.ends_with(": HIP: hipStreamSynchronize: unspecified launch failure (hipErrorLaunchFailure, 719)"))
            << line;
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(card.left(), kNothingLeft);
    }
}

TEST(HipFaults, SayWhatIsNotTakenBackOnceAllIsSaid) {
    Card card;
    const std::vector<Call> calls = card.calls();
    const auto unload = std::ranges::find(calls, "hipModuleUnload", &Call::name);
    ASSERT_NE(unload, calls.end());
    const Outcome outcome = card.run("fail=" + std::to_string(unload - calls.begin() + 1));
    const std::string line = only_line(outcome);
    EXPECT_TRUE(line.starts_with("error: hip:0 (Software machine, gfx1100): unloading rj_")) << line;
    EXPECT_NE(outcome.out.find("logits_hash"), std::string::npos);
}

}  // namespace hip_faults_test
}  // namespace riftjit::tools
