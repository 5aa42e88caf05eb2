// The scalar unit against independent expectations: each row is one instruction, its inputs, its result and scc.
#include <cmath>

#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace salu_test {

// s[8:9] = a, s[10:11] = b, s[12:13] = the destination's former value, scc = 1 before if wanted. The destination's two
// words, and scc, come back.
struct ScalarResult {
    uint64_t value;
    uint32_t scc;
    uint32_t low() const { return static_cast<uint32_t>(value); }
};

std::string set_pair(unsigned first, uint64_t value) {
    return fmt::format("s_mov_b32 s{}, {:#x}; s_mov_b32 s{}, {:#x}\n", first, static_cast<uint32_t>(value), first + 1,
                       static_cast<uint32_t>(value >> 32));
}

Checks without_sgpr_hazard() {
    Checks checks;
    checks.sgpr_read_hazard = false;
    return checks;
}

ScalarResult run(Target target, std::string_view instruction, uint64_t a, uint64_t b = 0, uint32_t scc = 0,
                 uint64_t before = 0, FloatModes modes = {}) {
    ProgramSetup setup{.target = target, .checks = without_sgpr_hazard(), .float_modes = modes};
    const std::string store = generation(target) == Generation::gfx10 ? "global_store_dword" : "global_store_b32";
    const std::string text =
        load_out_pointer(target) + set_pair(8, a) + set_pair(10, b) + set_pair(12, before) +
        fmt::format("s_cmp_eq_u32 0, {}\n{}\n", scc ? 0 : 1, instruction) +
        "s_cselect_b32 s14, 1, 0\n"
        "v_mov_b32_e32 v1, s12; v_mov_b32_e32 v2, s13; v_mov_b32_e32 v3, s14; v_mov_b32_e32 v0, 0\n" +
        fmt::format("{0} v0, v1, s[2:3]\n{0} v0, v2, s[2:3] offset:4\n{0} v0, v3, s[2:3] offset:8\n", store) +
        "s_endpgm";
    setup.group = {1, 1, 1};
    const ProgramResult result = run_program(setup, text);
    EXPECT_TRUE(reports_nothing(result)) << instruction;
    return {result.out[0] | uint64_t{result.out[1]} << 32, result.out[2]};
}

struct Case {
    std::string_view instruction;  // writing s12 or s[12:13]
    uint64_t a, b, expected;
    uint32_t scc;  // afterwards; kSame: as before
};
constexpr uint32_t kSame = 2;

void expect(Target target, std::span<const Case> cases) {
    for (const Case& c : cases)
        for (const uint32_t scc : {0u, 1u}) {
            const ScalarResult result = run(target, c.instruction, c.a, c.b, scc);
            const bool is_wide = c.instruction.find("s[12:13]") != std::string_view::npos;
            EXPECT_EQ(is_wide ? result.value : result.low(), c.expected) << name(target) << ": " << c.instruction;
            EXPECT_EQ(result.scc, c.scc == kSame ? scc : c.scc) << name(target) << ": " << c.instruction;
        }
}

constexpr uint64_t kTop = 0x80000000, kAll = 0xFFFFFFFF;

