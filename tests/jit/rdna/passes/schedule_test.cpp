#include "jit/rdna/passes/schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/passes/dependences.h"
#include "jit/rdna/passes/effects.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace schedule_test {

constexpr Target kGfx10 = Target::gfx1030, kGfx11 = Target::gfx1100, kGfx12 = Target::gfx1201;

// --- over hardware registers: nothing but the order

std::string scheduled_text(const std::string& text, Target target = kGfx11) {
    Work work;
    return text_of(scheduled(read_program(target, WaveSize::wave32, text), {}, work).program);
}
void expect_order(const std::string& before, const std::string& after, Target target = kGfx11) {
    EXPECT_EQ(scheduled_text(before, target), normalized(target, WaveSize::wave32, after));
}
void expect_kept(const std::string& text, Target target = kGfx11) { expect_order(text, text, target); }

TEST(Schedule, PutsALoadBeforeWorkThatDoesNotNeedIt) {
    expect_order(
        "v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n global_load_b32 v3, v0, s[2:3]\n v_add_f32 v4, v3, v2\n s_endpgm",
        "global_load_b32 v3, v0, s[2:3]\n v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n v_add_f32 v4, v3, v2\n s_endpgm");
}

TEST(Schedule, PutsTheAddressOfALoadBeforeOtherWork) {
    expect_order(
        "v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n v_add_nc_u32 v5, 16, v0\n global_load_b32 v3, v5, s[2:3]\n"
        "v_add_f32 v4, v3, v2\n s_endpgm",
        "v_add_nc_u32 v5, 16, v0\n v_mul_f32 v1, v0, v0\n global_load_b32 v3, v5, s[2:3]\n v_exp_f32 v2, v1\n"
        "v_add_f32 v4, v3, v2\n s_endpgm");
}

TEST(Schedule, PutsWhatCanBeIssuedTogetherSideBySide) {
    const std::string apart =
        "v_mul_f32 v1, v2, v3\n v_bfe_u32 v9, v8, 1, 2\n v_mul_f32 v4, v5, v6\n v_bfe_u32 v11, v8, 3, 4\n s_endpgm";
    const std::string together =
        "v_mul_f32 v1, v2, v3\n v_mul_f32 v4, v5, v6\n v_bfe_u32 v9, v8, 1, 2\n v_bfe_u32 v11, v8, 3, 4\n s_endpgm";
    expect_order(apart, together);
    expect_kept(apart, kGfx10);  // issues one at a time
}

TEST(Schedule, KeepsLoadsBehindStoresOfTheirMemory) {
    expect_kept("v_mov_b32 v1, 0\n global_store_b32 v0, v1, s[2:3]\n global_load_b32 v3, v0, s[4:5]\n s_endpgm");
    expect_kept("v_mov_b32 v1, 0\n ds_store_b32 v0, v1\n ds_load_b32 v3, v0\n s_endpgm");
    expect_order("v_mov_b32 v1, 0\n ds_store_b32 v0, v1\n global_load_b32 v3, v0, s[4:5]\n s_endpgm",
                 "global_load_b32 v3, v0, s[4:5]\n v_mov_b32 v1, 0\n ds_store_b32 v0, v1\n s_endpgm");
}

TEST(Schedule, KeepsStoresBehindLoadsOfTheirMemoryAndInTheirOrder) {
    expect_kept(
        "global_load_b32 v3, v0, s[4:5]\n global_store_b32 v0, v1, s[2:3]\n global_store_b32 v5, v6, s[2:3]\n"
        "s_endpgm");
}

TEST(Schedule, KeepsAtomicsAndCoherentLoadsAmongAllAccesses) {
    expect_kept("global_load_b32 v3, v0, s[4:5] glc\n global_load_b32 v5, v0, s[4:5]\n v_mov_b32 v9, v5\n s_endpgm");
    expect_kept(
        "global_load_b32 v3, v0, s[4:5] scope:SCOPE_DEV\n global_load_b32 v5, v0, s[4:5]\n v_mov_b32 v9, v5\n"
        "s_endpgm",
        kGfx12);
    expect_kept("global_atomic_add_u32 v0, v1, s[2:3]\n global_load_b32 v5, v0, s[4:5]\n v_mov_b32 v9, v5\n s_endpgm");
}

