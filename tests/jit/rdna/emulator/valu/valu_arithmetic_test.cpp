// Float instructions against the host's arithmetic: the same type for f32 and f64, double and a search for f16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "jit/rdna/emulator/valu/valu_lane.h"
#include "tests/jit/rdna/emulator/valu/valu_expectations.h"

namespace riftjit::rdna::emulator {
namespace valu_arithmetic_test {

// The value of f16 bits, and the f16 nearest to a value, by definition and by search.
double half_value(uint64_t bits) {
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}
uint64_t nearest_half(double x) {
    if (std::isnan(x)) return 0x7E00;
    uint64_t low = 0, high = 0x7C00;
    while (low + 1 < high) {
        const uint64_t middle = (low + high) / 2;
        (half_value(middle) <= std::fabs(x) ? low : high) = middle;
    }
    const double below = half_value(low), above = low == 0x7BFF ? 65536.0 : half_value(low + 1);
    const double middle = (below + above) / 2, magnitude = std::fabs(x);
    const bool up = magnitude > middle || (magnitude == middle && low % 2 == 1);
    const uint64_t result = std::isinf(x) ? 0x7C00 : below == magnitude ? low : up ? low + 1 : low;
    return result | (std::signbit(x) ? 0x8000 : 0);
}

enum class Width : uint8_t { half, single, full };
struct TypeTraits {
    const char* suffix;
    const FloatFormat& format;
};
const TypeTraits kTypes[] = {{"f16", kF16}, {"f32", kF32}, {"f64", kF64}};
const FloatFormat& format_of(Width width) { return kTypes[static_cast<size_t>(width)].format; }

struct Arguments {
    double a, b, c;
};
// One formula per operation: in float for f32, in double for f16 and f64.
struct Formula {
    const char* name;  // without type
    unsigned sources;
    std::function<double(double, double, double)> in_double;
    std::function<float(float, float, float)> in_float;
    unsigned ulps = 0;               // allowed: transcendentals
    bool flushes_denormals = false;  // f32 only
};
// The same expression in both types, or in double even for f32.
template <class F>
Formula in_type(const char* name, unsigned sources, F f) {
    return {name, sources, f, f};
}
template <class F>
Formula by_double(const char* name, F f) {  // transcendentals: one source, one unit in the last place
    return {name,
            1,
            [f](double a, double, double) { return f(a); },
            [f](float a, float, float) { return static_cast<float>(f(a)); },
            1,
            true};
}

constexpr double kPi = 3.14159265358979323846;
const std::vector<Formula> kFormulas = {
    in_type("v_add", 2, [](auto a, auto b, auto) { return a + b; }),
    in_type("v_sub", 2, [](auto a, auto b, auto) { return a - b; }),
    in_type("v_subrev", 2, [](auto a, auto b, auto) { return b - a; }),
    in_type("v_mul", 2, [](auto a, auto b, auto) { return a * b; }),
    in_type("v_fma", 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); }),
    in_type("v_fmac", 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); }),
    in_type("v_fmamk", 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); }),
    in_type("v_fmaak", 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); }),
    in_type("v_trunc", 1, [](auto a, auto, auto) { return std::trunc(a); }),
    in_type("v_ceil", 1, [](auto a, auto, auto) { return std::ceil(a); }),
    in_type("v_floor", 1, [](auto a, auto, auto) { return std::floor(a); }),
    in_type("v_rndne", 1, [](auto a, auto, auto) { return std::nearbyint(a); }),
    {"v_frexp_mant", 1,
     [](double a, double, double) {
         int e;
         return std::isfinite(a) ? std::frexp(a, &e) : a;
     },
     [](float a, float, float) {
         int e;
         return std::isfinite(a) ? std::frexp(a, &e) : a;
     }},
    in_type("v_min_num", 2, [](auto a, auto b, auto) { return std::fmin(a, b); }),
    in_type("v_max_num", 2, [](auto a, auto b, auto) { return std::fmax(a, b); }),
    in_type("v_minimum", 2, [](auto a, auto b, auto) { return std::fmin(a, b); }),
    in_type("v_maximum", 2, [](auto a, auto b, auto) { return std::fmax(a, b); }),
    in_type("v_min3_num", 3, [](auto a, auto b, auto c) { return std::fmin(a, std::fmin(b, c)); }),
    in_type("v_max3_num", 3, [](auto a, auto b, auto c) { return std::fmax(a, std::fmax(b, c)); }),
    in_type("v_minimum3", 3, [](auto a, auto b, auto c) { return std::fmin(a, std::fmin(b, c)); }),
    in_type("v_maximum3", 3, [](auto a, auto b, auto c) { return std::fmax(a, std::fmax(b, c)); }),
    in_type("v_minmax_num", 3, [](auto a, auto b, auto c) { return std::fmin(a, b) > c ? std::fmin(a, b) : c; }),
    in_type("v_maxmin_num", 3, [](auto a, auto b, auto c) { return std::fmax(a, b) < c ? std::fmax(a, b) : c; }),
    in_type("v_minimummaximum", 3, [](auto a, auto b, auto c) { return std::fmin(a, b) > c ? std::fmin(a, b) : c; }),
    in_type("v_maximumminimum", 3, [](auto a, auto b, auto c) { return std::fmax(a, b) < c ? std::fmax(a, b) : c; }),
    in_type("v_med3_num", 3,
            [](auto a, auto b, auto c) { return std::fmax(std::fmin(a, b), std::fmin(std::fmax(a, b), c)); }),
    by_double("v_rcp", [](double a) { return 1 / a; }),
    by_double("v_rcp_iflag", [](double a) { return 1 / a; }),
    by_double("v_rsq", [](double a) { return 1 / std::sqrt(a); }),
    by_double("v_sqrt", [](double a) { return std::sqrt(a); }),
    by_double("v_exp", [](double a) { return std::pow(2.0, a); }),
    by_double("v_log", [](double a) { return std::log(a) / std::log(2.0); }),
    by_double("v_sin", [](double a) { return std::sin(2 * kPi * std::fmod(a, 1.0)); }),
    by_double("v_cos", [](double a) { return std::cos(2 * kPi * std::fmod(a, 1.0)); }),
    by_double("v_s_rcp", [](double a) { return 1 / a; }),
    by_double("v_s_rsq", [](double a) { return 1 / std::sqrt(a); }),
    by_double("v_s_sqrt", [](double a) { return std::sqrt(a); }),
    by_double("v_s_exp", [](double a) { return std::pow(2.0, a); }),
    by_double("v_s_log", [](double a) { return std::log(a) / std::log(2.0); }),
};