TEST(Salu, AddsAndSubtracts) {
    const Case cases[] = {
        {"s_add_u32 s12, s8, s10", kAll, 1, 0, 1},
        {"s_add_u32 s12, s8, s10", 5, 7, 12, 0},
        {"s_sub_u32 s12, s8, s10", 5, 7, 0xFFFFFFFE, 1},
        {"s_sub_u32 s12, s8, s10", 7, 5, 2, 0},
        {"s_add_i32 s12, s8, s10", 0x7FFFFFFF, 1, kTop, 1},
        {"s_add_i32 s12, s8, s10", kAll, 1, 0, 0},
        {"s_sub_i32 s12, s8, s10", kTop, 1, 0x7FFFFFFF, 1},
        {"s_sub_i32 s12, s8, s10", 3, 5, 0xFFFFFFFE, 0},
        {"s_absdiff_i32 s12, s8, s10", 3, 5, 2, 1},
        {"s_absdiff_i32 s12, s8, s10", 5, 5, 0, 0},
        {"s_lshl2_add_u32 s12, s8, s10", 0x40000001, 3, 7, 1},
        {"s_lshl4_add_u32 s12, s8, s10", 2, 3, 35, 0},
        {"s_mul_i32 s12, s8, s10", 0xFFFFFFFD, 7, 0xFFFFFFEB, kSame},
        {"s_mul_hi_u32 s12, s8, s10", kAll, kAll, 0xFFFFFFFE, kSame},
        {"s_mul_hi_i32 s12, s8, s10", kAll, 2, kAll, kSame},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100}) expect(target, cases);
    for (const uint32_t carry : {0u, 1u}) {
        EXPECT_EQ(run(Target::gfx1100, "s_addc_u32 s12, s8, s10", kAll, 0, carry).low(), carry ? 0u : kAll);
        EXPECT_EQ(run(Target::gfx1100, "s_addc_u32 s12, s8, s10", kAll, 0, carry).scc, carry);
        EXPECT_EQ(run(Target::gfx1100, "s_subb_u32 s12, s8, s10", 5, 5, carry).low(), 0u - carry);
        EXPECT_EQ(run(Target::gfx1100, "s_subb_u32 s12, s8, s10", 5, 5, carry).scc, carry);
    }
}

TEST(Salu, HasWideArithmeticOnGfx12) {
    const uint64_t a = 0x00000001FFFFFFFF, b = 0x0000000200000003;
    const Case cases[] = {
        {"s_add_nc_u64 s[12:13], s[8:9], s[10:11]", a, b, a + b, kSame},
        {"s_sub_nc_u64 s[12:13], s[8:9], s[10:11]", a, b, a - b, kSame},
        {"s_mul_u64 s[12:13], s[8:9], s[10:11]", a, b, a * b, kSame},
    };
    expect(Target::gfx1201, cases);
}

TEST(Salu, SaysWhichOperandAMinimumTook) {
    const Case cases[] = {
        {"s_min_i32 s12, s8, s10", kAll, 1, kAll, 1}, {"s_min_u32 s12, s8, s10", kAll, 1, 1, 0},
        {"s_max_i32 s12, s8, s10", kAll, 1, 1, 0},    {"s_max_u32 s12, s8, s10", kAll, 1, kAll, 1},
        {"s_min_u32 s12, s8, s10", 4, 4, 4, 0},       {"s_max_u32 s12, s8, s10", 4, 4, 4, 1},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1201}) expect(target, cases);
}

TEST(Salu, DoesLogic) {
    const uint64_t a = 0xF0F0F0F00FF00FF0, b = 0xFF00FF00FFFF0000;
    const Case cases[] = {
        {"s_and_b64 s[12:13], s[8:9], s[10:11]", a, b, a & b, 1},
        {"s_or_b64 s[12:13], s[8:9], s[10:11]", a, b, a | b, 1},
        {"s_xor_b64 s[12:13], s[8:9], s[10:11]", a, a, 0, 0},
        {"s_nand_b64 s[12:13], s[8:9], s[10:11]", a, b, ~(a & b), 1},
        {"s_nor_b64 s[12:13], s[8:9], s[10:11]", a, ~a, 0, 0},
        {"s_xnor_b64 s[12:13], s[8:9], s[10:11]", a, b, ~(a ^ b), 1},
        {"s_andn2_b64 s[12:13], s[8:9], s[10:11]", a, b, a & ~b, 1},
        {"s_orn2_b64 s[12:13], s[8:9], s[10:11]", a, b, a | ~b, 1},
        {"s_not_b32 s12, s8", kAll, 0, 0, 0},
        {"s_wqm_b32 s12, s8", 0x00010020, 0, 0x000F00F0, 1},
        {"s_quadmask_b32 s12, s8", 0x80010020, 0, 0x92, 1},
        {"s_quadmask_b32 s12, s8", 0, 0, 0, 0},
        {"s_quadmask_b64 s[12:13], s[8:9]", 0x8000000000000010, 0, 0x8002, 1},
        {"s_and_b32 s12, s8, s10", 5, 10, 0, 0},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100}) expect(target, cases);
}

