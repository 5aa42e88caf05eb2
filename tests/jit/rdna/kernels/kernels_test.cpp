#include <gtest/gtest.h>

#include <algorithm>

#include "jit/rdna/object/occupancy.h"
#include "tests/jit/rdna/kernels/kernel_run.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna::kernels {
namespace kernels_test {

// One chip per set of rules: gfx10.3, gfx11 with and without the transcendental hazard, gfx12.
constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};

std::vector<KernelTarget> settings_of(bool runs_in_wave64) {
    std::vector<KernelTarget> settings;
    for (const Target target : kTargets) {
        settings.push_back({target, WaveSize::wave32});
        if (runs_in_wave64) settings.push_back({target, WaveSize::wave64});
    }
    return settings;
}

std::string describe(const std::string& kernel, KernelTarget target) {
    return kernel + " on " + std::string(name(target.target)) + ", wave" + std::to_string(lanes(target.wave_size));
}

TEST(Kernels, AreAssembledForEveryTarget) {
    for (const KernelEntry& kernel : all_kernels()) {
        for (const TargetInfo& target : all_targets()) {
            for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
                if (wave == WaveSize::wave64 && !kernel.runs_in_wave64) continue;
                const auto program = kernel.assemble({target.target, wave}, {});
                ASSERT_TRUE(program) << kernel.name << " " << target.name << ": " << program.error().message;
                const auto code = link(*program);
                ASSERT_TRUE(code) << kernel.name << " " << target.name << ": " << code.error().message;
                EXPECT_GT(code->resources.vgprs, 0u);
                // Fewer would leave memory idle, but for tiles of products: their waves have sums of many rows in
                // registers, operands in LDS, and what they load of memory is a slab ahead.
                EXPECT_GE(waves_per_simd(target.target, wave, code->resources.vgprs),
                          kernel.name == "matmul_tile" ? 4u : 8u)
                    << kernel.name;
                EXPECT_TRUE(write_code_object(target.target, CodeObjectVersion::v5, {&*code, 1}));
            }
        }
    }
}

TEST(Kernels, HaveACaseEach) {
    const auto cases = kernel_cases();
    ASSERT_EQ(cases.size(), all_kernels().size());
    for (size_t i = 0; i < cases.size(); ++i) {
        EXPECT_EQ(cases[i].name, all_kernels()[i].name);
        EXPECT_EQ(cases[i].runs_in_wave64, all_kernels()[i].runs_in_wave64);
    }
}

void expect_reference(const KernelCase& test, KernelTarget target) {
    const auto program = test.assemble(target, {});
    ASSERT_TRUE(program) << program.error().message;
    std::vector<Bytes> first;
    for (const RunSettings& settings : schedules()) {
        RunOutcome outcome = run_program(test, *program, settings);
        EXPECT_TRUE(outcome.clean()) << describe(test.name, target) << ", " << emulator::name(settings.schedule) << ": "
                                     << outcome.text();
        if (test.scratch) outcome.after.at(*test.scratch).clear();
        if (first.empty()) first = outcome.after;
        EXPECT_EQ(outcome.after, first) << describe(test.name, target);
    }
}

TEST(Kernels, ComputeTheReferenceUnderEveryScheduleBitForBit) {
    for (const KernelCase& test : kernel_cases())
        for (const KernelTarget target : settings_of(test.runs_in_wave64)) expect_reference(test, target);
}

TEST(Kernels, ComputeTheReferenceAtEveryShape) {
    for (const KernelCase& test : shape_cases()) {
        SCOPED_TRACE(test.groups);
        for (const KernelTarget target : settings_of(test.runs_in_wave64)) expect_reference(test, target);
    }
}

bool has_hint(const KernelProgram& kernel) {
    return std::ranges::any_of(kernel.program.lines, [](const Line& line) {
        return line.origin == Origin::hints || line.instruction.encoding == Encoding::vopd;
    });
}

// Without them there is none in the code, and what is compared is not one program with itself.
TEST(Kernels, NeedNoneOfTheHints) {
    const PassOptions plain =
        PassOptions::without({Pass::schedule, Pass::vopd, Pass::clauses, Pass::delay_alu, Pass::release_vgprs});
    for (const KernelCase& test : kernel_cases()) {
        for (const KernelTarget target : settings_of(test.runs_in_wave64)) {
            const auto hinted = test.assemble(target, {}), bare = test.assemble(target, plain);
            ASSERT_TRUE(hinted && bare);
            EXPECT_FALSE(has_hint(*bare)) << describe(test.name, target);
            EXPECT_NE(text_of(hinted->program), text_of(bare->program)) << describe(test.name, target);
            const RunOutcome a = run_program(test, *hinted, {}), b = run_program(test, *bare, {});
            EXPECT_TRUE(b.clean()) << describe(test.name, target) << ": " << b.text();
            EXPECT_EQ(a.after, b.after) << describe(test.name, target);
        }
    }
}

}  // namespace kernels_test
}  // namespace riftjit::rdna::kernels