const InstructionInfo* row_named(const std::string& name) {
    for (const InstructionInfo& row : all_instructions())
        if (row.name == name) return &row;
    return nullptr;
}

struct Tested {
    const Formula* formula;
    Width width;
    Opcode opcode;
};
std::vector<Tested> tested_rows() {
    std::vector<Tested> rows;
    for (const Formula& formula : kFormulas)
        for (const Width width : {Width::half, Width::single, Width::full})
            if (const auto* row =
                    row_named(std::string(formula.name) + "_" + kTypes[static_cast<size_t>(width)].suffix))
                rows.push_back({&formula, width, row->opcode});
    return rows;
}

class Numbers {
public:
    uint64_t next(const FloatFormat& format) {
        const uint64_t special[] = {0,
                                    1,
                                    format.mantissa_mask(),
                                    format.min_normal(),
                                    format.one(),
                                    format.one() + 1,
                                    format.one() - 1,
                                    format.largest(),
                                    format.infinity()};
        if (random_() % 5 == 0)
            return special[random_() % std::size(special)] | (random_() % 2 == 0 ? format.sign() : 0);
        uint64_t bits = random_() & (format.sign() | format.magnitude_mask());
        const int spread = format.width() == 16 ? 6 : 12;
        if (random_() % 3 != 0)
            bits = (bits & (format.sign() | format.mantissa_mask())) |
                   static_cast<uint64_t>(format.bias() - spread +
                                         static_cast<int>(random_() % static_cast<unsigned>(2 * spread)))
                       << format.mantissa_bits;
        return format.is_nan(bits) ? format.one() : bits;
    }

private:
    std::mt19937_64 random_{99};
};

