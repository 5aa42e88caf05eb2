// Moves between lanes: DPP in each control, permlane, readlane, swaps and registers chosen by m0; SDWA.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/jit/rdna/emulator/valu/valu_expectations.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_cross_lane_test {

constexpr uint32_t kOld = 0xA5A5A5A5;
uint32_t content(unsigned lane) { return 1000 + lane; }

// What the documents say of each control, written out per lane of a row.
struct Control {
    uint16_t code;
    const char* name;
    std::optional<int> (*source)(int lane, int count);
    int count;
};
std::vector<Control> controls() {
    std::vector<Control> all;
    for (const int permutation : {0xE4, 0x1B, 0x00, 0xFF, 0x39, 0xB1})
        all.push_back({static_cast<uint16_t>(permutation), "quad_perm",
                       [](int lane, int p) -> std::optional<int> {
                           int select[4] = {p % 4, p / 4 % 4, p / 16 % 4, p / 64};
                           return lane / 4 * 4 + select[lane % 4];
                       },
                       permutation});
    for (int n = 1; n < 16; ++n) {
        all.push_back({static_cast<uint16_t>(0x100 + n), "row_shl",
                       [](int lane, int c) -> std::optional<int> {
                           return lane + c < 16 ? std::optional(lane + c) : std::nullopt;
                       },
                       n});
        all.push_back(
            {static_cast<uint16_t>(0x110 + n), "row_shr",
             [](int lane, int c) -> std::optional<int> { return lane >= c ? std::optional(lane - c) : std::nullopt; },
             n});
        all.push_back({static_cast<uint16_t>(0x120 + n), "row_ror",
                       [](int lane, int c) -> std::optional<int> { return (lane + 16 - c) % 16; }, n});
    }
    all.push_back({0x140, "row_mirror", [](int lane, int) -> std::optional<int> { return 15 - lane; }, 0});
    all.push_back({0x141, "row_half_mirror",
                   [](int lane, int) -> std::optional<int> { return lane < 8 ? 7 - lane : 23 - lane; }, 0});
    for (int n = 0; n < 16; ++n) {
        all.push_back(
            {static_cast<uint16_t>(0x150 + n), "row_share", [](int, int c) -> std::optional<int> { return c; }, n});
        all.push_back({static_cast<uint16_t>(0x160 + n), "row_xmask",
                       [](int lane, int c) -> std::optional<int> {
                           int r = 0;
                           for (int b = 1; b < 16; b *= 2) r += (lane / b % 2 != c / b % 2) ? b : 0;
                           return r;
                       },
                       n});
    }
    return all;
}

struct DppCase {
    uint8_t row_mask, bank_mask;
    bool bound_control, fetch_inactive;
    uint64_t exec;
};
// The value that lane `lane` of v0 holds after v_mov_b32 v0, v4 with DPP; v4 holds content(), v0 kOld.
uint32_t expected(const Control& control, const DppCase& dpp, int lane) {
    const int row = lane / 16, bank = lane % 16 / 4;
    const auto bit = [](uint64_t mask, int i) { return (mask >> i & 1) != 0; };
    if (!bit(dpp.exec, lane) || !bit(dpp.row_mask, row) || !bit(dpp.bank_mask, bank)) return kOld;
    const std::optional<int> source = control.source(lane % 16, control.count);
    const bool valid = source && (dpp.fetch_inactive || bit(dpp.exec, row * 16 + *source));
    if (valid) return content(static_cast<unsigned>(row * 16 + *source));
    return dpp.bound_control ? 0 : kOld;
}

void check_dpp(WaveSize size, const Control& control, const DppCase& dpp) {
    TestWave wave(Target::gfx1100, size);
    for (unsigned lane = 0; lane < wave.state.lanes; ++lane) wave.at(4, lane) = content(lane);
    wave.fill(0, kOld);
    wave.set_exec(dpp.exec);
    Instruction move = instruction(Opcode::v_mov_b32);
    move.encoding = Encoding::dpp16;
    move.dpp = {control.code, dpp.row_mask, dpp.bank_mask, dpp.bound_control, dpp.fetch_inactive, 0};
    wave.run(move);
    for (unsigned lane = 0; lane < wave.state.lanes; ++lane)
        ASSERT_EQ(wave.at(0, lane), expected(control, dpp, static_cast<int>(lane)))
            << control.name << " " << control.count << " lane " << lane;
}

