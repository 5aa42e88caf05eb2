// The steps of division where their rules change: every pair of exponents about a limit, the scaled number being the
// denominator, the numerator or neither.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/jit/rdna/emulator/lanes/lane_reference.h"

namespace riftjit::rdna::emulator {
namespace lanes_division_test {

struct Case {
    Opcode opcode;
    FloatFormat format;
    std::vector<int> exponents;
};
// Zero and denormals, tiny numerators, quotients that leave the range, denominators whose reciprocal is a denormal,
// infinities and NaNs.
const std::vector<int> kSingles = {0,   1,   2,   22,  23,  24,  25,  31,  94,  95,  96,  97,  103, 126, 127, 128,
                                   129, 150, 151, 156, 157, 158, 159, 190, 191, 192, 193, 251, 252, 253, 254, 255};
const std::vector<int> kDoubles = {0,    1,    2,    52,   53,   54,   55,   127,  128,  767,  768,
                                   769,  822,  823,  895,  1022, 1023, 1024, 1075, 1076, 1276, 1277,
                                   1278, 1791, 1792, 1918, 1919, 2043, 2044, 2045, 2046, 2047};
const std::vector<int> kHalves = {0, 1, 2, 14, 15, 16, 29, 30, 31};

const Case kCases[] = {{Opcode::v_div_scale_f32, kF32, kSingles}, {Opcode::v_div_scale_f64, kF64, kDoubles},
                       {Opcode::v_div_fmas_f32, kF32, kSingles},  {Opcode::v_div_fmas_f64, kF64, kDoubles},
                       {Opcode::v_div_fixup_f32, kF32, kSingles}, {Opcode::v_div_fixup_f64, kF64, kDoubles},
                       {Opcode::v_div_fixup_f16, kF16, kHalves}};

class Numbers {
public:
    Numbers(const FloatFormat& format, LaneIsa isa) : format_(format), random_(static_cast<unsigned>(isa)) {}
    uint64_t with_exponent(int exponent) {
        const uint64_t mantissas[] = {0, 0, 1, format_.quiet_bit(), format_.mantissa_mask(), bits()};
        const uint64_t mantissa = mantissas[random_() % std::size(mantissas)] & format_.mantissa_mask();
        return (random_() % 2 == 0 ? format_.sign() : 0) | static_cast<uint64_t>(exponent) << format_.mantissa_bits |
               mantissa;
    }
    uint64_t any() { return with_exponent(static_cast<int>(random_() % (format_.exponent_mask() + 1))); }
    uint64_t bits() { return random_() | uint64_t{random_()} << 32; }

private:
    FloatFormat format_;
    std::mt19937 random_;
};

void put(Words& words, unsigned lane, uint64_t bits) {
    words[lane] = static_cast<uint32_t>(bits);
    words[kLanes + lane] = static_cast<uint32_t>(bits >> 32);
}

// Lanes one after the other, each with another pair of exponents; those of one call differ in what they are.
class Lanes {
public:
    Lanes(const LaneKernel& kernel, Opcode opcode, Numbers& numbers)
        : kernel_(kernel), opcode_(opcode), numbers_(numbers) {}
    void add(uint64_t a, uint64_t b, uint64_t c) {
        put(sources_[0], count_, a);
        put(sources_[1], count_, b);
        put(sources_[2], count_, c);
        if (++count_ == kLanes) compare();
    }
    unsigned computed() const { return computed_; }

private:
    void compare() {
        count_ = 0;
        const uint64_t lanes = uint64_t{0xFFFFFFFF} | (numbers_.bits() & numbers_.bits()) << 32;
        Words d{};
        const Expected expected = by_lane_functions(kernel_, opcode_, 0, d, sources_, lanes, kLanes);
        const uint64_t result =
            kernel_.function(d.data(), sources_[0].data(), sources_[1].data(), sources_[2].data(), lanes);
        if (result == kLaneKernelDeclined) return;
        ++computed_;
        EXPECT_EQ(d, expected.words) << info(opcode_).name;
        if (kernel_.result == LaneKernelResult::words_and_mask) {
            EXPECT_EQ(static_cast<uint32_t>(result), expected.mask) << info(opcode_).name;
        }
    }
    const LaneKernel& kernel_;
    Opcode opcode_;
    Numbers& numbers_;
    Words sources_[3]{};
    unsigned count_ = 0, computed_ = 0;
};

class DivisionLanes : public testing::TestWithParam<LaneIsa> {};

TEST_P(DivisionLanes, AgreeAboutEveryLimit) {
    if (GetParam() > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    for (const auto& [opcode, format, exponents] : kCases) {
        const auto kernel = lane_kernel(GetParam(), opcode, 0, kLanes);
        ASSERT_TRUE(kernel.has_value());
        Numbers numbers(format, GetParam());
        Lanes lanes(*kernel, opcode, numbers);
        for (const int below : exponents)
            for (const int above : exponents)
                for (int repeat = 0; repeat < 6; ++repeat) {
                    const uint64_t b = numbers.with_exponent(below), c = numbers.with_exponent(above);
                    lanes.add(repeat % 3 == 0 ? b : repeat % 3 == 1 ? c : numbers.any(), b, c);
                    if (HasFailure()) return;
                }
        const bool declines = opcode == Opcode::v_div_fmas_f32 || opcode == Opcode::v_div_fmas_f64;
        EXPECT_GE(lanes.computed(), declines ? 1u : exponents.size() * exponents.size() * 6 / kLanes);
    }
}

// The fused multiply-add, scaled back in every other lane, of sums that stay normal.
TEST_P(DivisionLanes, ScaleOrdinarySumsBack) {
    if (GetParam() > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    for (const auto& [opcode, format] :
         {std::pair{Opcode::v_div_fmas_f32, kF32}, std::pair{Opcode::v_div_fmas_f64, kF64}}) {
        const auto kernel = lane_kernel(GetParam(), opcode, 0, kLanes);
        ASSERT_TRUE(kernel.has_value());
        Numbers numbers(format, GetParam());
        Lanes lanes(*kernel, opcode, numbers);
        constexpr unsigned kCount = 2000 * kLanes;
        for (unsigned i = 0; i < kCount; ++i) {
            const int shift = static_cast<int>(i % 3) - 1;
            lanes.add(numbers.with_exponent(format.bias() + shift), numbers.with_exponent(format.bias()),
                      numbers.with_exponent(format.bias() + 2 * shift));
        }
        EXPECT_GE(lanes.computed(), kCount / kLanes / 2);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, DivisionLanes, testing::Values(LaneIsa::avx2, LaneIsa::avx512),
                         [](const auto& level) { return level.param == LaneIsa::avx2 ? "Avx2" : "Avx512"; });

}  // namespace lanes_division_test
}  // namespace riftjit::rdna::emulator