uint64_t run(Opcode opcode, const std::array<uint64_t, 3>& sources, const LaneContext& context = {}) {
    LaneData lane;
    lane.source = sources;
    lane.previous = sources[2];
    lane_semantics(opcode)->function(context, lane);
    return lane.result;
}

uint64_t wanted(const Tested& test, const std::array<uint64_t, 3>& s) {
    if (test.width == Width::single) {
        const auto number = [&](int i) {
            return std::bit_cast<float>(static_cast<uint32_t>(s[static_cast<size_t>(i)]));
        };
        return std::bit_cast<uint32_t>(test.formula->in_float(number(0), number(1), number(2)));
    }
    if (test.width == Width::half)
        return nearest_half(test.formula->in_double(half_value(s[0]), half_value(s[1]), half_value(s[2])));
    const auto number = [&](int i) { return std::bit_cast<double>(s[static_cast<size_t>(i)]); };
    return std::bit_cast<uint64_t>(test.formula->in_double(number(0), number(1), number(2)));
}

// The fused sum of halves is exact in double only if the host rounded nothing.
bool is_comparable(const Tested& test, const std::array<uint64_t, 3>& s) {
    if (test.formula->sources != 3 || test.width != Width::half) return true;
    const long double a = half_value(s[0]), b = half_value(s[1]), c = half_value(s[2]);
    const long double exact = a * b + c;
    return static_cast<long double>(static_cast<double>(exact)) == exact;
}
bool is_denormal_somewhere(const FloatFormat& format, uint64_t a, uint64_t result) {
    return format.is_denormal(a) || format.is_denormal(result);
}

void expect_near(const Tested& test, const std::array<uint64_t, 3>& s, uint64_t got, uint64_t want) {
    const FloatFormat& format = format_of(test.width);
    const auto message = [&] {
        return std::string(info(test.opcode).name) + " of " + std::to_string(s[0]) + ", " + std::to_string(s[1]) +
               ", " + std::to_string(s[2]);
    };
    if (format.is_nan(want)) {
        EXPECT_TRUE(format.is_nan(got)) << message();
        return;
    }
    const bool zeros_of_order =
        format.is_zero(got) && format.is_zero(want);  // min and max: tested apart; sine's multiples of pi
    if (zeros_of_order && (test.formula->ulps != 0 || std::string_view(test.formula->name).starts_with("v_m"))) return;
    const auto distance = static_cast<int64_t>(got) - static_cast<int64_t>(want);
    EXPECT_LE(static_cast<uint64_t>(std::abs(distance)), test.formula->ulps)
        << message() << " got " << got << " want " << want;
}

// Near the zeros of sine, cosine and logarithm the formulas of this test lose digits, not the implementation.
bool is_ill_conditioned(const Tested& test, uint64_t want) {
    const std::string_view name = test.formula->name;
    const FloatFormat& format = format_of(test.width);
    const bool periodic = name == "v_sin" || name == "v_cos";
    return periodic && format.exponent(want) + 26 < static_cast<uint64_t>(format.bias());
}

TEST(ValuArithmetic, MatchesTheHost) {
    Numbers numbers;
    for (const Tested& test : tested_rows()) {
        const FloatFormat& format = format_of(test.width);
        for (unsigned i = 0; i < 6000 && !HasFailure(); ++i) {
            const std::array<uint64_t, 3> s{numbers.next(format), numbers.next(format), numbers.next(format)};
            if (!is_comparable(test, s)) continue;
            const uint64_t want = wanted(test, s);
            const bool flushes = test.formula->flushes_denormals && test.width == Width::single;
            if ((flushes && is_denormal_somewhere(format, s[0], want)) || is_ill_conditioned(test, want)) continue;
            expect_near(test, s, run(test.opcode, s), want);
        }
    }
}