TEST(Dpp, RoutesLanesInEveryControlWithMasksBoundsAndFetches) {
    for (const Control& control : controls())
        for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64})
            for (const bool bound : {false, true})
                for (const bool fetch : {false, true})
                    for (const uint64_t exec : {~0ull, 0x0F3355AAC001FFFEull, 0ull}) {
                        check_dpp(size, control, {15, 15, bound, fetch, exec});
                        check_dpp(size, control, {5, 6, bound, fetch, exec});
                        if (testing::Test::HasFatalFailure()) return;
                    }
}

TEST(Dpp, PermutesEightLanesAndReadsInactiveOnesAsZero) {
    for (const bool fetch : {false, true}) {
        TestWave wave;
        for (unsigned lane = 0; lane < 32; ++lane) wave.at(4, lane) = content(lane);
        wave.fill(0, kOld);
        wave.set_exec(0xFFFFFFFD);
        Instruction move = instruction(Opcode::v_mov_b32);
        move.encoding = Encoding::dpp8;
        move.dpp.selectors = 1 | 0 << 3 | 3 << 6 | 2 << 9 | 5 << 12 | 4 << 15 | 7 << 18 | 6u << 21;
        move.dpp.fetch_inactive = fetch;
        wave.run(move);
        EXPECT_EQ(wave.at(0, 0), fetch ? content(1) : 0);
        EXPECT_EQ(wave.at(0, 1), kOld);
        EXPECT_EQ(wave.at(0, 30), content(31));
        EXPECT_EQ(wave.at(0, 8), content(9));
    }
}

// Only the first source is routed; modifiers apply to what arrives.
TEST(Dpp, RoutesTheFirstSourceBeforeItsModifiers) {
    TestWave wave;
    for (unsigned lane = 0; lane < 32; ++lane) {
        wave.at(4, lane) = std::bit_cast<uint32_t>(static_cast<float>(lane));
        wave.at(8, lane) = std::bit_cast<uint32_t>(100.0f * static_cast<float>(lane));
    }
    Instruction add = instruction(Opcode::v_add_f32);
    add.encoding = Encoding::dpp16;
    add.dpp.control = 0x161;
    add.neg = 1;
    wave.run(add);
    for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(wave.at(0, lane),
                  std::bit_cast<uint32_t>(100.0f * static_cast<float>(lane) - static_cast<float>(lane ^ 1u)));
    Instruction compare = instruction(Opcode::v_cmp_lt_f32);
    compare.encoding = Encoding::dpp16;
    compare.dpp = {0x101, 15, 15, false, false, 0};  // row_shl:1 leaves lane 15 of each row without a source
    wave.run(compare);
    EXPECT_EQ(wave.state.scalars[Operand::kVcc] & 0x80008000, 0u);
    EXPECT_EQ(wave.state.scalars[Operand::kVcc] & 2, 2u);
}

TEST(CrossLane, ReadsAndWritesLanesWhateverExecIs) {
    TestWave wave;
    for (unsigned lane = 0; lane < 32; ++lane) wave.at(4, lane) = content(lane);
    wave.set_exec(0x00000100);
    Instruction read = instruction(Opcode::v_readlane_b32);
    wave.state.scalars[read.operands[2].code] = 32 + 17;  // modulo the wave
    wave.run(read);
    EXPECT_EQ(wave.state.scalars[20], content(17));
    Instruction first = instruction(Opcode::v_readfirstlane_b32);
    wave.run(first);
    EXPECT_EQ(wave.state.scalars[20], content(8));
    wave.set_exec(0);
    wave.run(first);
    EXPECT_EQ(wave.state.scalars[20], content(0));
    Instruction write = instruction(Opcode::v_writelane_b32);
    write.operands[1] = sgpr(40);
    write.operands[2] = {128 + 5};
    wave.state.scalars[40] = 77;
    wave.fill(0, kOld);
    wave.run(write);
    EXPECT_EQ(wave.at(0, 5), 77u);
    EXPECT_EQ(wave.at(0, 4), kOld);
}

