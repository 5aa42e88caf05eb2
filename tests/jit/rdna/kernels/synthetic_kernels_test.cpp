// Kernels whose masks, loads and length strain the passes: none runs out of registers, and the machine finds nothing.
#include "tests/jit/rdna/kernels/synthetic_kernels.h"

#include <gtest/gtest.h>

#include "jit/rdna/object/occupancy.h"
#include "tests/jit/rdna/kernels/kernel_run.h"
#include "tests/jit/rdna/passes/long_kernel.h"

namespace riftjit::rdna::kernels {
namespace synthetic_kernels_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};
const PassOptions kAsWritten = PassOptions::without({Pass::schedule});

// 40 sections are 3,160 lines before any pass. Floats in, the sums of every lane out.
KernelCase long_case() {
    return {"long",
            [](KernelTarget t, PassOptions o) -> Result<KernelProgram> {
                try {
                    return LongKernel(t, 40).finish(o);
                } catch (const AssemblyError& error) {
                    return std::unexpected(Error{ErrorKind::Encoding, error.what()});
                }
            },
            {bytes_of(random_floats(512, -1, 1, 1)), zeros(1024)},
            {BufferIndex{0}, BufferIndex{1}},
            1,
            [](uint32_t lanes) { return lanes; },
            [](const std::vector<Bytes>& after) {
                for (const float sum : values_of<float>(after[1]))
                    if (!std::isfinite(sum)) return std::string("a sum is not finite");
                return std::string();
            }};
}

// Under every schedule with every check: right, clean, and the bits that the order of the text gives. `needed` are the
// VGPRs that are enough for that order: more, and some would be held longer than their values. A better order may take
// more, as far as it costs no occupancy.
void expect_clean(const KernelCase& test, KernelTarget target, uint32_t needed) {
    const auto program = test.assemble(target, {}), as_written = test.assemble(target, kAsWritten);
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_TRUE(as_written) << as_written.error().message;
    const auto code = link(*program), code_as_written = link(*as_written);
    ASSERT_TRUE(code && code_as_written);
    EXPECT_LE(code_as_written->resources.vgprs, needed) << test.name << " on " << name(target.target);
    const auto waves = [&](const KernelCode& kernel) {
        return waves_per_simd(target.target, target.wave_size, kernel.resources.vgprs);
    };
    EXPECT_EQ(waves(*code), waves(*code_as_written)) << test.name << " on " << name(target.target);
    const RunOutcome expected = run_program(test, *as_written, {});
    EXPECT_TRUE(expected.clean()) << test.name << " as written on " << name(target.target) << ": " << expected.text();
    for (const RunSettings& settings : schedules()) {
        const RunOutcome outcome = run_program(test, *program, settings);
        EXPECT_TRUE(outcome.clean()) << test.name << " on " << name(target.target) << ": " << outcome.text();
        EXPECT_EQ(outcome.after, expected.after) << test.name << " on " << name(target.target);
    }
}

TEST(SyntheticKernels, MultiplyMatricesWithMaskedTails) {
    for (const Target target : kTargets) expect_clean(masked_matmul_case(), {target}, 56);
}

TEST(SyntheticKernels, SplitAttentionOverPositions) {
    for (const Target target : kTargets) expect_clean(split_attention_case(), {target}, 14);
}

TEST(SyntheticKernels, GoThroughThreeThousandLines) {
    for (const Target target : kTargets)
        for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
            const auto program = long_case().assemble({target, wave}, PassOptions::none());
            ASSERT_TRUE(program) << program.error().message;
            EXPECT_GE(program->program.lines.size(), 3000u);
            expect_clean(long_case(), {target, wave}, 6);
        }
}

}  // namespace synthetic_kernels_test
}  // namespace riftjit::rdna::kernels