TEST(ValuArithmetic, MatchesDoubleForEveryHalf) {
    for (const Tested& test : tested_rows()) {
        if (test.width != Width::half || test.formula->sources != 1) continue;
        for (uint64_t bits = 0; bits < 0x10000 && !HasFailure(); ++bits) {
            if (kF16.is_nan(bits)) continue;
            expect_near(test, {bits, 0, 0}, run(test.opcode, {bits, 0, 0}), wanted(test, {bits, 0, 0}));
        }
    }
}

TEST(ValuArithmetic, IsExactWhereAnExactResultExists) {
    for (int power = -126; power <= 126; ++power) {
        const uint64_t value = static_cast<uint64_t>(127 + power) << 23;
        EXPECT_EQ(run(Opcode::v_rcp_f32, {value, 0, 0}), static_cast<uint64_t>(127 - power) << 23);
        EXPECT_EQ(run(Opcode::v_exp_f32, {std::bit_cast<uint32_t>(static_cast<float>(power)), 0, 0}), value);
        EXPECT_EQ(run(Opcode::v_log_f32, {value, 0, 0}), std::bit_cast<uint32_t>(static_cast<float>(power)));
        if (power % 2 == 0) {
            EXPECT_EQ(run(Opcode::v_sqrt_f32, {value, 0, 0}), static_cast<uint64_t>(127 + power / 2) << 23);
        }
    }
    const auto f32 = [](float x) { return std::array<uint64_t, 3>{std::bit_cast<uint32_t>(x), 0, 0}; };
    EXPECT_EQ(run(Opcode::v_sin_f32, f32(0.25f)), 0x3F800000u);
    EXPECT_EQ(run(Opcode::v_sin_f32, f32(-0.25f)), 0xBF800000u);
    EXPECT_EQ(run(Opcode::v_sin_f32, f32(1000000.5f)), 0u);
    EXPECT_EQ(run(Opcode::v_cos_f32, f32(0.5f)), 0xBF800000u);
    EXPECT_EQ(run(Opcode::v_cos_f32, f32(0.75f)), 0u);
    EXPECT_EQ(run(Opcode::v_rcp_f32, f32(-0.0f)), 0xFF800000u);
    EXPECT_EQ(run(Opcode::v_rsq_f32, f32(-1.0f)), 0xFFC00000u);
    EXPECT_EQ(run(Opcode::v_log_f32, f32(0.0f)), 0xFF800000u);
    EXPECT_EQ(run(Opcode::v_rcp_f32, {1, 0, 0}), 0x7F800000u);  // a denormal counts as zero
}

// fract: the rest above the floor, below 1; the negative quiet NaN of an infinity.
TEST(ValuArithmetic, TakesFractionsBelowOne) {
    std::mt19937_64 random(4);
    const struct {
        Opcode opcode;
        const FloatFormat& format;
    } rows[] = {{Opcode::v_fract_f16, kF16}, {Opcode::v_fract_f32, kF32}, {Opcode::v_fract_f64, kF64}};
    for (const auto& row : rows)
        for (unsigned i = 0; i < 20'000; ++i) {
            const uint64_t bits = random() & (row.format.sign() | row.format.magnitude_mask());
            if (row.format.is_nan(bits) || row.format.is_infinity(bits)) continue;
            const double value = to_double(row.format, bits),
                         got = to_double(row.format, run(row.opcode, {bits, 0, 0}));
            ASSERT_GE(got, 0);
            ASSERT_LT(got, 1);
            const double error =
                std::fabs(got - (value - std::floor(value)));  // half a unit of a number below 1, or the cap
            ASSERT_LE(error, std::ldexp(1.0, -row.format.mantissa_bits - 1)) << value;
        }
    EXPECT_EQ(run(Opcode::v_fract_f32, {0xFF800000, 0, 0}), 0xFFC00000u);
    EXPECT_EQ(run(Opcode::v_fract_f32, {0x80000000, 0, 0}), 0u);
    EXPECT_EQ(run(Opcode::v_fract_f32, {0xB0000000, 0, 0}), 0x3F7FFFFFu);  // minus a tiny number
}