TEST(CrossLane, PermutesWithinAndAcrossRows) {
    std::mt19937_64 random(13);
    for (const bool crossed : {false, true})
        for (const bool fetch : {false, true})
            for (const bool zero : {false, true})
                for (const bool variable : {false, true}) {
                    TestWave wave(Target::gfx1201);
                    const uint64_t nibbles = random();
                    const uint32_t exec = static_cast<uint32_t>(random());
                    for (unsigned lane = 0; lane < 32; ++lane) wave.at(4, lane) = content(lane);
                    for (unsigned lane = 0; lane < 32; ++lane)
                        wave.at(8, lane) = static_cast<uint32_t>(nibbles >> 4 * (lane % 16)) & 15;
                    wave.fill(0, kOld);
                    wave.set_exec(exec);
                    wave.state.scalars[32] = static_cast<uint32_t>(nibbles);
                    wave.state.scalars[34] = static_cast<uint32_t>(nibbles >> 32);
                    Instruction permute =
                        instruction(variable ? (crossed ? Opcode::v_permlanex16_var_b32 : Opcode::v_permlane16_var_b32)
                                             : (crossed ? Opcode::v_permlanex16_b32 : Opcode::v_permlane16_b32));
                    permute.op_sel = static_cast<uint8_t>((fetch ? 1 : 0) | (zero ? 2 : 0));
                    wave.run(permute);
                    for (unsigned lane = 0; lane < 32; ++lane) {
                        const unsigned row = crossed ? 1 - lane / 16 : lane / 16,
                                       from = row * 16 + (nibbles >> 4 * (lane % 16)) % 16;
                        const bool active = exec >> lane & 1, valid = fetch || (exec >> from & 1) != 0;
                        EXPECT_EQ(wave.at(0, lane), !active ? kOld : valid ? content(from) : zero ? 0 : kOld);
                    }
                }
}

TEST(CrossLane, ExchangesTheHalvesOfAWave64) {
    TestWave wave(Target::gfx1100, WaveSize::wave64), narrow;
    for (unsigned lane = 0; lane < 64; ++lane) wave.at(4, lane) = content(lane);
    wave.fill(0, kOld);
    wave.set_exec(0xFFFFFFFF00000001);
    wave.run(instruction(Opcode::v_permlane64_b32));
    EXPECT_EQ(wave.at(0, 0), content(32));
    EXPECT_EQ(wave.at(0, 1), kOld);
    EXPECT_EQ(wave.at(0, 33), content(1));
    narrow.fill(0, kOld);
    narrow.run(instruction(Opcode::v_permlane64_b32));
    EXPECT_EQ(narrow.at(0), kOld);
}

TEST(CrossLane, SwapsRegistersInActiveLanes) {
    TestWave wave;
    wave.fill(0, 1);
    wave.fill(4, 2);
    wave.set_exec(1);
    Instruction swap = instruction(Opcode::v_swap_b32);
    swap.operands = {vgpr(0), vgpr(4), vgpr(4), vgpr(0)};
    wave.run(swap);
    EXPECT_EQ(wave.at(0, 0), 2u);
    EXPECT_EQ(wave.at(4, 0), 1u);
    EXPECT_EQ(wave.at(0, 1), 1u);
}

TEST(CrossLane, IndexesRegistersByM0) {
    TestWave wave;
    wave.state.vgpr_count = 32;
    for (unsigned reg = 0; reg < 32; ++reg) wave.fill(reg, 500 + reg);
    uint32_t& m0 = wave.state.scalars[m0_register(Generation::gfx11).code];
    m0 = 3;
    Instruction source = instruction(Opcode::v_movrels_b32);
    wave.run(source);  // v0 = v[4 + 3]
    EXPECT_EQ(wave.at(0), 507u);
    Instruction destination = instruction(Opcode::v_movreld_b32);
    destination.operands = {vgpr(10), vgpr(20)};
    wave.run(destination);
    EXPECT_EQ(wave.at(13), 520u);
    Instruction both = instruction(Opcode::v_movrelsd_b32);
    both.operands = {vgpr(10), vgpr(20)};
    wave.run(both);
    EXPECT_EQ(wave.at(13), 523u);
    m0 = 2 | 5 << 16;
    both.opcode = Opcode::v_movrelsd_2_b32;
    wave.run(both);
    EXPECT_EQ(wave.at(15), 522u);
    Instruction swap = instruction(Opcode::v_swaprel_b32);
    swap.operands = {vgpr(10), vgpr(20), vgpr(20), vgpr(10)};
    wave.run(swap);
    EXPECT_EQ(wave.at(15), 522u);
    EXPECT_EQ(wave.at(22), 522u);
    EXPECT_TRUE(wave.findings.empty());
    m0 = 28;
    wave.run(source);  // v32 does not exist
    EXPECT_FALSE(wave.findings.empty());
    EXPECT_EQ(wave.at(0), 507u);
}

