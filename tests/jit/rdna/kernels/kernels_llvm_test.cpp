#include <gtest/gtest.h>

#include <set>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/kernels/samples/all_kernels.h"
#include "tests/jit/rdna/llvm_oracle.h"

namespace riftjit::rdna::kernels {
namespace kernels_llvm_test {

struct Emitted {
    std::vector<std::vector<uint32_t>> words;
    std::vector<std::string> texts;
};

// Branches apart: their distances are the linker's, and tested with it.
void collect(const KernelProgram& kernel, Emitted& emitted, std::set<std::string>& seen) {
    const Program& program = kernel.program;
    for (const Line& line : program.lines) {
        if (line.target) continue;
        std::string text = print(program.target, program.wave_size, line.instruction);
        if (!seen.insert(text).second) continue;
        const auto encoded = encode(program.target, program.wave_size, line.instruction);
        ASSERT_TRUE(encoded) << text << ": " << encoded.error().message;
        emitted.words.emplace_back(encoded->span().begin(), encoded->span().end());
        emitted.texts.push_back(std::move(text));
    }
}

class KernelsLlvm : public testing::TestWithParam<std::tuple<Target, WaveSize>> {};

TEST_P(KernelsLlvm, ReadsEveryInstructionAsItWasEmitted) {
    if (!test::LlvmOracle::is_present()) return lack_oracle("llvm-mc-19 and llvm-objdump-19");
    const auto [target, wave] = GetParam();
    Emitted emitted;
    std::set<std::string> seen;
    for (const KernelEntry& kernel : all_kernels()) {
        if (wave == WaveSize::wave64 && !kernel.runs_in_wave64) continue;
        const auto program = kernel.assemble({target, wave}, {});
        ASSERT_TRUE(program) << program.error().message;
        collect(*program, emitted, seen);
    }
    EXPECT_GT(emitted.texts.size(), 300u);
    const auto theirs = test::LlvmOracle(target, wave).disassemble(emitted.words);
    for (size_t i = 0; i < emitted.texts.size(); ++i) EXPECT_EQ(theirs[i].value_or("rejected"), emitted.texts[i]);
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelsLlvm,
                         testing::Combine(testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150,
                                                          Target::gfx1201),
                                          testing::Values(WaveSize::wave32, WaveSize::wave64)),
                         [](const auto& info) {
                             return std::string(name(std::get<0>(info.param))) + "_wave" +
                                    std::to_string(lanes(std::get<1>(info.param)));
                         });

}  // namespace kernels_llvm_test
}  // namespace riftjit::rdna::kernels