TEST(Salu, Shifts) {
    const Case cases[] = {
        {"s_lshl_b32 s12, s8, s10", 3, 33, 6, 1},
        {"s_lshr_b32 s12, s8, s10", 1, 1, 0, 0},
        {"s_ashr_i32 s12, s8, s10", kTop, 31, kAll, 1},
        {"s_lshl_b64 s[12:13], s[8:9], s10", 3, 33, uint64_t{3} << 33, 1},
        {"s_lshr_b64 s[12:13], s[8:9], s10", uint64_t{1} << 40, 40, 1, 1},
        {"s_ashr_i64 s[12:13], s[8:9], s10", uint64_t{1} << 63, 62, 0xFFFFFFFFFFFFFFFE, 1},
        {"s_bfm_b32 s12, s8, s10", 4, 8, 0xF00, kSame},
        {"s_bfm_b64 s[12:13], s8, s10", 4, 40, uint64_t{15} << 40, kSame},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1201}) expect(target, cases);
}

TEST(Salu, ExtractsBitFields) {
    const auto field = [](unsigned offset, unsigned width) { return uint64_t{offset | width << 16}; };
    const Case cases[] = {
        {"s_bfe_u32 s12, s8, s10", 0xABCD1234, field(8, 8), 0x12, 1},
        {"s_bfe_i32 s12, s8, s10", 0x00008000, field(8, 8), 0xFFFFFF80, 1},
        {"s_bfe_u32 s12, s8, s10", 0xABCD1234, field(28, 16), 0xA, 1},
        {"s_bfe_i32 s12, s8, s10", kTop, field(28, 16), 0xFFFFFFF8, 1},
        {"s_bfe_u32 s12, s8, s10", kAll, field(8, 0), 0, 0},
        {"s_bfe_u64 s[12:13], s[8:9], s10", 0x123456789ABCDEF0, field(20, 24), 0x6789AB, 1},
        {"s_bfe_i64 s[12:13], s[8:9], s10", 0x8000000000000000, field(60, 4), 0xFFFFFFFFFFFFFFF8, 1},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100}) expect(target, cases);
}

TEST(Salu, CountsBits) {
    const Case cases[] = {
        {"s_brev_b32 s12, s8", 1, 0, kTop, kSame},
        {"s_ff1_i32_b32 s12, s8", 0x50, 0, 4, kSame},
        {"s_ff1_i32_b32 s12, s8", 0, 0, kAll, kSame},
        {"s_ff1_i32_b64 s12, s[8:9]", uint64_t{1} << 50, 0, 50, kSame},
        {"s_flbit_i32_b32 s12, s8", 0x00010000, 0, 15, kSame},
        {"s_flbit_i32_b64 s12, s[8:9]", 1, 0, 63, kSame},
        {"s_flbit_i32 s12, s8", 0xFFFF0000, 0, 16, kSame},
        {"s_flbit_i32 s12, s8", kAll, 0, kAll, kSame},
        {"s_bcnt1_i32_b32 s12, s8", 0xF0F, 0, 8, 1},
        {"s_bcnt0_i32_b32 s12, s8", kAll, 0, 0, 0},
        {"s_bcnt1_i32_b64 s12, s[8:9]", 0x8000000000000001, 0, 2, 1},
        {"s_sext_i32_i8 s12, s8", 0x80, 0, 0xFFFFFF80, kSame},
        {"s_sext_i32_i16 s12, s8", 0x7FFF, 0, 0x7FFF, kSame},
        {"s_abs_i32 s12, s8", 0xFFFFFFF9, 0, 7, 1},
        {"s_bitreplicate_b64_b32 s[12:13], s8", 0x80000001, 0, 0xC000000000000003, kSame},
        {"s_pack_lh_b32_b16 s12, s8, s10", 0x11112222, 0x33334444, 0x33332222, kSame},
        {"s_pack_hh_b32_b16 s12, s8, s10", 0x11112222, 0x33334444, 0x33331111, kSame},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100}) expect(target, cases);
}

