// The integer-only float arithmetic against the host's, in every rounding mode, and against double arithmetic for f16.
#include "jit/rdna/emulator/valu/valu_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

namespace riftjit::rdna::emulator {
namespace valu_float_test {

struct Mode {
    Rounding rounding;
    int host;
};
constexpr Mode kModes[] = {{Rounding::nearest_even, FE_TONEAREST},
                           {Rounding::up, FE_UPWARD},
                           {Rounding::down, FE_DOWNWARD},
                           {Rounding::toward_zero, FE_TOWARDZERO}};

class HostRounding {
public:
    explicit HostRounding(int mode) { std::fesetround(mode); }
    ~HostRounding() { std::fesetround(FE_TONEAREST); }
};

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
template <class Float>
constexpr const FloatFormat& kFormat = sizeof(Float) == 4 ? kF32 : kF64;

template <class Float>
class Numbers {
public:
    using Bits = BitsOf<Float>;
    Bits next() {
        const FloatFormat& format = kFormat<Float>;
        const uint64_t special[] = {0,
                                    1,
                                    format.mantissa_mask(),
                                    format.min_normal(),
                                    format.min_normal() + 1,
                                    format.one(),
                                    format.one() - 1,
                                    format.one() + 1,
                                    format.largest(),
                                    format.infinity(),
                                    format.one() / 2};
        uint64_t bits = random_();
        if (bits % 4 == 0)
            bits = special[random_() % std::size(special)] | (random_() % 2 == 0 ? format.sign() : 0);
        else if (bits % 4 < 3) {  // near one, so that sums and products interact
            const uint64_t exponent = static_cast<uint64_t>(format.bias()) - 30 + random_() % 60;
            bits = (random_() & (format.sign() | format.mantissa_mask())) | exponent << format.mantissa_bits;
        }
        return static_cast<Bits>(bits & (format.sign() | format.magnitude_mask()));
    }

private:
    std::mt19937_64 random_{7};
};

// NaN payloads are tested apart: the host has rules of its own.
template <class Float>
void expect_same(uint64_t got, Float want, const char* what) {
    if (std::isnan(want)) {
        EXPECT_TRUE(kFormat<Float>.is_nan(got)) << what;
        return;
    }
    EXPECT_EQ(got, std::bit_cast<BitsOf<Float>>(want)) << what;
}

template <class Float>
void compare_with_host(const Mode& mode, unsigned count) {
    Numbers<Float> numbers;
    const FloatControl control{mode.rounding};
    for (unsigned i = 0; i < count && !testing::Test::HasFailure(); ++i) {
        const auto a = numbers.next(), b = numbers.next(), c = numbers.next();
        if (kFormat<Float>.is_nan(a) || kFormat<Float>.is_nan(b) || kFormat<Float>.is_nan(c)) continue;
        const volatile Float x = std::bit_cast<Float>(a), y = std::bit_cast<Float>(b), z = std::bit_cast<Float>(c);
        volatile Float sum, product, fused;
        {
            const HostRounding host(mode.host);
            sum = x + y;
            product = x * y;
            fused = std::fma(x, y, z);
        }
        expect_same<Float>(float_add(kFormat<Float>, a, b, control), sum, "sum");
        expect_same<Float>(float_mul(kFormat<Float>, a, b, control), product, "product");
        expect_same<Float>(float_fma(kFormat<Float>, a, b, c, control), fused, "fused");
    }
}

TEST(ValuFloat, MatchesTheHostInEveryRoundingMode) {
    for (const Mode& mode : kModes) {
        compare_with_host<float>(mode, 40'000);
        compare_with_host<double>(mode, 40'000);
    }
}

TEST(ValuFloat, RoundsNearlyCancellingFusedSumsLikeTheHost) {
    std::mt19937_64 random(3);
    for (unsigned i = 0; i < 20'000; ++i) {
        const double a = 1 + static_cast<double>(random() >> 12) * 0x1p-52,
                     b = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
        const double c = -a * b;
        const uint64_t got =
            float_fma(kF64, std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b), std::bit_cast<uint64_t>(c), {});
        ASSERT_EQ(got, std::bit_cast<uint64_t>(std::fma(a, b, c)));
    }
}

TEST(ValuFloat, ConvertsBetweenF64AndF32LikeTheHost) {
    Numbers<double> numbers;
    for (const Mode& mode : kModes)
        for (unsigned i = 0; i < 20'000; ++i) {
            uint64_t bits = numbers.next();
            if (i % 2 == 0) bits = (bits & ~(0x7FFull << 52)) | (0x370ull + i % 32) << 52;  // around f32's denormals
            if (kF64.is_nan(bits)) continue;
            const volatile double wide = std::bit_cast<double>(bits);
            volatile float narrow;
            {
                const HostRounding host(mode.host);
                narrow = static_cast<float>(wide);
            }
            ASSERT_EQ(float_convert(kF64, kF32, bits, {mode.rounding}),
                      std::bit_cast<uint32_t>(static_cast<float>(narrow)));
        }
}

// The value of f16 bits by the definition of the format.
double half_value(uint32_t bits) {
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}
// The f16 that rounds x, found by search among all: of the two neighbours the mode's choice.
uint32_t nearest_half(double x, Rounding rounding) {
    const bool negative = std::signbit(x);
    uint32_t low = 0, high = 0x7C00;  // magnitudes: half_value(low) <= |x|
    while (low + 1 < high) {
        const uint32_t middle = (low + high) / 2;
        (half_value(middle) <= std::fabs(x) ? low : high) = middle;
    }
    const uint32_t sign = negative ? 0x8000 : 0;
    const double below = half_value(low), above = low == 0x7BFF ? 65536.0 : half_value(low + 1);
    if (std::isinf(x)) return sign | 0x7C00;
    if (below == std::fabs(x)) return sign | low;
    const double middle = (below + above) / 2;
    bool up = false;
    switch (rounding) {
        case Rounding::nearest_even:
            up = std::fabs(x) > middle || (std::fabs(x) == middle && (low & 1) != 0);
            break;
        case Rounding::up:
            up = !negative;
            break;
        case Rounding::down:
            up = negative;
            break;
        case Rounding::toward_zero:
            break;
    }
    return sign | (up ? low + 1 : low);
}

// Sums and products of two f16 are exact in double.
TEST(ValuFloat, RoundsSumsAndProductsOfHalvesAsASearchDoes) {
    std::mt19937 random(5);
    for (const Mode& mode : kModes)
        for (unsigned i = 0; i < 60'000; ++i) {
            const uint32_t a = random() & 0xFFFF, b = random() & 0xFFFF;
            const double x = half_value(a), y = half_value(b), sum = x + y, product = x * y;
            if (!std::isnan(sum) && sum != 0) {
                ASSERT_EQ(float_add(kF16, a, b, {mode.rounding}), nearest_half(sum, mode.rounding)) << x << " + " << y;
            }
            if (!std::isnan(product) && product != 0) {
                ASSERT_EQ(float_mul(kF16, a, b, {mode.rounding}), nearest_half(product, mode.rounding))
                    << x << " * " << y;
            }
        }
}

// A product of halves has 22 bits, its sum with a third at most 53: exact in double unless far apart.
TEST(ValuFloat, RoundsFusedSumsOfHalvesOnce) {
    std::mt19937 random(11);
    for (unsigned i = 0; i < 100'000; ++i) {
        const uint32_t a = random() & 0xFFFF, b = random() & 0xFFFF, c = random() & 0xFFFF;
        const double x = half_value(a), y = half_value(b), z = half_value(c), exact = x * y + z;
        if (std::isnan(exact) || exact == 0 || exact - z != x * y) continue;  // the last: rounded in double
        ASSERT_EQ(float_fma(kF16, a, b, c, {}), nearest_half(exact, Rounding::nearest_even));
    }
}

TEST(ValuFloat, WidensEveryHalfExactly) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double value = half_value(bits);
        if (std::isnan(value)) continue;
        ASSERT_EQ(to_double(kF16, bits), value);
        ASSERT_EQ(float_convert(kF64, kF16, std::bit_cast<uint64_t>(value), {}), bits);
    }
}

TEST(ValuFloat, RoundsEveryHalfToAnInteger) {
    for (const Mode& mode : kModes)
        for (uint32_t bits = 0; bits < 0x10000; ++bits) {
            const volatile double value = half_value(bits);
            if (std::isnan(value)) continue;
            volatile double integer;
            {
                const HostRounding host(mode.host);
                integer = std::nearbyint(value);
            }
            ASSERT_EQ(float_round(kF16, bits, mode.rounding), nearest_half(integer, Rounding::nearest_even)) << value;
            if (std::isinf(value)) continue;
            ASSERT_EQ(float_to_integer(kF16, bits, mode.rounding, -40000, 40000),
                      std::clamp(static_cast<int64_t>(integer), int64_t{-40000}, int64_t{40000}));
        }
}

TEST(ValuFloat, FlushesDenormalsWhereTheModeSays) {
    constexpr uint64_t kDenormal = 0x00400000, kMin = 0x00800000, kHalf = 0x3F000000, kOne = 0x3F800000;
    constexpr uint64_t kMinusMin = 0x80800000;
    const FloatControl inputs{.flush_inputs = true}, results{.tiny = TinyResults::flush};
    EXPECT_EQ(float_mul(kF32, kDenormal, kOne, {}), kDenormal);
    EXPECT_EQ(float_mul(kF32, kDenormal, kOne, inputs), 0u);
    EXPECT_EQ(float_mul(kF32, kMin, kHalf, {}), kDenormal);
    EXPECT_EQ(float_mul(kF32, kMin, kHalf, inputs), kDenormal);
    EXPECT_EQ(float_mul(kF32, kMin, kHalf, results), 0u);
    EXPECT_EQ(float_mul(kF32, kMinusMin, kHalf, results), 0x80000000u);
    // Tininess is judged with the precision of a normal number: 2^-126 (1 - 2^-24) fits 24 bits and is tiny, though as
    // a denormal it would round up; 2^-126 (1 - 2^-26) rounds up to the smallest normal number.
    EXPECT_EQ(float_mul(kF32, 0x3F7FFFFF, kMin, {}), kMin);
    EXPECT_EQ(float_mul(kF32, 0x3F7FFFFF, kMin, results), 0u);
    const auto nearly = std::bit_cast<uint64_t>(0x1p-126 * (1 - 0x1p-26));
    EXPECT_EQ(float_convert(kF64, kF32, nearly, results), kMin);
    EXPECT_EQ(float_convert(kF64, kF32, nearly, {.tiny = TinyResults::flush_before_rounding}), 0u);
}

TEST(ValuFloat, PassesTheFirstNanOnMadeQuiet) {
    constexpr uint64_t kSignaling = 0x7F812345, kQuiet = 0xFFC54321, kInfinity = 0x7F800000, kInvalid = 0xFFC00000;
    EXPECT_EQ(float_add(kF32, kSignaling, kQuiet, {}), kSignaling | 0x400000);
    EXPECT_EQ(float_add(kF32, kQuiet, kSignaling, {}), kQuiet);
    EXPECT_EQ(float_add(kF32, kInfinity, kInfinity | 0x80000000, {}), kInvalid);
    EXPECT_EQ(float_mul(kF32, kInfinity, 0, {}), kInvalid);
    EXPECT_EQ(float_fma(kF32, 0, kInfinity, kQuiet, {}), kInvalid);
    EXPECT_EQ(float_fma(kF32, 0, 0, kSignaling, {}), kSignaling | 0x400000);
}

TEST(ValuFloat, SaturatesHalvesWhereTheModeSays) {
    const FloatControl saturate{.saturate = true};
    EXPECT_EQ(float_add(kF16, 0x7BFF, 0x7BFF, {}), 0x7C00u);
    EXPECT_EQ(float_add(kF16, 0x7BFF, 0x7BFF, saturate), 0x7BFFu);
    EXPECT_EQ(float_add(kF16, 0xFBFF, 0xFBFF, saturate), 0xFBFFu);
    EXPECT_EQ(float_add(kF16, 0x7C00, 0x7BFF, saturate), 0x7C00u);  // an infinity stays
}

}  // namespace valu_float_test
}  // namespace riftjit::rdna::emulator
