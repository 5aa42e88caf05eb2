#include "jit/rdna/passes/pass_context.h"

#include <gtest/gtest.h>

#include "jit/rdna/passes/passes.h"
#include "tests/jit/rdna/passes/long_kernel.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace pass_context_test {

constexpr Target kTarget = Target::gfx1100;

const std::string kLoop = "v_mov_b32 v0, 0\n L0:\n v_add_f32 v1, v0, v0\n s_cbranch_scc1 -> L0\n s_endpgm";

Instruction instruction(const std::string& text) {
    const auto parsed = parse(kTarget, WaveSize::wave32, text);
    EXPECT_TRUE(parsed) << text;
    return parsed->instruction;
}

TEST(PassContext, PutsALineBeforeAnotherWithinReachOfItsBranches) {
    Program program = read_program(kTarget, WaveSize::wave32, kLoop);
    PassContext context(program);
    const LineId top = context.blocks()[1].first;
    const LineId added = context.insert_before(top, instruction("s_nop 0"), Origin::hazards);
    EXPECT_EQ(context.blocks()[1].first, added);
    EXPECT_EQ(context.block_of(added), 1u);
    EXPECT_EQ(context.previous_in_block(added), kNoLine);
    EXPECT_EQ(context.next(added), top);
    context.write_back();
    EXPECT_EQ(text_of(program), normalized(kTarget, WaveSize::wave32,
                                           "v_mov_b32 v0, 0\n L0:\n s_nop 0\n v_add_f32 v1, v0, v0\n"
                                           "s_cbranch_scc1 -> L0\n s_endpgm"));
}

TEST(PassContext, PutsALineBehindTheLastOfItsBlock) {
    Program program = read_program(kTarget, WaveSize::wave32, kLoop);
    PassContext context(program);
    const LineId first = context.first();
    const LineId added = context.insert_after(first, instruction("s_nop 0"), Origin::hazards);
    EXPECT_EQ(context.blocks()[0].last, added);
    EXPECT_EQ(context.next_in_block(added), kNoLine);
    context.write_back();
    EXPECT_EQ(text_of(program), normalized(kTarget, WaveSize::wave32,
                                           "v_mov_b32 v0, 0\n s_nop 0\n L0:\n v_add_f32 v1, v0, v0\n"
                                           "s_cbranch_scc1 -> L0\n s_endpgm"));
}

TEST(PassContext, KnowsTheEffectsOfWhatReplacesALine) {
    Program program = read_program(kTarget, WaveSize::wave32, "v_mov_b32 v1, v0\n v_mov_b32 v2, v0\n s_endpgm");
    PassContext context(program);
    const LineId first = context.first(), second = context.next(first);
    context.replace(first, instruction("ds_load_b32 v5, v6"));
    EXPECT_TRUE(context.facts(first).effects.writes_any({Operand::kFirstVgpr + 5, 1}));
    EXPECT_TRUE(context.facts(first).events.raises.has(Counter::ds));
    EXPECT_FALSE(context.facts(first).is_valu);
    context.erase(second);
    context.write_back();
    EXPECT_EQ(text_of(program), normalized(kTarget, WaveSize::wave32, "ds_load_b32 v5, v6\n s_endpgm"));
}

// --- the work of the passes

using PassFunction = void (*)(PassContext&);
constexpr PassFunction kPasses[] = {insert_waits, pair_dual_instructions, insert_hazard_cures, insert_clauses,
                                    insert_delays};
constexpr PassOptions kNoPasses = PassOptions::none();
const KernelTarget kSettings[] = {{Target::gfx1030},
                                  {Target::gfx1100, WaveSize::wave32},
                                  {Target::gfx1100, WaveSize::wave64},
                                  {Target::gfx1150, WaveSize::wave64},
                                  {Target::gfx1201, WaveSize::wave32},
                                  {Target::gfx1201, WaveSize::wave64}};

// Looks at lines, per line there was, pass by pass.
std::vector<double> visits_per_line(Program program) {
    const auto lines = static_cast<double>(program.lines.size());
    PassContext context(program);
    std::vector<double> result;
    for (const PassFunction pass : kPasses) {
        const uint64_t before = context.visits();
        pass(context);
        result.push_back(static_cast<double>(context.visits() - before) / lines);
    }
    return result;
}