TEST(Salu, KeepsTheDestinationWhereItIsAnInput) {
    EXPECT_EQ(run(Target::gfx1100, "s_addk_i32 s12, 0xfffe", 0, 0, 0, 5).low(), 3u);
    EXPECT_EQ(run(Target::gfx1100, "s_addk_i32 s12, 0x1", 0, 0, 0, 0x7FFFFFFF).scc, 1u);
    EXPECT_EQ(run(Target::gfx1100, "s_mulk_i32 s12, 0xfffd", 0, 0, 0, 7).low(), 0u - 21u);
    EXPECT_EQ(run(Target::gfx1100, "s_bitset1_b32 s12, s8", 4, 0, 0, 1).low(), 17u);
    EXPECT_EQ(run(Target::gfx1100, "s_bitset0_b64 s[12:13], s8", 33, 0, 0, ~uint64_t{0}).value, ~(uint64_t{1} << 33));
    for (const uint32_t scc : {0u, 1u}) {
        EXPECT_EQ(run(Target::gfx1100, "s_cmov_b32 s12, s8", 9, 0, scc, 5).low(), scc ? 9u : 5u);
        EXPECT_EQ(run(Target::gfx1100, "s_cmovk_i32 s12, 0x8000", 0, 0, scc, 5).low(), scc ? 0xFFFF8000u : 5u);
        EXPECT_EQ(run(Target::gfx1100, "s_cselect_b64 s[12:13], s[8:9], s[10:11]", 9, 4, scc).value, scc ? 9u : 4u);
    }
}

TEST(Salu, ReadsConstantsAsTheOperandsType) {
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b32 s12, -16", 0).low(), 0xFFFFFFF0u);
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b64 s[12:13], -16", 0).value, 0xFFFFFFFFFFFFFFF0u);
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b32 s12, 0.5", 0).low(), std::bit_cast<uint32_t>(0.5f));
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b64 s[12:13], -4.0", 0).value, std::bit_cast<uint64_t>(-4.0));
    EXPECT_EQ(run(Target::gfx1100, "s_movk_i32 s12, 0x8001", 0).low(), 0xFFFF8001u);
    EXPECT_EQ(run(Target::gfx1201, "s_add_f16 s12, s8, 1.0", 0x3C00).low(), 0x4000u);
}

