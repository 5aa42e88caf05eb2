// Every wait, every cure and every barrier of every kernel is there for a reason: without it the software machine
// reports a finding, or the results are wrong.
#include <gtest/gtest.h>

#include <iostream>

#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/kernels/kernel_run.h"

namespace riftjit::rdna::kernels {
namespace mutation_test {

bool is_barrier(Opcode opcode) {
    return opcode == Opcode::s_barrier || opcode == Opcode::s_barrier_signal || opcode == Opcode::s_barrier_wait;
}

bool is_mutable(const Line& line) {
    return line.origin == Origin::waits || line.origin == Origin::hazards || is_barrier(line.instruction.opcode);
}

KernelProgram without(const KernelProgram& kernel, size_t removed) {
    KernelProgram mutant = kernel;
    std::vector<Line>& lines = mutant.program.lines;
    std::vector<Label>& labels = lines[removed + 1].labels;
    labels.insert(labels.end(), lines[removed].labels.begin(), lines[removed].labels.end());
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(removed));
    return mutant;
}

// The counts of a wait that can be raised by one, as (shift, bits) of its immediate.
struct CountField {
    unsigned shift, bits;
};
std::vector<CountField> count_fields(Generation generation, Opcode opcode) {
    switch (opcode) {
        case Opcode::s_waitcnt:
            // gfx10 splits vmcnt; its low four bits are enough for the counts that kernels wait for.
            if (generation == Generation::gfx10) return {{0, 4}, {8, 6}};
            return {{4, 6}, {10, 6}};
        case Opcode::s_wait_loadcnt_dscnt:
        case Opcode::s_wait_storecnt_dscnt:
            return {{0, 6}, {8, 6}};
        case Opcode::s_waitcnt_vscnt:
        case Opcode::s_wait_loadcnt:
        case Opcode::s_wait_storecnt:
        case Opcode::s_wait_dscnt:
        case Opcode::s_wait_kmcnt:
            return {{0, 5}};
        default:
            return {};
    }
}

// The wait one weaker in one of its counters, for every counter that it waits for.
std::vector<KernelProgram> weakened(const KernelProgram& kernel, size_t at) {
    std::vector<KernelProgram> mutants;
    const Instruction& wait = kernel.program.lines[at].instruction;
    for (const CountField field : count_fields(generation(kernel.program.target), wait.opcode)) {
        const unsigned all_ones = (1u << field.bits) - 1, count = wait.simm16 >> field.shift & all_ones;
        if (count == all_ones) continue;
        mutants.push_back(kernel);
        mutants.back().program.lines[at].instruction.simm16 += static_cast<uint16_t>(1u << field.shift);
    }
    return mutants;
}

bool detected(const KernelCase& test, const KernelProgram& mutant) {
    for (RunSettings settings : schedules()) {
        settings.instruction_limit = 500'000;  // a wave that waits forever is noticed soon enough
        const RunOutcome outcome = run_program(test, mutant, settings);
        EXPECT_EQ(outcome.error, "") << "the mutant did not run";
        if (!outcome.clean()) return true;
    }
    return false;
}

struct Tally {
    size_t mutants = 0, survivors = 0;
};

void expect_detected(const KernelCase& test, const KernelProgram& original, const KernelProgram& mutant, size_t line,
                     std::string_view change, Tally& tally) {
    ++tally.mutants;
    if (detected(test, mutant)) return;
    ++tally.survivors;
    const Program& program = original.program;
    ADD_FAILURE() << test.name << " on " << name(program.target) << ", wave" << lanes(program.wave_size) << ", line "
                  << line << ": nothing notices that "
                  << print(program.target, program.wave_size, program.lines[line].instruction) << " is " << change;
}

void mutate(const KernelCase& test, KernelTarget target, Tally& tally) {
    const auto program = test.assemble(target, {});
    ASSERT_TRUE(program) << program.error().message;
    for (size_t i = 0; i < program->program.lines.size(); ++i) {
        const Line& line = program->program.lines[i];
        if (!is_mutable(line)) continue;
        expect_detected(test, *program, without(*program, i), i, "gone", tally);
        for (const KernelProgram& mutant : weakened(*program, i))
            expect_detected(test, *program, mutant, i, "one weaker", tally);
    }
}

class Mutation : public testing::TestWithParam<std::tuple<Target, WaveSize>> {};

TEST_P(Mutation, RemovingOrWeakeningAnyWaitCureOrBarrierIsNoticed) {
    const auto [target, wave] = GetParam();
    Tally tally;
    for (const KernelCase& test : kernel_cases())
        if (wave == WaveSize::wave32 || test.runs_in_wave64) mutate(test, {target, wave}, tally);
    EXPECT_EQ(tally.survivors, 0u) << "of " << tally.mutants;
    EXPECT_GT(tally.mutants, 100u);
    std::cout << tally.mutants << " mutants\n";
}

INSTANTIATE_TEST_SUITE_P(Targets, Mutation,
                         testing::Combine(testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150,
                                                          Target::gfx1201),
                                          testing::Values(WaveSize::wave32, WaveSize::wave64)),
                         [](const auto& info) {
                             return std::string(name(std::get<0>(info.param))) + "_wave" +
                                    std::to_string(lanes(std::get<1>(info.param)));
                         });

}  // namespace mutation_test
}  // namespace riftjit::rdna::kernels
