// The emitted lane functions against the C++ ones, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "tests/jit/rdna/emulator/lanes/lane_reference.h"

namespace riftjit::rdna::emulator {
namespace lanes_x86_test {

constexpr unsigned kRounds = 200;

// Bit patterns at which integers and floats change their ways.
constexpr uint32_t kSpecial[] = {
    0,          1,          2,          31,         32,         33,         63,         0x7F,       0x80,
    0xFF,       0x7FFF,     0x8000,     0xFFFF,     0x7FFFFF,   0x800000,   0xFFFFFF,   0x1000000,  0x7FFFFFFF,
    0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFE0, 0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000, 0x3FC00000,
    0x40200000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x80800000, 0x007FFFFF, 0x807FFFFF,
    0x4F000000, 0xCF000000, 0x4F800000, 0x4EFFFFFF, 0x4B000000, 0x4B7FFFFF, 0x3EFFFFFF, 0xBEFFFFFF, 0x5F000000,
    0x7FC00001, 0x7F800001, 0xFFC12345, 0xFFA00000, 0x3FF00000, 0xBFF00000, 0x7FF00000, 0xFFF00000, 0x7FEFFFFF,
};

// The same of f16.
constexpr uint32_t kSpecialHalves[] = {
    0,      0x8000, 1,      0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x3800, 0xB800, 0x37FF, 0x3800, 0x3801,
    0x3C00, 0xBC00, 0x3BFF, 0x3C01, 0x3E00, 0x4100, 0x6400, 0xE400, 0x63FF, 0x7800, 0x77FF, 0xF800, 0x7BFF, 0xFBFF,
    0x7BFE, 0x7C00, 0xFC00, 0x7C01, 0xFC01, 0x7E00, 0xFE00, 0x7FFF, 0xFDEF, 0x1400, 0x9400, 0x13FF, 0x1000, 0x9000,
};

class Inputs {
public:
    uint32_t word() {
        const uint32_t kind = random_() % 13;
        if (kind < 3) return kSpecial[random_() % std::size(kSpecial)];
        if (kind < 5) return float_near_one();
        if (kind < 9) return half() | half() << 16;
        if (kind < 10) return random_() & 0x0F0F0F0F;  // selectors of bytes
        return random_();
    }
    uint32_t mask() {
        const uint32_t kind = random_() % 4;
        if (kind == 3) return 1u << random_() % kLanes;  // whose special values decide alone
        return kind == 0 ? 0xFFFFFFFF : kind == 1 ? random_() : random_() & random_() & random_();
    }
    void fill(Words& words) {
        for (uint32_t& value : words) value = word();
    }

private:
    uint32_t half() {
        const uint32_t kind = random_() % 4;
        if (kind == 0) return kSpecialHalves[random_() % std::size(kSpecialHalves)];
        if (kind == 1) return (random_() & 0x83FF) | (12 + random_() % 8) << 10;  // near one
        return random_() & 0xFFFF;
    }
    uint32_t float_near_one() { return (random_() & 0x807FFFFF) | (120 + random_() % 16) << 23; }
    std::mt19937 random_{20241128};
};

// No NaN, and nothing that makes one, as f64 and f32 or as f16: exponents stay in the middle.
void make_ordinary(Words (&sources)[3], unsigned round) {
    for (Words& source : sources)
        for (uint32_t& word : source) {
            if ((word >> 20 & 0x7FF) > 0x480) word = (word & 0x800FFFFF) | 0x40000000;
            if (round % 4 != 0) continue;
            if ((word & 0x7C00) == 0x7C00) word ^= 0x4000;
            if ((word >> 16 & 0x7C00) == 0x7C00) word ^= 0x40000000;
        }
}

struct Round {
    Words sources[3], d;
    uint64_t lanes;
};
const std::vector<Round>& rounds() {
    static const std::vector<Round> all = [] {
        std::vector<Round> made(kRounds);
        Inputs inputs;
        for (unsigned round = 0; round < kRounds; ++round) {
            for (Words& source : made[round].sources) inputs.fill(source);
            inputs.fill(made[round].d);
            if (round % 2 == 0) make_ordinary(made[round].sources, round);
            for (size_t i = round % 3; i < made[round].d.size(); i += 3)  // equal numbers
                made[round].sources[1][i] = made[round].sources[0][i];
            made[round].lanes = inputs.mask() | uint64_t{inputs.mask()} << 32;
        }
        return made;
    }();
    return all;
}

class LaneKernels : public testing::TestWithParam<LaneIsa> {
protected:
    void SetUp() override {
        if (GetParam() > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    }
    // v_ldexp_f64 scales by what only AVX-512 has.
    bool has_form(Opcode opcode) const { return GetParam() == LaneIsa::avx512 || opcode != Opcode::v_ldexp_f64; }

    // How often the function computed a result.
    unsigned compare(Opcode opcode, uint8_t variant, unsigned stride) {
        const auto kernel = lane_kernel(GetParam(), opcode, variant, stride);
        unsigned computed = 0;
        for (const Round& round : rounds()) {
            const auto& [sources, before, lanes] = round;
            const Expected expected = by_lane_functions(*kernel, opcode, variant, before, sources, lanes, stride);
            Words d = before;
            const uint64_t result =
                kernel->function(d.data(), sources[0].data(), sources[1].data(), sources[2].data(), lanes);
            if (result == kLaneKernelDeclined && kernel->result == LaneKernelResult::words) {
                EXPECT_EQ(d, before) << info(opcode).name << " wrote though it declined";
                continue;
            }
            ++computed;
            EXPECT_EQ(d, expected.words) << info(opcode).name << " variant " << int{variant} << " round "
                                         << &round - rounds().data();
            if (kernel->result != LaneKernelResult::words) {
                EXPECT_EQ(static_cast<uint32_t>(result), expected.mask) << info(opcode).name;
            }
            if (HasFailure()) return computed;
        }
        return computed;
    }

    // With the destination's registers those of a source, or one further on, as instructions may have them.
    void compare_in_place(Opcode opcode, uint8_t variant, unsigned source, unsigned registers_on) {
        const auto kernel = lane_kernel(GetParam(), opcode, variant, kLanes);
        ASSERT_EQ(kernel.has_value(), has_form(opcode)) << info(opcode).name;
        if (!kernel) return;
        for (const Round& round : rounds()) {
            Words sources[3];
            std::copy_n(round.sources, 3, sources);
            Words apart;
            std::copy(sources[source].begin() + registers_on * kLanes, sources[source].end(), apart.begin());
            uint32_t* const within = sources[source].data() + registers_on * kLanes;
            const uint64_t expected = kernel->function(apart.data(), round.sources[0].data(), round.sources[1].data(),
                                                       round.sources[2].data(), round.lanes);
            const uint64_t result =
                kernel->function(within, sources[0].data(), sources[1].data(), sources[2].data(), round.lanes);
            ASSERT_EQ(result, expected) << info(opcode).name;
            ASSERT_TRUE(std::equal(apart.begin(), apart.begin() + 4 * kLanes, within))
                << info(opcode).name << " in place of source " << source << " + " << registers_on;
        }
    }
};

TEST_P(LaneKernels, AgreeWithTheLaneFunctions) {
    for (const Opcode opcode : lane_kernel_opcodes())
        for (const uint8_t variant : lane_kernel_variants(opcode))
            for (const unsigned stride : {32u, 64u}) {
                ASSERT_EQ(lane_kernel(GetParam(), opcode, variant, stride).has_value(), has_form(opcode))
                    << info(opcode).name << " variant " << int{variant};
                if (!has_form(opcode)) continue;
                EXPECT_GE(compare(opcode, variant, stride), kRounds / 8)
                    << info(opcode).name << " declines nearly always";
            }
}

// f16 has 65,536 values: each of them, from one lane to the next so that both halves of a register see it.
TEST_P(LaneKernels, AgreeForEveryHalf) {
    unsigned opcodes = 0, compared = 0;
    for (const Opcode opcode : lane_kernel_opcodes()) {
        const auto kernel = lane_kernel(GetParam(), opcode, 0, kLanes);
        if (!kernel || kernel->sources != 1 || kernel->halves.sources == HalfSources::none) continue;
        ++opcodes;
        for (uint32_t value = 0; value < 0x10000; value += kLanes) {
            Words sources[3]{}, d{};
            for (unsigned lane = 0; lane < kLanes; ++lane) sources[0][lane] = value + lane;
            const Expected expected = by_lane_functions(*kernel, opcode, 0, d, sources, 0xFFFFFFFF, kLanes);
            const uint64_t result = kernel->function(d.data(), sources[0].data(), nullptr, nullptr, 0xFFFFFFFF);
            if (result == kLaneKernelDeclined) continue;
            ++compared;
            ASSERT_EQ(d, expected.words) << info(opcode).name << " from " << value;
        }
    }
    EXPECT_GE(opcodes, 10u);
    EXPECT_GE(compared, opcodes * (0x10000 / kLanes) / 2);
}

// 683/512 * 3/4 is half-way between 1 and the next f16; what is added is below the last bit of f32.
TEST_P(LaneKernels, RoundFusedSumsOfHalvesOnce) {
    constexpr uint32_t kFactor = 0x3D56, kThreeQuarters = 0x3A00, kLeast = 0x0001, kMinusLeast = 0x8001;
    constexpr uint32_t kOne = 0x3C00, kAboveOne = 0x3C01, kF16Sources = 7;
    const auto both = [](uint32_t half) { return half | half << 16; };
    for (const auto& [opcode, variant] : {std::pair{Opcode::v_fma_f16, 0u}, std::pair{Opcode::v_pk_fma_f16, 0u},
                                          std::pair{Opcode::v_fma_mixlo_f16, kF16Sources}}) {
        const auto kernel = lane_kernel(GetParam(), opcode, static_cast<uint8_t>(variant), kLanes);
        ASSERT_TRUE(kernel.has_value());
        Words a, b, c, d{};
        a.fill(both(kFactor)), b.fill(both(kThreeQuarters));
        for (unsigned lane = 0; lane < c.size(); ++lane) c[lane] = both(lane % 2 == 0 ? kLeast : kMinusLeast);
        EXPECT_EQ(kernel->function(d.data(), a.data(), b.data(), c.data(), 0xFFFFFFFF), 0u);
        for (unsigned lane = 0; lane < kLanes; ++lane)
            EXPECT_EQ(low_half(d[lane]), lane % 2 == 0 ? kAboveOne : kOne) << info(opcode).name << " lane " << lane;
    }
}

// Arguments whose power or logarithm lies within 40 units of f64's last place of half-way between two f32.
TEST_P(LaneKernels, DeclineResultsNearATie) {
    struct NearTie {
        Opcode opcode;
        uint32_t argument;
        double (*function)(double);
    };
    const auto power = [](double x) { return std::exp2(x); };
    const auto logarithm = [](double x) { return std::log2(x); };
    for (const auto& [opcode, argument, function] :
         {NearTie{Opcode::v_exp_f32, 0x3F800B8B, power}, NearTie{Opcode::v_exp_f32, 0x3FA5A5D7, power},
          NearTie{Opcode::v_log_f32, 0x40207AB9, logarithm}, NearTie{Opcode::v_log_f32, 0x408D64DE, logarithm}}) {
        constexpr uint64_t kLostBits = (1 << 29) - 1, kTie = 1 << 28;
        const uint64_t lost = std::bit_cast<uint64_t>(function(std::bit_cast<float>(argument))) & kLostBits;
        ASSERT_NEAR(static_cast<double>(lost), static_cast<double>(kTie), 40);
        const auto kernel = lane_kernel(GetParam(), opcode, 0, kLanes);
        ASSERT_TRUE(kernel.has_value());
        Words a, d{};
        a.fill(0x3F800000);
        a[9] = argument;
        EXPECT_EQ(kernel->function(d.data(), a.data(), nullptr, nullptr, 0xFFFFFFFF), kLaneKernelDeclined)
            << info(opcode).name << " of " << argument;
    }
}

TEST_P(LaneKernels, AgreeForEverySignOfTheMixedDotProducts) {
    for (const Opcode opcode : {Opcode::v_dot4_i32_iu8, Opcode::v_dot8_i32_iu4})
        for (uint8_t signs = 0; signs < 4; ++signs) EXPECT_EQ(compare(opcode, signs, 32), kRounds);
}

TEST_P(LaneKernels, ComputeInPlace) {
    for (const Opcode opcode : lane_kernel_opcodes())
        for (const uint8_t variant : lane_kernel_variants(opcode))
            for (const unsigned source : {0u, 1u, 2u})
                for (const unsigned registers_on : {0u, 1u}) compare_in_place(opcode, variant, source, registers_on);
}

TEST_P(LaneKernels, DeclineNanResultsOfActiveLanesOnly) {
    const auto kernel = lane_kernel(GetParam(), Opcode::v_mul_f32, 0, 32);
    ASSERT_TRUE(kernel.has_value());
    Words a{}, b{}, d{};
    a[5] = 0x7F800000;  // infinity times zero
    EXPECT_EQ(kernel->function(d.data(), a.data(), b.data(), nullptr, 0xFFFFFFFF), kLaneKernelDeclined);
    EXPECT_EQ(kernel->function(d.data(), a.data(), b.data(), nullptr, 0xFFFFFFDF), 0u);
}

INSTANTIATE_TEST_SUITE_P(Levels, LaneKernels, testing::Values(LaneIsa::avx2, LaneIsa::avx512),
                         [](const auto& level) { return level.param == LaneIsa::avx2 ? "Avx2" : "Avx512"; });

}  // namespace lanes_x86_test
}  // namespace riftjit::rdna::emulator