TEST(Salu, Compares) {
    struct Comparison {
        std::string_view name;
        bool (*expected)(uint32_t a, uint32_t b);
    };
    const Comparison comparisons[] = {
        {"s_cmp_eq_i32", [](uint32_t a, uint32_t b) { return a == b; }},
        {"s_cmp_lg_u32", [](uint32_t a, uint32_t b) { return a != b; }},
        {"s_cmp_gt_i32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) > static_cast<int32_t>(b); }},
        {"s_cmp_ge_i32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) >= static_cast<int32_t>(b); }},
        {"s_cmp_lt_i32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); }},
        {"s_cmp_le_i32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) <= static_cast<int32_t>(b); }},
        {"s_cmp_gt_u32", [](uint32_t a, uint32_t b) { return a > b; }},
        {"s_cmp_ge_u32", [](uint32_t a, uint32_t b) { return a >= b; }},
        {"s_cmp_lt_u32", [](uint32_t a, uint32_t b) { return a < b; }},
        {"s_cmp_le_u32", [](uint32_t a, uint32_t b) { return a <= b; }},
        {"s_bitcmp1_b32", [](uint32_t a, uint32_t b) { return (a >> (b & 31) & 1) != 0; }},
        {"s_bitcmp0_b32", [](uint32_t a, uint32_t b) { return (a >> (b & 31) & 1) == 0; }},
    };
    for (const Comparison& comparison : comparisons)
        for (const uint32_t a : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu})
            for (const uint32_t b : {0u, 1u, 0x80000000u, 0xFFFFFFFFu})
                EXPECT_EQ(run(Target::gfx1100, fmt::format("{} s8, s10", comparison.name), a, b).scc,
                          comparison.expected(a, b) ? 1u : 0u)
                    << comparison.name << " " << a << " " << b;
    EXPECT_EQ(run(Target::gfx1030, "s_cmpk_lt_i32 s8, 0xffff", 0xFFFFFFFE).scc, 1u);
    EXPECT_EQ(run(Target::gfx1030, "s_cmpk_lt_u32 s8, 0xffff", 0xFFFE).scc, 1u);
    EXPECT_EQ(run(Target::gfx1030, "s_cmpk_gt_u32 s8, 0xffff", 0xFFFFFFFE).scc, 1u);
    EXPECT_EQ(run(Target::gfx1100, "s_cmp_eq_u64 s[8:9], s[10:11]", uint64_t{1} << 40, 0).scc, 0u);
}

TEST(Salu, SavesExec) {
    struct Saving {
        std::string_view name;
        uint32_t (*combine)(uint32_t s, uint32_t exec);
    };
    const Saving savings[] = {
        {"s_and_saveexec_b32", [](uint32_t s, uint32_t exec) { return s & exec; }},
        {"s_or_saveexec_b32", [](uint32_t s, uint32_t exec) { return s | exec; }},
        {"s_xor_saveexec_b32", [](uint32_t s, uint32_t exec) { return s ^ exec; }},
        {"s_nand_saveexec_b32", [](uint32_t s, uint32_t exec) { return ~(s & exec); }},
        {"s_nor_saveexec_b32", [](uint32_t s, uint32_t exec) { return ~(s | exec); }},
        {"s_xnor_saveexec_b32", [](uint32_t s, uint32_t exec) { return ~(s ^ exec); }},
        {"s_and_not1_saveexec_b32", [](uint32_t s, uint32_t exec) { return s & ~exec; }},
        {"s_and_not0_saveexec_b32", [](uint32_t s, uint32_t exec) { return ~s & exec; }},
        {"s_or_not1_saveexec_b32", [](uint32_t s, uint32_t exec) { return s | ~exec; }},
        {"s_or_not0_saveexec_b32", [](uint32_t s, uint32_t exec) { return ~s | exec; }},
    };
    for (const Saving& saving : savings) {
        const uint32_t exec = 0xFF00FF00, operand = 0xF0F0F0F0, combined = saving.combine(operand, exec);
        const std::string text = fmt::format(
            "s_mov_b32 exec_lo, s10; {} s12, s8; s_mov_b32 s13, exec_lo; s_mov_b32 exec_lo, 1", saving.name);
        const ScalarResult result = run(Target::gfx1100, text, operand, exec);
        EXPECT_EQ(result.low(), exec) << saving.name;
        EXPECT_EQ(result.value >> 32, combined) << saving.name;
        EXPECT_EQ(result.scc, combined != 0 ? 1u : 0u) << saving.name;
    }
    const ScalarResult result = run(Target::gfx1100,
                                    "s_mov_b32 exec_lo, s10; s_and_not1_wrexec_b32 s12, s8; s_mov_b32 s13, exec_lo\n"
                                    "s_mov_b32 exec_lo, 1",
                                    0xF0F0, 0xFF00);
    EXPECT_EQ(result.value, 0x00F0u | uint64_t{0x00F0} << 32);
}

// A subvector loop that writes into each active lane the number of the turn, with `exec` before it; then exec, the
// number of turns and the lanes' values go out.
ProgramResult loop_over_halves(Target target, uint64_t exec) {
    const bool old = generation(target) == Generation::gfx10;
    const std::string text =
        load_out_pointer(target) + "v_and_b32_e32 v0, 0x3ff, v0; v_lshlrev_b32_e32 v1, 2, v0; v_mov_b32_e32 v8, 0\n" +
        "s_mov_b32 s20, 0; s_mov_b32 s12, 77\n" +
        fmt::format("s_mov_b32 exec_lo, {:#x}; s_mov_b32 exec_hi, {:#x}\n", static_cast<uint32_t>(exec),
                    static_cast<uint32_t>(exec >> 32)) +
        "s_subvector_loop_begin s12, over\n"
        "again:\n s_add_u32 s20, s20, 1; v_mov_b32_e32 v8, s20\n"
        "s_subvector_loop_end s12, again\n"
        "over:\n s_mov_b64 s[22:23], exec; s_mov_b64 exec, -1; v_mov_b32_e32 v2, s22; v_mov_b32_e32 v3, s23\n"
        "v_mov_b32_e32 v4, s20\n" +
        fmt::format(
            "{0} v1, v8, s[2:3]\n{0} v1, v2, s[2:3] offset:256\n{0} v1, v3, s[2:3] offset:512\n"
            "{0} v1, v4, s[2:3] offset:768\n",
            old ? "global_store_dword" : "global_store_b32") +
        "s_endpgm";
    return run_program({.target = target, .wave_size = WaveSize::wave64, .group = {64, 1, 1}}, text);
}

TEST(SubvectorLoop, GivesEachHalfThatHasActiveLanesItsTurnAndRestoresExec) {
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1150})
        for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xF0}, uint64_t{0xF0} << 32, uint64_t{0x80000001} << 24,
                                    uint64_t{0}, uint64_t{1} << 63 | 1}) {
            const ProgramResult result = loop_over_halves(target, exec);
            EXPECT_TRUE(reports_nothing(result)) << name(target);
            const bool has_low = static_cast<uint32_t>(exec) != 0, has_high = exec >> 32 != 0;
            const uint32_t turn_of_low = 1, turn_of_high = has_low ? 2 : 1;
            for (unsigned lane = 0; lane < 64; ++lane)
                EXPECT_EQ(result.out[lane], !(exec >> lane & 1) ? 0
                                            : lane < 32         ? turn_of_low
                                                                : turn_of_high)
                    << name(target) << ", exec " << exec << ", lane " << lane;
            EXPECT_EQ(result.out[64] | uint64_t{result.out[128]} << 32, exec);
            EXPECT_EQ(result.out[192], unsigned{has_low} + unsigned{has_high});
        }
}