// A pass that searched further back in a longer program, or went through it more often, would look at each line more
// often. Inserted lines count too, which is why the bound is not lower.
void expect_linear(const Program& small, const Program& large, KernelTarget target) {
    const std::vector<double> few = visits_per_line(small), many = visits_per_line(large);
    for (size_t pass = 0; pass < few.size(); ++pass) {
        EXPECT_LE(many[pass], 1.1 * few[pass] + 0.1) << "pass " << pass << " on " << name(target.target);
        EXPECT_LE(many[pass], 40.0) << "pass " << pass << " on " << name(target.target);
    }
}

TEST(Passes, LookAtEachLineEquallyOftenHoweverLongTheKernel) {
    for (const KernelTarget target : kSettings)
        expect_linear(LongKernel(target, 5).finish(kNoPasses).program, LongKernel(target, 40).finish(kNoPasses).program,
                      target);
}

// Before allocation: 1,027 and 3,002 lines. A line's share is the same but for what is looked at once.
TEST(Passes, AllocateWithEquallyMuchWorkPerLineHoweverLongTheKernel) {
    const auto work_per_line = [](KernelTarget target, unsigned sections) {
        LongKernel kernel(target, sections);
        kernel.finish({});
        const double lines = sections * LongKernel::kSectionLines;
        const Work& work = kernel.work();
        return std::array{static_cast<double>(work.liveness) / lines, static_cast<double>(work.scheduling) / lines,
                          static_cast<double>(work.allocation) / lines};
    };
    for (const KernelTarget target : kSettings) {
        const auto few = work_per_line(target, 13), many = work_per_line(target, 38);
        for (size_t i = 0; i < few.size(); ++i) {
            const char* const what[] = {"liveness", "scheduling", "allocation"};
            SCOPED_TRACE(std::string(what[i]) + " on " + std::string(name(target.target)));
            EXPECT_GE(few[i], 1.0) << "is counted";
            EXPECT_LE(many[i], 1.02 * few[i]);
            EXPECT_LE(many[i], 30.0);
        }
    }
}

Program repeated_program(KernelTarget target, const std::string& unit, unsigned count, const std::string& end = "") {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += unit;
    return read_program(target.target, target.wave_size, text + end + "s_endpgm");
}

// What would send a search back to the start of the program: nothing here ends the hazards, or all producers are of
// the kind that does not count.
TEST(Passes, DoNotSearchBackToTheStartOfStraightCode) {
    for (const KernelTarget target : kSettings) {
        const std::string mask = target.wave_size == WaveSize::wave64 ? "s[4:5]" : "s4";
        const std::string move = target.wave_size == WaveSize::wave64 ? "s_mov_b64 " : "s_mov_b32 ";
        for (const std::string& unit : {"v_mov_b32 v1, v2\n" + move + mask + ", 0\n",  //
                                        std::string("v_exp_f32 v1, v2\n"), std::string("s_add_u32 s6, s6, s7\n"),
                                        "v_cndmask_b32_e64 v1, v2, v3, " + mask + "\n v_add_f32 v4, v5, v1\n"}) {
            if (unit.starts_with("s_add_u32") && generation(target.target) == Generation::gfx12) continue;  // renamed
            expect_linear(repeated_program(target, unit, 100), repeated_program(target, unit, 1000), target);
        }
    }
}

TEST(Passes, LookAtLinesEquallyOftenHoweverManyLoadsAreUnderWay) {
    for (const KernelTarget target : kSettings) {
        const std::string load = generation(target.target) == Generation::gfx10 ? "ds_read_b32" : "ds_load_b32";
        const std::string unit = load + " v1, v0\n " + load + " v2, v0\n " + load + " v3, v0\n";
        expect_linear(repeated_program(target, unit, 100, "v_mov_b32 v4, v1\n"),
                      repeated_program(target, unit, 1000, "v_mov_b32 v4, v1\n"), target);
    }
}

}  // namespace pass_context_test
}  // namespace riftjit::rdna