// The load would be first but for the fence.
TEST(Schedule, MovesNothingAcrossAFence) {
    for (const std::string fence :
         {"s_barrier", "s_mov_b32 exec_lo, s9", "v_cmpx_lt_u32 v4, v5", "buffer_gl0_inv", "s_waitcnt vmcnt(0)",
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0", "s_and_saveexec_b32 s9, s10", "s_sendmsg sendmsg(MSG_INTERRUPT)"})
        expect_kept("v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n " + fence +
                    "\n global_load_b32 v3, v0, s[2:3]\n v_mov_b32 v9, v3\n s_endpgm");
    expect_kept(
        "v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n L0:\n global_load_b32 v3, v0, s[2:3]\n v_mov_b32 v9, v3\n"
        "s_cbranch_scc1 -> L0\n s_endpgm");
}

TEST(Schedule, LeavesTheLabelAtTheStartOfItsBlock) {
    expect_order(
        "L0:\n v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n global_load_b32 v3, v0, s[2:3]\n v_add_f32 v4, v3, v2\n"
        "s_cbranch_scc1 -> L0\n s_endpgm",
        "L0:\n global_load_b32 v3, v0, s[2:3]\n v_mul_f32 v1, v0, v0\n v_exp_f32 v2, v1\n v_add_f32 v4, v3, v2\n"
        "s_cbranch_scc1 -> L0\n s_endpgm");
}

TEST(Schedule, KeepsAConditionBetweenItsWriterAndItsReaders) {
    // A carry: no other sum comes between.
    const std::string text = scheduled_text(
        "s_add_u32 s4, s2, s6\n s_addc_u32 s5, s3, 0\n s_add_u32 s8, s2, s7\n s_addc_u32 s9, s3, 0\n"
        "s_load_b32 s10, s[8:9], 0x0\n s_endpgm");
    const size_t sum = text.find("s_add_u32 s8"), carry = text.find("s_addc_u32 s9");
    EXPECT_EQ(text.find('\n', sum) + 1, carry) << text;
    // vcc and m0 likewise.
    expect_kept(
        "v_cmp_gt_u32 vcc_lo, v0, v1\n v_cndmask_b32 v2, v3, v4, vcc_lo\n v_cmp_gt_u32 vcc_lo, v5, v6\n"
        "v_cndmask_b32 v7, v8, v9, vcc_lo\n s_endpgm");
}

// --- a second text of what must not be exchanged, over random programs

bool is_ordered_memory(const Line& line) {
    const InstructionInfo& row = info(line.instruction.opcode);
    return row.memory == MemoryKind::store || row.memory == MemoryKind::atomic;
}
bool is_lds(const Line& line) { return info(line.instruction.opcode).format == Format::DS; }
bool touches_memory(const Line& line) {
    const Format format = info(line.instruction.opcode).format;
    return format == Format::SMEM || format >= Format::DS;
}

bool must_keep_order(const Program& program, const Line& a, const Line& b) {
    const Effects first = effects(program.target, program.wave_size, a.instruction);
    const Effects second = effects(program.target, program.wave_size, b.instruction);
    for (const RegisterRange written : first.writes)
        if (second.reads_any(written) || second.writes_any(written)) return true;
    for (const RegisterRange written : second.writes)
        if (first.reads_any(written)) return true;
    if (touches_memory(a) && touches_memory(b) && is_lds(a) == is_lds(b))
        return is_ordered_memory(a) || is_ordered_memory(b);
    return a.instruction.opcode == Opcode::s_barrier || b.instruction.opcode == Opcode::s_barrier;
}

std::string random_line(std::mt19937& random) {
    const auto v = [&] { return "v" + std::to_string(random() % 6); };
    const auto s = [&] { return "s" + std::to_string(20 + random() % 4); };
    switch (random() % 12) {
        case 0:
            return "global_load_b32 " + v() + ", " + v() + ", s[2:3]";
        case 1:
            return "global_store_b32 " + v() + ", " + v() + ", s[2:3]";
        case 2:
            return "ds_load_b32 " + v() + ", " + v();
        case 3:
            return "ds_store_b32 " + v() + ", " + v();
        case 4:
            return "v_exp_f32 " + v() + ", " + v();
        case 5:
            return "v_cmp_gt_u32 vcc_lo, " + v() + ", " + v();
        case 6:
            return "v_cndmask_b32 " + v() + ", " + v() + ", " + v() + ", vcc_lo";
        case 7:
            return "s_add_u32 " + s() + ", " + s() + ", " + s();
        case 8:
            return "s_addc_u32 " + s() + ", " + s() + ", 0";
        case 9:
            return "s_load_b32 " + s() + ", s[2:3], 0x0";
        case 10:
            return random() % 4 == 0 ? "s_barrier" : "v_mov_b32 " + v() + ", " + s();
        default:
            return "v_fmac_f32 " + v() + ", " + v() + ", " + v();
    }
}

TEST(Schedule, KeepsTheOrderOfWhateverDependsOnEachOther) {
    std::mt19937 random(1);
    size_t moved = 0;
    for (int round = 0; round < 100; ++round) {
        std::string text;
        for (int i = 0; i < 40; ++i) text += random_line(random) + "\n";
        Program program = read_program(kGfx11, WaveSize::wave32, text + "s_endpgm");
        // The line number travels in a field that scheduling does not read.
        for (size_t i = 0; i < program.lines.size(); ++i) program.lines[i].instruction.size = static_cast<uint8_t>(i);
        Work work;
        const Program after = scheduled(program, {}, work).program;
        ASSERT_EQ(after.lines.size(), program.lines.size());
        std::vector<size_t> position(program.lines.size(), SIZE_MAX);
        for (size_t i = 0; i < after.lines.size(); ++i) position[after.lines[i].instruction.size] = i;
        for (size_t i = 0; i < program.lines.size(); ++i) {
            ASSERT_NE(position[i], SIZE_MAX) << "a line is lost";
            moved += position[i] != i;
            for (size_t j = i + 1; j < program.lines.size(); ++j) {
                if (!must_keep_order(program, program.lines[i], program.lines[j])) continue;
                EXPECT_LT(position[i], position[j]) << text << i << " and " << j << "\n" << text_of(after);
            }
        }
    }
    EXPECT_GT(moved, 1000u);
}

// --- with virtual registers

class SmallKernel final : public KernelAssembler {
public:
    explicit SmallKernel(Target target = kGfx11) : KernelAssembler({target}, "small") {}
};

uint32_t vgprs(const std::function<void(SmallKernel&)>& body, PassOptions options) {
    SmallKernel kernel;
    body(kernel);
    kernel.end();
    const auto code = link(kernel.finish(options));
    EXPECT_TRUE(code) << code.error().message;
    return code ? code->resources.vgprs : 0;
}

// 64 loads of four registers, each used at once: as written they need six registers, all at once 256.
TEST(Schedule, HoistsLoadsAsFarAsTheyCostNoOccupancy) {
    const auto body = [](SmallKernel& k) {
        const Vgpr sum = k.vgpr();
        k.v_mov_b32(sum, 0);
        for (unsigned i = 0; i < 64; ++i) {
            const Vgpr values = k.vgpr(4);
            k.global_load_b128(values, k.launch_lane(), k.launch_args(), 16 * static_cast<int>(i));
            for (unsigned j = 0; j < 4; ++j) k.v_fmac_f32(sum, values[j], values[j]);
        }
        k.global_store_b32(k.launch_lane(), sum, k.launch_args());
    };
    EXPECT_EQ(vgprs(body, PassOptions::without({Pass::schedule})), 6u);
    const uint32_t count = vgprs(body, {});
    EXPECT_GT(count, 48u);
    EXPECT_LE(count, 96u);  // 16 waves of 96 registers fill a SIMD of gfx1100
}

// What is too wide for any budget stays as it was written.
TEST(Schedule, NeverNeedsMoreRegistersThanThereAre) {
    const auto body = [](SmallKernel& k) {
        std::vector<Vgpr> kept;
        for (unsigned i = 0; i < 15; ++i) {
            kept.push_back(k.vgpr(16));
            for (unsigned j = 0; j < 16; ++j) k.v_mov_b32(kept.back()[j], i + j);
        }
        for (unsigned i = 0; i < 32; ++i) {
            const Vgpr values = k.vgpr(4);
            k.global_load_b128(values, k.launch_lane(), k.launch_args(), 16 * static_cast<int>(i));
            for (unsigned j = 0; j < 4; ++j) k.v_add_f32(kept[0][j], kept[0][j], values[j]);
        }
        for (const Vgpr& tuple : kept)
            for (unsigned j = 0; j < 16; ++j) k.global_store_b32(k.launch_lane(), tuple[j], k.launch_args());
    };
    EXPECT_LE(vgprs(body, {}), 256u);
}

TEST(Schedule, CanBeLeftOut) {
    const auto first_opcode = [](PassOptions options) {
        SmallKernel k;
        const Vgpr a = k.vgpr(), b = k.vgpr();
        k.v_mov_b32(a, 0);
        k.v_exp_f32(a, a);
        k.global_load_b32(b, k.launch_lane(), k.launch_args());
        k.v_add_f32(a, a, b);
        k.global_store_b32(k.launch_lane(), a, k.launch_args());
        k.end();
        return k.finish(options).program.lines.front().instruction.opcode;
    };
    EXPECT_EQ(first_opcode({}), Opcode::global_load_b32);
    EXPECT_EQ(first_opcode(PassOptions::without({Pass::schedule})), Opcode::v_mov_b32);
    EXPECT_EQ(name(Pass::schedule), "schedule");
}

TEST(Schedule, KnowsHowManyRegistersCostNothing) {
    const Program gfx11{kGfx11, WaveSize::wave32, "", {}}, gfx10{kGfx10, WaveSize::wave64, "", {}};
    EXPECT_EQ(vgpr_budget(gfx11, 10), 96u);   // 1536 registers, 16 waves
    EXPECT_EQ(vgpr_budget(gfx11, 97), 120u);  // 12 waves
    EXPECT_EQ(vgpr_budget(gfx11, 250), 256u);
    EXPECT_EQ(vgpr_budget(gfx11, 300), 300u);  // more than there are: no room anyway
    EXPECT_EQ(vgpr_budget(gfx10, 10), 32u);    // 1024 registers of 32 lanes, 16 waves of 64
}

}  // namespace schedule_test
}  // namespace riftjit::rdna