TEST(SubvectorLoop, ReportsAHalfOfExecThatNothingWrote) {
    const ProgramResult result = run_program({.wave_size = WaveSize::wave64, .group = {64, 1, 1}},
                                             "s_subvector_loop_end s40, over\nover:\n s_endpgm");
    EXPECT_TRUE(reports_only(result, FindingKind::undefined_exec));
}

TEST(SubvectorLoop, IsRefusedInWavesThatHaveNoHalves) {
    const ProgramResult result = run_program({}, "s_subvector_loop_begin s40, over\nover:\n s_endpgm");
    EXPECT_TRUE(reports_only(result, FindingKind::unsupported_instruction));
    EXPECT_NE(result.text().find("a wave of 32 lanes has no halves to take turns"), std::string::npos) << result.text();
}

TEST(Salu, MovesRegistersNamedByM0) {
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b32 m0, 2; s_movrels_b32 s12, s8", 1, 77).low(), 77u);
    EXPECT_EQ(run(Target::gfx1100, "s_mov_b32 m0, 1; s_movreld_b32 s12, s8", 77).value >> 32, 77u);
}

TEST(Salu, CallsAndReturns) {
    const std::string text =
        "s_getpc_b64 s[20:21]; s_call_b64 s[22:23], function\n s_branch over\n"
        "function:\n s_mov_b32 s12, 42; s_setpc_b64 s[22:23]\n over:";
    EXPECT_EQ(run(Target::gfx1100, text, 0).low(), 42u);
    // s_getpc gives the address behind itself; two instructions of four bytes lie before the label.
    const std::string swap =
        "s_getpc_b64 s[20:21]; s_add_u32 s20, s20, s8; s_swappc_b64 s[22:23], s[20:21]\n s_branch over\n"
        "s_mov_b32 s12, 43; s_setpc_b64 s[22:23]\n over:";
    EXPECT_EQ(run(Target::gfx1100, swap, 12).low(), 43u);
}