TEST(ValuArithmetic, SplitsAndScalesByPowersOfTwo) {
    Numbers numbers;
    std::mt19937 random(6);
    for (unsigned i = 0; i < 20'000; ++i) {
        const uint64_t f32 = numbers.next(kF32), f64 = numbers.next(kF64), f16 = numbers.next(kF16);
        const float x = std::bit_cast<float>(static_cast<uint32_t>(f32));
        const double y = std::bit_cast<double>(f64), z = half_value(f16);
        int ex = 0, ey = 0, ez = 0;
        if (std::isfinite(x)) std::frexp(x, &ex);
        if (std::isfinite(y)) std::frexp(y, &ey);
        if (std::isfinite(z)) std::frexp(z, &ez);
        ASSERT_EQ(static_cast<int32_t>(run(Opcode::v_frexp_exp_i32_f32, {f32, 0, 0})), ex);
        ASSERT_EQ(static_cast<int32_t>(run(Opcode::v_frexp_exp_i32_f64, {f64, 0, 0})), ey);
        ASSERT_EQ(static_cast<int16_t>(run(Opcode::v_frexp_exp_i16_f16, {f16, 0, 0})), ez);
        const int power = static_cast<int>(random() % 600) - 300;
        const auto word = static_cast<uint32_t>(power);
        ASSERT_EQ(run(Opcode::v_ldexp_f32, {f32, word, 0}), std::bit_cast<uint32_t>(std::ldexp(x, power)));
        ASSERT_EQ(run(Opcode::v_ldexp_f64, {f64, word, 0}), std::bit_cast<uint64_t>(std::ldexp(y, power)));
        const int small = power % 40;
        ASSERT_EQ(run(Opcode::v_ldexp_f16, {f16, static_cast<uint32_t>(small) & 0xFFFF, 0}),
                  nearest_half(std::ldexp(z, small)));
    }
    EXPECT_EQ(run(Opcode::v_ldexp_f32, {0x3F800000, 0x80000000, 0}), 0u);
    EXPECT_EQ(run(Opcode::v_ldexp_f32, {0x3F800000, 0x7FFFFFFF, 0}), 0x7F800000u);
}

// ISA documents of RDNA2 and RDNA3: IEEE decides about signaling NaNs; of RDNA4: a number always wins.
TEST(ValuArithmetic, ChoosesBetweenNansAndNumbersByGenerationAndMode) {
    constexpr uint64_t kNumber = 0x40000000, kQuiet = 0x7FC00001, kSignaling = 0x7F800001, kQuieted = 0x7FC00001;
    LaneContext rdna3, rdna3_plain, rdna4;
    rdna3_plain.ieee = false;
    rdna4.generation = Generation::gfx12;
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kNumber, kQuiet, 0}, rdna3), kNumber);
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kNumber, kSignaling, 0}, rdna3), kQuieted);
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kNumber, kSignaling, 0}, rdna3_plain), kNumber);
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kSignaling, kSignaling, 0}, rdna3_plain), kSignaling);
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kNumber, kSignaling, 0}, rdna4), kNumber);
    EXPECT_EQ(run(Opcode::v_min_num_f32, {kSignaling, kQuiet, 0}, rdna4), kQuieted);
    EXPECT_EQ(run(Opcode::v_minimum_f32, {kNumber, kSignaling, 0}, rdna4), kQuieted);
    EXPECT_EQ(run(Opcode::v_med3_num_f32, {0x3F800000, kQuiet, kNumber}, rdna4), 0x3F800000u);
    for (const LaneContext& context : {rdna3, rdna3_plain, rdna4}) {
        EXPECT_EQ(run(Opcode::v_min_num_f32, {0, 0x80000000, 0}, context), 0x80000000u);
        EXPECT_EQ(run(Opcode::v_max_num_f32, {0x80000000, 0, 0}, context), 0u);
        EXPECT_EQ(run(Opcode::v_med3_num_f32, {0x80000000, 0, 0x80000000}, context), 0x80000000u);
    }
}