TEST(CrossLane, DoesNothingForNops) {
    TestWave wave;
    const std::vector<uint32_t> before = wave.registers;
    for (const Opcode opcode : {Opcode::v_nop, Opcode::v_pipeflush, Opcode::v_clrexcp}) wave.run(instruction(opcode));
    EXPECT_EQ(wave.registers, before);
}

// Selects count bytes from 0 and halves from 4; 6 is the dword.
TEST(Sdwa, SelectsAndExtendsSources) {
    TestWave wave(Target::gfx1030);
    wave.fill(4, 0x80F1A2C3);
    wave.fill(8, 0);
    Instruction add = instruction(Opcode::v_add_nc_u32);
    add.encoding = Encoding::sdwa;
    const uint32_t plain[] = {0xC3, 0xA2, 0xF1, 0x80, 0xA2C3, 0x80F1, 0x80F1A2C3};
    const uint32_t extended[] = {0xFFFFFFC3, 0xFFFFFFA2, 0xFFFFFFF1, 0xFFFFFF80, 0xFFFFA2C3, 0xFFFF80F1, 0x80F1A2C3};
    for (uint8_t select = 0; select < 7; ++select) {
        add.sdwa.source_select[0] = select;
        add.sdwa.sign_extend = 0;
        wave.run(add);
        EXPECT_EQ(wave.at(0), plain[select]);
        add.sdwa.sign_extend = 1;
        wave.run(add);
        EXPECT_EQ(wave.at(0), extended[select]);
    }
}

TEST(Sdwa, PlacesResultsAndTreatsTheRestAsAsked) {
    TestWave wave(Target::gfx1030);
    wave.fill(4, 0x12345680);
    Instruction move = instruction(Opcode::v_mov_b32);
    move.encoding = Encoding::sdwa;
    struct Example {
        uint8_t select, unused;
        uint32_t want;
    };
    const Example examples[] = {{0, 0, 0x00000080}, {1, 0, 0x00008000}, {1, 1, 0xFFFF8000}, {1, 2, 0xA5A580A5},
                                {3, 2, 0x80A5A5A5}, {4, 2, 0xA5A55680}, {5, 0, 0x56800000}, {5, 2, 0x5680A5A5},
                                {4, 1, 0x00005680}, {6, 0, 0x12345680}};
    for (const Example& example : examples) {
        wave.fill(0, kOld);
        move.sdwa.destination_select = example.select;
        move.sdwa.destination_unused = example.unused;
        wave.run(move);
        EXPECT_EQ(wave.at(0), example.want) << int{example.select} << " " << int{example.unused};
    }
}

TEST(Sdwa, NegatesTheSelectedHalf) {
    TestWave wave(Target::gfx1030);
    wave.fill(4, 0x3C004000);  // 1.0 over 2.0
    wave.fill(8, 0x42000000);  // 3.0 in the upper half
    wave.fill(0, kOld);
    Instruction add = instruction(Opcode::v_add_f16);
    add.encoding = Encoding::sdwa;
    add.sdwa.source_select[0] = 5;
    add.sdwa.source_select[1] = 5;
    add.sdwa.destination_select = 5;
    add.sdwa.destination_unused = 2;
    add.neg = 1;
    wave.run(add);
    EXPECT_EQ(wave.at(0), 0x4000A5A5u);  // 3 - 1
}

}  // namespace valu_cross_lane_test

std::vector<Opcode> expected_cross_lane_opcodes() {
    return {Opcode::v_readlane_b32,        Opcode::v_readfirstlane_b32, Opcode::v_writelane_b32,
            Opcode::v_permlane16_b32,      Opcode::v_permlanex16_b32,   Opcode::v_permlane16_var_b32,
            Opcode::v_permlanex16_var_b32, Opcode::v_permlane64_b32,    Opcode::v_swap_b32,
            Opcode::v_swaprel_b32,         Opcode::v_movreld_b32,       Opcode::v_movrels_b32,
            Opcode::v_movrelsd_b32,        Opcode::v_movrelsd_2_b32,    Opcode::v_nop,
            Opcode::v_pipeflush,           Opcode::v_clrexcp,           Opcode::v_fma_mix_f32,
            Opcode::v_fma_mixlo_f16,       Opcode::v_fma_mixhi_f16};
}

}  // namespace riftjit::rdna::emulator