TEST(Salu, ReadsAndWritesTheMode) {
    const FloatModes keep_all = {};
    EXPECT_EQ(run(Target::gfx1100, "s_getreg_b32 s12, hwreg(HW_REG_MODE, 4, 4)", 0, 0, 0, 0, keep_all).low(), 15u);
    EXPECT_EQ(
        run(Target::gfx1100, "s_denorm_mode 3; s_round_mode 9; s_getreg_b32 s12, hwreg(HW_REG_MODE, 0, 8)", 0).low(),
        0x39u);
    EXPECT_EQ(run(Target::gfx1100,
                  "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s8; s_getreg_b32 s12, hwreg(HW_REG_MODE, 0, 8)", 0xFE)
                  .low(),
              0xE0u);
    EXPECT_EQ(run(Target::gfx1100,
                  "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5; s_getreg_b32 s12, hwreg(HW_REG_MODE, 0, 4)", 0)
                  .low(),
              5u);
}

TEST(SaluFloat, AgreesWithTheHost) {
    const float values[] = {0.0f, -0.0f, 1.0f, -2.5f, 1e30f, 3.0f, 1e-3f, 7.75f};
    for (const Target target : {Target::gfx1150, Target::gfx1201})
        for (const float a : values)
            for (const float b : {1.5f, -3.25f, 1e-20f}) {
                const auto result = [&](std::string_view operation) {
                    return std::bit_cast<float>(run(target, fmt::format("{} s12, s8, s10", operation),
                                                    std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b))
                                                    .low());
                };
                EXPECT_EQ(result("s_add_f32"), a + b);
                EXPECT_EQ(result("s_sub_f32"), a - b);
                EXPECT_EQ(result("s_mul_f32"), a * b);
                EXPECT_EQ(result(target == Target::gfx1201 ? "s_min_num_f32" : "s_min_f32"), std::fmin(a, b));
                EXPECT_EQ(result(target == Target::gfx1201 ? "s_max_num_f32" : "s_max_f32"), std::fmax(a, b));
            }
}

TEST(SaluFloat, RoundsAndConverts) {
    const auto unary = [](std::string_view operation, float a) {
        return run(Target::gfx1201, fmt::format("{} s12, s8", operation), std::bit_cast<uint32_t>(a)).low();
    };
    for (const float a : {2.5f, -2.5f, 3.5f, 0.3f, -0.3f, 1e9f}) {
        EXPECT_EQ(std::bit_cast<float>(unary("s_ceil_f32", a)), std::ceil(a));
        EXPECT_EQ(std::bit_cast<float>(unary("s_floor_f32", a)), std::floor(a));
        EXPECT_EQ(std::bit_cast<float>(unary("s_trunc_f32", a)), std::trunc(a));
        EXPECT_EQ(std::bit_cast<float>(unary("s_rndne_f32", a)), std::nearbyint(a));
        EXPECT_EQ(unary("s_cvt_i32_f32", a), static_cast<uint32_t>(static_cast<int32_t>(a)));
    }
    EXPECT_EQ(unary("s_cvt_u32_f32", -5.0f), 0u);
    EXPECT_EQ(unary("s_cvt_i32_f32", 1e20f), 0x7FFFFFFFu);
    EXPECT_EQ(run(Target::gfx1201, "s_cvt_f32_i32 s12, s8", 0xFFFFFFF9).low(), std::bit_cast<uint32_t>(-7.0f));
    EXPECT_EQ(run(Target::gfx1201, "s_cvt_f32_u32 s12, s8", kAll).low(), std::bit_cast<uint32_t>(4294967296.0f));
    EXPECT_EQ(unary("s_cvt_f16_f32", 1.5f), 0x3E00u);
    EXPECT_EQ(run(Target::gfx1201, "s_cvt_f32_f16 s12, s8", 0x3E00).low(), std::bit_cast<uint32_t>(1.5f));
    EXPECT_EQ(run(Target::gfx1201, "s_cvt_hi_f32_f16 s12, s8", 0x3E000000).low(), std::bit_cast<uint32_t>(1.5f));
}