TEST(ValuArithmetic, GivesZeroForZeroFactorsUnderTheRulesOfDx9) {
    constexpr uint64_t kInfinity = 0x7F800000, kTwo = 0x40000000, kMinusZero = 0x80000000;
    EXPECT_EQ(run(Opcode::v_mul_dx9_zero_f32, {kMinusZero, kInfinity, 0}), 0u);
    EXPECT_EQ(run(Opcode::v_mul_dx9_zero_f32, {kTwo, kTwo, 0}), 0x40800000u);
    for (const Opcode opcode : {Opcode::v_fma_dx9_zero_f32, Opcode::v_fmac_dx9_zero_f32}) {
        EXPECT_EQ(run(opcode, {0, kInfinity, kTwo}), kTwo);
        EXPECT_EQ(run(opcode, {kTwo, kTwo, kTwo}), 0x40C00000u);
        EXPECT_EQ(run(opcode, {kTwo, 1, kMinusZero}), 0u);  // a denormal factor counts as zero, -0 + 0 is +0
    }
    constexpr uint64_t kLowest = 0xFF7FFFFF;
    EXPECT_EQ(run(Opcode::v_mullit_f32, {kTwo, kTwo, kTwo}), 0x40800000u);
    EXPECT_EQ(run(Opcode::v_mullit_f32, {kTwo, kTwo, kMinusZero}), kLowest);
    EXPECT_EQ(run(Opcode::v_mullit_f32, {kTwo, kLowest, kTwo}), kLowest);
    EXPECT_EQ(run(Opcode::v_mullit_f32, {kTwo, 0x7FC00000, kTwo}), kLowest);
}

// Faces of a cube by the definition of cube maps: +x -x +y -y +z -z, the largest component's; its coordinates there.
TEST(ValuArithmetic, FindsFacesOfACube) {
    std::mt19937 random(8);
    for (unsigned i = 0; i < 5000; ++i) {
        const float v[3] = {static_cast<float>(static_cast<int>(random() % 9) - 4),
                            static_cast<float>(static_cast<int>(random() % 9) - 4),
                            static_cast<float>(static_cast<int>(random() % 9) - 4)};
        int axis = 2;
        for (const int other : {1, 0})
            if (std::fabs(v[other]) > std::fabs(v[axis])) axis = other;
        const bool negative = v[axis] < 0;
        const float s[3] = {negative ? v[2] : -v[2], v[0], negative ? -v[0] : v[0]};
        const float t[3] = {-v[1], negative ? -v[2] : v[2], -v[1]};
        const std::array<uint64_t, 3> bits{std::bit_cast<uint32_t>(v[0]), std::bit_cast<uint32_t>(v[1]),
                                           std::bit_cast<uint32_t>(v[2])};
        const auto value = [&](Opcode opcode) {
            return std::bit_cast<float>(static_cast<uint32_t>(run(opcode, bits)));
        };
        ASSERT_EQ(value(Opcode::v_cubeid_f32), static_cast<float>(2 * axis + negative));
        ASSERT_EQ(value(Opcode::v_cubesc_f32), s[axis]);
        ASSERT_EQ(value(Opcode::v_cubetc_f32), t[axis]);
        ASSERT_EQ(value(Opcode::v_cubema_f32), 2 * v[axis]);
    }
}

TEST(ValuArithmetic, PacksHalvesAndQuietsNans) {
    EXPECT_EQ(run(Opcode::v_pack_b32_f16, {0x1234, 0x8001, 0}), 0x80011234u);
    EXPECT_EQ(run(Opcode::v_pack_b32_f16, {0x7C01, 0xFD00, 0}), 0xFF007E01u);
}

