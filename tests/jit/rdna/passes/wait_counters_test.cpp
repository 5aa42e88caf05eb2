// Every value of every wait counter, as llvm-mc-19 writes and reads it.
#include <gtest/gtest.h>

#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/llvm_oracle.h"

namespace riftjit::rdna {
namespace wait_counters_test {

using test::InstructionWords;
using test::LlvmOracle;

constexpr unsigned kVmLimit = 63, kExpLimit = 7, kLgkmLimit = 63, kStoreLimit = 63;

// gfx10 and gfx11: one immediate for three counters, and s_waitcnt_vscnt.
std::vector<std::string> older_waits() {
    std::vector<std::string> lines;
    for (unsigned vm = 0; vm <= kVmLimit; ++vm) lines.push_back(fmt::format("s_waitcnt vmcnt({})", vm));
    for (unsigned exp = 0; exp <= kExpLimit; ++exp) lines.push_back(fmt::format("s_waitcnt expcnt({})", exp));
    for (unsigned lgkm = 0; lgkm <= kLgkmLimit; ++lgkm) lines.push_back(fmt::format("s_waitcnt lgkmcnt({})", lgkm));
    for (unsigned vm = 0; vm <= kVmLimit; vm += 7)
        for (unsigned lgkm = 0; lgkm <= kLgkmLimit; lgkm += 5)
            lines.push_back(fmt::format("s_waitcnt vmcnt({}) expcnt({}) lgkmcnt({})", vm, vm % kExpLimit, lgkm));
    lines.insert(lines.end(), {"s_waitcnt vmcnt_sat(100)", "s_waitcnt lgkmcnt_sat(64) & vmcnt(3)", "s_waitcnt 0"});
    for (unsigned store = 0; store <= kStoreLimit; ++store)
        for (const std::string_view counter : {"vscnt", "vmcnt", "lgkmcnt"})
            lines.push_back(fmt::format("s_waitcnt_{} null, {:#x}", counter, store));
    for (unsigned exp = 0; exp <= kExpLimit; ++exp) lines.push_back(fmt::format("s_waitcnt_expcnt null, {:#x}", exp));
    return lines;
}

// gfx12: an instruction for each counter, and two pairs.
std::vector<std::string> newer_waits() {
    std::vector<std::string> lines;
    for (const std::string_view counter :
         {"loadcnt", "storecnt", "samplecnt", "bvhcnt", "expcnt", "dscnt", "kmcnt", "loadcnt_dscnt", "storecnt_dscnt"})
        for (unsigned value = 0; value <= 63; ++value) lines.push_back(fmt::format("s_wait_{} {:#x}", counter, value));
    for (const std::string_view pair : {"loadcnt_dscnt", "storecnt_dscnt"})
        for (unsigned first = 0; first <= 63; first += 7)
            for (unsigned second = 0; second <= 63; second += 5)
                lines.push_back(fmt::format("s_wait_{} {:#x}", pair, first << 8 | second));
    return lines;
}

class WaitCounters : public testing::TestWithParam<Target> {};

TEST_P(WaitCounters, AreWrittenAndReadAsLlvmDoes) {
    if (!LlvmOracle::is_present()) return lack_oracle("llvm-mc-19 and llvm-objdump-19");
    const Target target = GetParam();
    const LlvmOracle llvm(target, WaveSize::wave32);
    const auto lines = generation(target) == Generation::gfx12 ? newer_waits() : older_waits();
    const auto theirs = llvm.assemble(lines);
    std::vector<InstructionWords> words;
    for (size_t i = 0; i < lines.size(); ++i) {
        const Result<Parsed> parsed = parse(target, WaveSize::wave32, lines[i]);
        ASSERT_TRUE(parsed) << parsed.error().message;
        const auto encoded = encode(target, WaveSize::wave32, parsed->instruction);
        ASSERT_TRUE(encoded) << encoded.error().message;
        words.emplace_back(encoded->span().begin(), encoded->span().end());
        ASSERT_TRUE(theirs[i]) << "llvm-mc refuses " << lines[i];
        EXPECT_EQ(words.back(), *theirs[i]) << lines[i];
    }
    const auto texts = llvm.disassemble(words);
    for (size_t i = 0; i < lines.size(); ++i) {
        const Decoded decoded = decode(target, WaveSize::wave32, words[i]);
        ASSERT_TRUE(decoded.ok) << lines[i];
        EXPECT_EQ(print(target, WaveSize::wave32, decoded.instruction), texts[i].value_or("rejected")) << lines[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, WaitCounters,
                         testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace wait_counters_test
}  // namespace riftjit::rdna