TEST(SaluFloat, FusesMultiplyAndAdd) {
    const float a = 1.0f + 0x1p-23f, b = 1.0f - 0x1p-23f, c = -1.0f;
    const ScalarResult result = run(Target::gfx1201, "s_fmac_f32 s12, s8, s10", std::bit_cast<uint32_t>(a),
                                    std::bit_cast<uint32_t>(b), 0, std::bit_cast<uint32_t>(c));
    EXPECT_EQ(std::bit_cast<float>(result.low()), std::fma(a, b, c));
}

TEST(SaluFloat, FusesWithALiteral) {
    const auto bits = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
    const float a = 1.0f + 0x1p-23f, b = 1.0f - 0x1p-23f, k = -1.0f;
    for (const Target target : {Target::gfx1150, Target::gfx1201}) {
        const auto run_on = [&](std::string_view instruction) {
            return std::bit_cast<float>(run(target, instruction, bits(a), bits(b)).low());
        };
        EXPECT_EQ(run_on("s_fmaak_f32 s12, s8, s10, 0xbf800000"), std::fma(a, b, k));
        EXPECT_EQ(run_on("s_fmamk_f32 s12, s8, 0xbf800000, s10"), std::fma(a, k, b));
        EXPECT_EQ(run_on("s_fmamk_f32 s12, s8, 0xbf800000, 0xbf800000"), std::fma(a, k, k));
    }
}

TEST(SaluFloat, HonoursTheDenormalMode) {
    const uint32_t denormal = 0x00400000;
    EXPECT_EQ(run(Target::gfx1201, "s_add_f32 s12, s8, 0", denormal).low(), denormal);
    EXPECT_EQ(run(Target::gfx1201, "s_denorm_mode 0; s_add_f32 s12, s8, 0", denormal).low(), 0u);
}

TEST(SaluFloat, ComparesWithNan) {
    const uint64_t nan = 0x7FC00000, one = std::bit_cast<uint32_t>(1.0f), two = std::bit_cast<uint32_t>(2.0f);
    struct Comparison {
        std::string_view name;
        uint32_t less, equal, greater, unordered;
    };
    const Comparison comparisons[] = {
        {"lt", 1, 0, 0, 0},  {"eq", 0, 1, 0, 0},  {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},  {"lg", 1, 0, 1, 0},
        {"ge", 0, 1, 1, 0},  {"o", 1, 1, 1, 0},   {"u", 0, 0, 0, 1},   {"nge", 1, 0, 0, 1}, {"nlg", 0, 1, 0, 1},
        {"ngt", 1, 1, 0, 1}, {"nle", 0, 0, 1, 1}, {"neq", 1, 0, 1, 1}, {"nlt", 0, 1, 1, 1},
    };
    for (const Comparison& c : comparisons) {
        const std::string text = fmt::format("s_cmp_{}_f32 s8, s10", c.name);
        EXPECT_EQ(run(Target::gfx1201, text, one, two).scc, c.less) << c.name;
        EXPECT_EQ(run(Target::gfx1201, text, one, one).scc, c.equal) << c.name;
        EXPECT_EQ(run(Target::gfx1201, text, two, one).scc, c.greater) << c.name;
        EXPECT_EQ(run(Target::gfx1201, text, nan, one).scc, c.unordered) << c.name;
    }
}

}  // namespace salu_test
}  // namespace riftjit::rdna::emulator