// Packed arithmetic is the single one twice.
TEST(ValuArithmetic, ComputesPackedHalvesApart) {
    const std::pair<Opcode, Opcode> pairs[] = {
        {Opcode::v_pk_add_f16, Opcode::v_add_f16},         {Opcode::v_pk_mul_f16, Opcode::v_mul_f16},
        {Opcode::v_pk_fma_f16, Opcode::v_fma_f16},         {Opcode::v_pk_fmac_f16, Opcode::v_fmac_f16},
        {Opcode::v_pk_min_num_f16, Opcode::v_min_num_f16}, {Opcode::v_pk_max_num_f16, Opcode::v_max_num_f16},
        {Opcode::v_pk_minimum_f16, Opcode::v_minimum_f16}, {Opcode::v_pk_maximum_f16, Opcode::v_maximum_f16},
    };
    Numbers numbers;
    for (const auto& [packed, single] : pairs)
        for (unsigned i = 0; i < 2000; ++i) {
            std::array<uint64_t, 3> low, high, both;
            for (size_t k = 0; k < 3; ++k) {
                low[k] = numbers.next(kF16);
                high[k] = numbers.next(kF16);
                both[k] = low[k] | high[k] << 16;
            }
            ASSERT_EQ(run(packed, both), run(single, low) | run(single, high) << 16) << info(packed).name;
        }
}

TEST(ValuArithmetic, DoublesInlineFloatsOfPackedFmacFromGfx11On) {
    constexpr uint32_t kHalves[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118};
    constexpr uint32_t kOne = 0x3C003C00, kMinusZero = 0x80008000;  // the product's sign stays
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1153, Target::gfx1201}) {
        const auto product = [&](Operand factor, uint32_t literal = 0) {
            TestWave wave(target);
            wave.fill(0, kMinusZero);
            wave.fill(8, kOne);
            Instruction fmac = instruction(Opcode::v_pk_fmac_f16);
            fmac.operands[1] = factor;
            fmac.has_literal = factor.is_literal();
            fmac.literal = literal;
            wave.run(fmac);
            return wave.at(0);
        };
        for (uint16_t i = 0; i < std::size(kHalves); ++i)
            EXPECT_EQ(product({static_cast<uint16_t>(240 + i)}),
                      target == Target::gfx1030 ? kHalves[i] : kHalves[i] * 0x10001)
                << name(target) << ", constant " << 240 + i;
        EXPECT_EQ(product({Operand::kLiteral}, 0x3C00), 0x3C00u) << name(target);
    }
}

}  // namespace valu_arithmetic_test

std::vector<Opcode> expected_float_opcodes() {
    using namespace valu_arithmetic_test;
    std::vector<Opcode> opcodes = {
        Opcode::v_fract_f16,         Opcode::v_fract_f32,         Opcode::v_fract_f64,
        Opcode::v_frexp_exp_i32_f32, Opcode::v_frexp_exp_i32_f64, Opcode::v_frexp_exp_i16_f16,
        Opcode::v_ldexp_f16,         Opcode::v_ldexp_f32,         Opcode::v_ldexp_f64,
        Opcode::v_mul_dx9_zero_f32,  Opcode::v_fma_dx9_zero_f32,  Opcode::v_fmac_dx9_zero_f32,
        Opcode::v_mullit_f32,        Opcode::v_cubeid_f32,        Opcode::v_cubesc_f32,
        Opcode::v_cubetc_f32,        Opcode::v_cubema_f32,        Opcode::v_pack_b32_f16,
        Opcode::v_pk_add_f16,        Opcode::v_pk_mul_f16,        Opcode::v_pk_fma_f16,
        Opcode::v_pk_fmac_f16,       Opcode::v_pk_min_num_f16,    Opcode::v_pk_max_num_f16,
        Opcode::v_pk_minimum_f16,    Opcode::v_pk_maximum_f16};
    for (const Tested& test : tested_rows()) opcodes.push_back(test.opcode);
    return opcodes;
}

}  // namespace riftjit::rdna::emulator
