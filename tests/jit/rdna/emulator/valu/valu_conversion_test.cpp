// Conversions, comparisons and division against the host and against sequences that must come out right as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <random>
#include <string>

#include "jit/rdna/emulator/valu/valu_float8.h"
#include "jit/rdna/emulator/valu/valu_lane.h"
#include "tests/jit/rdna/emulator/valu/valu_expectations.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_conversion_test {

struct Outcome {
    uint64_t result;
    bool bit;
};
Outcome run(Opcode opcode, uint64_t a, uint64_t b = 0, uint64_t c = 0, const LaneContext& context = {},
            bool condition = false) {
    LaneData lane;
    lane.source = {a, b, c};
    lane.condition = condition;
    lane_semantics(opcode)->function(context, lane);
    return {lane.result, lane.bit};
}
uint64_t value(Opcode opcode, uint64_t a, uint64_t b = 0, uint64_t c = 0, const LaneContext& context = {}) {
    return run(opcode, a, b, c, context).result;
}

uint64_t bits(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
float f32(uint64_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x)); }
double half_value(uint64_t bits) {
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

// To an integer within limits, by long double.
template <class Round>
int64_t saturated(double x, Round round, int64_t low, int64_t high) {
    if (std::isnan(x)) return 0;
    return static_cast<int64_t>(std::clamp<long double>(round(static_cast<long double>(x)), low, high));
}
constexpr auto kTrunc = [](long double x) { return std::trunc(x); };
constexpr auto kFloor = [](long double x) { return std::floor(x); };
constexpr auto kNearestUp = [](long double x) { return std::floor(x + 0.5L); };
constexpr auto kEven = [](long double x) { return std::nearbyint(x); };

std::vector<float> interesting_floats() {
    std::vector<float> all = {0.0f,          -0.0f,          0.5f,           -0.5f,         1.5f,
                              2.5f,          -1.5f,          -2.5f,          254.5f,        255.5f,
                              256.0f,        32767.5f,       -32768.5f,      65535.5f,      2147483520.0f,
                              2147483648.0f, -2147483648.0f, -2147483904.0f, 4294967040.0f, 4294967296.0f,
                              1e30f,         -1e30f,         INFINITY,       -INFINITY,     NAN,
                              1e-40f,        0.49999997f,    -0.49999997f,   8388609.0f};
    std::mt19937 random(2);
    for (int i = 0; i < 20'000; ++i)
        all.push_back(
            std::bit_cast<float>(static_cast<uint32_t>((random() & 0x807FFFFF) | (110 + random() % 50) << 23)));
    return all;
}

TEST(ValuConversion, RoundsFloatsToIntegersWithSaturation) {
    for (const float x : interesting_floats()) {
        const uint64_t a = bits(x), wide = bits(static_cast<double>(x));
        const auto word = [](int64_t v) { return static_cast<uint64_t>(static_cast<uint32_t>(v)); };
        const int64_t i32 = saturated(x, kTrunc, INT32_MIN, INT32_MAX), u32 = saturated(x, kTrunc, 0, UINT32_MAX);
        ASSERT_EQ(value(Opcode::v_cvt_i32_f32, a), word(i32)) << x;
        ASSERT_EQ(value(Opcode::v_cvt_u32_f32, a), word(u32)) << x;
        ASSERT_EQ(value(Opcode::v_cvt_i32_f64, wide), word(i32)) << x;
        ASSERT_EQ(value(Opcode::v_cvt_u32_f64, wide), word(u32)) << x;
        ASSERT_EQ(value(Opcode::v_cvt_floor_i32_f32, a), word(saturated(x, kFloor, INT32_MIN, INT32_MAX))) << x;
        ASSERT_EQ(value(Opcode::v_cvt_nearest_i32_f32, a), word(saturated(x, kNearestUp, INT32_MIN, INT32_MAX))) << x;
        const auto pair = [](int64_t v) { return static_cast<uint64_t>(static_cast<uint16_t>(v)); };
        ASSERT_EQ(value(Opcode::v_cvt_pk_i16_f32, a, bits(1.0f)), pair(saturated(x, kTrunc, -32768, 32767)) | 0x10000)
            << x;
        ASSERT_EQ(value(Opcode::v_cvt_pk_u16_f32, bits(2.0f), a), pair(saturated(x, kTrunc, 0, 65535)) << 16 | 2) << x;
        const double unit = std::clamp(static_cast<double>(x), -1.0, 1.0);
        ASSERT_EQ(value(Opcode::v_cvt_pk_norm_i16_f32, a, 0), pair(saturated(unit * 32767, kEven, -32767, 32767))) << x;
        ASSERT_EQ(value(Opcode::v_cvt_pk_norm_u16_f32, 0, a), pair(saturated(unit * 65535, kEven, 0, 65535)) << 16)
            << x;
        for (uint64_t byte = 0; byte < 4; ++byte) {
            const uint64_t shift = 8 * byte, kept = 0xA1B2C3D4 & ~(0xFFull << shift);
            ASSERT_EQ(value(Opcode::v_cvt_pk_u8_f32, a, byte + 4, 0xA1B2C3D4),
                      kept | static_cast<uint64_t>(saturated(x, kEven, 0, 255)) << shift)
                << x;
        }
    }
}

TEST(ValuConversion, ConvertsEveryHalf) {
    for (uint64_t h = 0; h < 0x10000; ++h) {
        const double x = half_value(h);
        const auto pair = [](int64_t v) { return static_cast<uint64_t>(static_cast<uint16_t>(v)); };
        ASSERT_EQ(value(Opcode::v_cvt_i16_f16, h) & 0xFFFF, pair(saturated(x, kTrunc, -32768, 32767)));
        ASSERT_EQ(value(Opcode::v_cvt_u16_f16, h) & 0xFFFF, pair(saturated(x, kTrunc, 0, 65535)));
        const int64_t i = saturated(std::clamp(x, -1.0, 1.0) * 32767, kEven, -32767, 32767),
                      u = saturated(std::clamp(x, 0.0, 1.0) * 65535, kEven, 0, 65535);
        ASSERT_EQ(value(Opcode::v_cvt_norm_i16_f16, h) & 0xFFFF, pair(i));
        ASSERT_EQ(value(Opcode::v_cvt_norm_u16_f16, h) & 0xFFFF, pair(u));
        ASSERT_EQ(value(Opcode::v_cvt_pk_norm_i16_f16, h, 0), pair(i));
        ASSERT_EQ(value(Opcode::v_cvt_pk_norm_u16_f16, 0, h), pair(u) << 16);
        if (std::isnan(x)) continue;
        ASSERT_EQ(value(Opcode::v_cvt_f32_f16, h), bits(static_cast<float>(x)));
        ASSERT_EQ(value(Opcode::v_cvt_f16_f32, bits(static_cast<float>(x))), h);
        ASSERT_EQ(value(Opcode::v_cvt_pk_rtz_f16_f32, bits(static_cast<float>(x)), bits(1.0f)), h | 0x3C000000);
        if (h % 0x8000 < 0x7BFF) {  // just below the next one rounds back, toward zero
            const float below = std::nextafterf(static_cast<float>(half_value(h + 1)), 0.0f);
            ASSERT_EQ(value(Opcode::v_cvt_pk_rtz_f16_f32, bits(below), 0), h) << below;
        }
    }
    EXPECT_EQ(value(Opcode::v_cvt_pk_rtz_f16_f32, bits(1e9f), bits(-1e9f)), 0xFBFF7BFFu);
    EXPECT_EQ(value(Opcode::v_cvt_f16_f32, bits(1e9f)), 0x7C00u);
}

TEST(ValuConversion, ConvertsIntegersByTheModesRounding) {
    std::mt19937 random(12);
    const int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t mode = 0; mode < 4; ++mode)
        for (int i = 0; i < 5000; ++i) {
            LaneContext context;
            context.f32.rounding = context.f16.rounding = static_cast<Rounding>(mode);
            const volatile uint32_t word = random() >> random() % 32;
            volatile float of_signed, of_unsigned;
            std::fesetround(host[mode]);
            of_signed = static_cast<float>(static_cast<int32_t>(word));
            of_unsigned = static_cast<float>(static_cast<int64_t>(word));
            std::fesetround(FE_TONEAREST);
            ASSERT_EQ(value(Opcode::v_cvt_f32_i32, word, 0, 0, context), bits(static_cast<float>(of_signed)));
            ASSERT_EQ(value(Opcode::v_cvt_f32_u32, word, 0, 0, context), bits(static_cast<float>(of_unsigned)));
            ASSERT_EQ(value(Opcode::v_cvt_f64_i32, word), bits(static_cast<double>(static_cast<int32_t>(word))));
            ASSERT_EQ(value(Opcode::v_cvt_f64_u32, word), bits(static_cast<double>(word)));
            const double f = f32(word);
            if (!std::isnan(f)) {
                ASSERT_EQ(value(Opcode::v_cvt_f64_f32, word), bits(f));
            }
        }
    for (uint32_t i = 0; i < 256; ++i) {
        const Opcode bytes[] = {Opcode::v_cvt_f32_ubyte0, Opcode::v_cvt_f32_ubyte1, Opcode::v_cvt_f32_ubyte2,
                                Opcode::v_cvt_f32_ubyte3};
        for (uint32_t byte = 0; byte < 4; ++byte)
            EXPECT_EQ(value(bytes[byte], (0x5A5A5A5Au & ~(0xFFu << 8 * byte)) | i << 8 * byte),
                      bits(static_cast<float>(i)));
        const int nibble = static_cast<int>(i % 16) - (i % 16 >= 8 ? 16 : 0);
        EXPECT_EQ(value(Opcode::v_cvt_off_f32_i4, i), bits(static_cast<float>(nibble) / 16));
    }
    for (uint32_t i = 0; i < 0x10000; i += 7) {  // up to 2048 integers are exact in f16
        if (i <= 2048) {
            EXPECT_EQ(half_value(value(Opcode::v_cvt_f16_u16, i)), i);
        }
        const double got = half_value(value(Opcode::v_cvt_f16_u16, i));
        EXPECT_TRUE(i < 65520 ? std::fabs(got - i) <= 16 : std::isinf(got)) << i;
        const int s = static_cast<int16_t>(i);
        EXPECT_LE(std::fabs(half_value(value(Opcode::v_cvt_f16_i16, i)) - s), std::abs(s) / 2048.0);
    }
}

TEST(ValuConversion, NarrowsDoublesLikeTheHost) {
    std::mt19937_64 random(31);
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t wide = (random() & 0x800FFFFFFFFFFFFF) | (0x360 + random() % 0x130) << 52;
        ASSERT_EQ(value(Opcode::v_cvt_f32_f64, wide), bits(static_cast<float>(std::bit_cast<double>(wide))));
    }
}

// OCP 8-bit floats, by definition: E4M3 with bias 7 and NaN at all ones, E5M2 with bias 15 like a small f16.
double float8_value(Float8 type, unsigned byte) {
    const double sign = byte >= 128 ? -1 : 1;
    if (type == Float8::bf8) return half_value(byte << 8);
    const int exponent = static_cast<int>(byte >> 3 & 15), mantissa = static_cast<int>(byte & 7);
    if ((byte & 127) == 127) return std::nan("");
    return sign * (exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(mantissa + 8, exponent - 10));
}
const Opcode kExpand[] = {Opcode::v_cvt_f32_fp8, Opcode::v_cvt_f32_bf8};
const Opcode kExpandPair[] = {Opcode::v_cvt_pk_f32_fp8, Opcode::v_cvt_pk_f32_bf8};
const Opcode kPackPair[] = {Opcode::v_cvt_pk_fp8_f32, Opcode::v_cvt_pk_bf8_f32};
const Opcode kStochastic[] = {Opcode::v_cvt_sr_fp8_f32, Opcode::v_cvt_sr_bf8_f32};

TEST(ValuConversion, ExpandsEvery8BitFloat) {
    for (size_t type = 0; type < 2; ++type)
        for (unsigned byte = 0; byte < 256; ++byte) {
            const double x = float8_value(static_cast<Float8>(type), byte);
            for (uint8_t place = 0; place < 4; ++place) {
                LaneContext context;
                context.op_sel = static_cast<uint8_t>((place & 1) << 1 | place >> 1);  // the bits are swapped
                const uint64_t got = value(
                    kExpand[type], (0x11223344 & ~(0xFFull << 8 * place)) | uint64_t{byte} << 8 * place, 0, 0, context);
                if (std::isnan(x))
                    EXPECT_TRUE(std::isnan(f32(got)));
                else
                    EXPECT_EQ(f32(got), x) << byte;
            }
            const uint64_t pair = value(kExpandPair[type], uint64_t{byte} << 8 | 0x38, 0, 0);
            EXPECT_EQ(f32(pair), float8_value(static_cast<Float8>(type), 0x38));
            if (!std::isnan(x)) {
                EXPECT_EQ(f32(pair >> 32), x);
            }
        }
}

TEST(ValuConversion, ExpandsTheHalfThatOpSelNames) {
    for (const uint8_t high : {0, 1}) {
        Instruction made = instruction(Opcode::v_cvt_pk_f32_bf8);
        made.encoding = Encoding::e64;
        made.op_sel = high;
        TestWave wave(Target::gfx1201);
        wave.fill(4, 0x40443C38);
        wave.run(made);
        EXPECT_EQ(f32(wave.at(0)), float8_value(Float8::bf8, high == 0 ? 0x38 : 0x44));
        EXPECT_EQ(f32(wave.at(1)), float8_value(Float8::bf8, high == 0 ? 0x3C : 0x40));
    }
}

// The nearest of all 8-bit values, ties to the even code, overflow where no code is near.
TEST(ValuConversion, RoundsTo8BitFloatsAsASearchDoes) {
    std::mt19937 random(21);
    for (size_t t = 0; t < 2; ++t) {
        const auto type = static_cast<Float8>(t);
        const unsigned largest = type == Float8::fp8 ? 0x7E : 0x7B;
        const double top = float8_value(type, largest), step = top - float8_value(type, largest - 1);
        for (int i = 0; i < 30'000; ++i) {
            const uint64_t word = (random() & 0x807FFFFF) | (100 + random() % 46) << 23;
            const double x = std::fabs(static_cast<double>(f32(word)));
            unsigned best = 0;
            for (unsigned code = 0; code <= largest; ++code) {
                const double error = std::fabs(float8_value(type, code) - x),
                             least = std::fabs(float8_value(type, best) - x);
                if (error < least || (error == least && code % 2 == 0)) best = code;
            }
            const bool overflows = x > top + step / 2 || (x == top + step / 2 && largest % 2 == 1);
            const unsigned sign = (word >> 31) << 7, special = type == Float8::fp8 ? 0x7F : 0x7C;
            LaneContext saturating;
            saturating.f16.saturate = true;
            ASSERT_EQ(value(kPackPair[t], word, 0, 0xABCD0000) & 0xFF, (overflows ? special : best) | sign) << x;
            ASSERT_EQ(value(kPackPair[t], word, 0, 0, saturating) & 0xFF, (overflows ? largest : best) | sign) << x;
        }
        LaneContext high;
        high.op_sel = 8;
        EXPECT_EQ(value(kPackPair[t], 0, 0, 0x12345678, high), 0x00005678u);
        EXPECT_EQ(value(kPackPair[t], 0x7FC00000, 0x7F800000, 0) & 0xFFFF, type == Float8::fp8 ? 0x7FFFu : 0x7CFEu);
    }
}

// A seed of zero truncates, one of all ones rounds up whatever is not exact; in between the share of seeds that round
// up is the part that is lost.
TEST(ValuConversion, RoundsStochasticallyInProportion) {
    std::mt19937 random(22);
    for (size_t t = 0; t < 2; ++t) {
        const auto type = static_cast<Float8>(t);
        for (int i = 0; i < 2000; ++i) {
            const float x = f32((random() & 0x007FFFFF) | (118 + random() % 14) << 23);
            const auto code = [&](uint32_t seed) {
                return static_cast<unsigned>(value(kStochastic[t], bits(x), seed, 0) & 0xFF);
            };
            const unsigned low = code(0), high = code(0xFFFFFFFF);
            ASSERT_LE(float8_value(type, low), x);
            ASSERT_GE(float8_value(type, high), x);
            ASSERT_LE(high, low + 1);
            if (low == high) continue;
            const double lost = (x - float8_value(type, low)) / (float8_value(type, high) - float8_value(type, low));
            const auto threshold = static_cast<uint32_t>((1 - lost) * 4294967296.0);
            ASSERT_EQ(code(threshold - std::min(threshold, 1u << 13)), low) << x;
            ASSERT_EQ(code(threshold > 0xFFFFFFFF - (1u << 13) ? 0xFFFFFFFF : threshold + (1u << 13)), high) << x;
        }
        LaneContext third;
        third.op_sel = 8;  // bits 2 and 3 choose the byte
        EXPECT_EQ(value(kStochastic[t], 0, 0, 0x11223344, third), 0x11003344u);
    }
}

bool holds(const std::string& predicate, bool less, bool equal, bool greater, bool unordered) {
    if (predicate == "f") return false;
    if (predicate == "t") return true;
    if (predicate == "o") return !unordered;
    if (predicate == "u") return unordered;
    if (predicate == "lt") return less;
    if (predicate == "eq") return equal;
    if (predicate == "le") return less || equal;
    if (predicate == "gt") return greater;
    if (predicate == "ge") return greater || equal;
    if (predicate == "lg" || predicate == "ne") return less || greater;
    return !holds(predicate.substr(1), less, equal, greater, unordered);  // neq, nlt, ...; "lg" has no n of its own
}

TEST(ValuConversion, ComparesInEveryTypeByEveryPredicate) {
    const double floats[] = {0.0, -0.0, 1.0, -1.0, 1.5, -2.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
    const uint64_t halves[] = {0, 0x8000, 0x3C00, 0xBC00, 0x3E00, 0xC000, 0x7C00, 0xFC00, 0x7E00};
    const int64_t integers[] = {0, 1, -1, 2, INT16_MIN, INT16_MAX, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    unsigned rows = 0;
    for (const InstructionInfo& row : all_instructions()) {
        if (row.format != Format::VOPC || row.name.find("class") != std::string_view::npos) continue;
        ++rows;
        const std::string name(row.name), type = name.substr(name.rfind('_') + 1);
        const std::string predicate = name.substr(name.find('_', 2) + 1, name.rfind('_') - name.find('_', 2) - 1);
        if (type[0] == 'f') {
            for (size_t i = 0; i < 9; ++i)
                for (size_t k = 0; k < 9; ++k) {
                    const auto encode = [&](size_t at) {
                        return type == "f16"   ? halves[at]
                               : type == "f32" ? bits(static_cast<float>(floats[at]))
                                               : bits(floats[at]);
                    };
                    const double a = floats[i], b = floats[k];
                    EXPECT_EQ(run(row.opcode, encode(i), encode(k)).bit,
                              holds(predicate, a < b, a == b, a > b, std::isnan(a) || std::isnan(b)))
                        << name << a << b;
                }
            continue;
        }
        const unsigned width = static_cast<unsigned>(std::stoi(type.substr(1)));
        for (const int64_t x : integers)
            for (const int64_t y : integers) {
                const auto read = [&](int64_t v) -> __int128 {
                    return type[0] == 'i' ? __int128(sign_extend(static_cast<uint64_t>(v), width))
                                          : __int128(static_cast<uint64_t>(v) << (64 - width) >> (64 - width));
                };
                const __int128 a = read(x), b = read(y);
                EXPECT_EQ(run(row.opcode, static_cast<uint64_t>(x), static_cast<uint64_t>(y)).bit,
                          holds(predicate, a < b, a == b, a > b, false))
                    << name;
            }
    }
    EXPECT_GT(rows, 170u);
}

TEST(ValuConversion, ClassifiesFloats) {
    struct Example {
        uint64_t f16, f32, f64;
        unsigned bit;
    };
    const Example examples[] = {
        {0x7C01, 0x7F800001, 0x7FF0000000000001, 0}, {0xFE00, 0xFFC00000, 0xFFF8000000000000, 1},
        {0xFC00, 0xFF800000, 0xFFF0000000000000, 2}, {0xBC00, 0xBF800000, 0xBFF0000000000000, 3},
        {0x8001, 0x80000001, 0x8000000000000001, 4}, {0x8000, 0x80000000, 0x8000000000000000, 5},
        {0x0000, 0x00000000, 0x0000000000000000, 6}, {0x03FF, 0x007FFFFF, 0x000FFFFFFFFFFFFF, 7},
        {0x0400, 0x00800000, 0x0010000000000000, 8}, {0x7C00, 0x7F800000, 0x7FF0000000000000, 9}};
    for (const Example& example : examples)
        for (unsigned bit = 0; bit < 10; ++bit)
            for (const auto& [opcode, input] : {std::pair{Opcode::v_cmp_class_f16, example.f16},
                                                {Opcode::v_cmp_class_f32, example.f32},
                                                {Opcode::v_cmp_class_f64, example.f64},
                                                {Opcode::v_cmpx_class_f16, example.f16},
                                                {Opcode::v_cmpx_class_f32, example.f32},
                                                {Opcode::v_cmpx_class_f64, example.f64}})
                EXPECT_EQ(run(opcode, input, 1u << bit).bit, bit == example.bit) << info(opcode).name;
}

// The sequence that compilers emit for a correctly rounded quotient (LLVM, LowerFDIV32 and LowerFDIV64).
float divided(float numerator, float denominator) {
    const uint64_t n = bits(numerator), d = bits(denominator), one = bits(1.0f), sign = 0x80000000;
    const auto fma = [](uint64_t a, uint64_t b, uint64_t c) { return value(Opcode::v_fma_f32, a, b, c); };
    const uint64_t ds = value(Opcode::v_div_scale_f32, d, d, n);
    const Outcome ns = run(Opcode::v_div_scale_f32, n, d, n);
    const uint64_t reciprocal = value(Opcode::v_rcp_f32, ds), minus = ds ^ sign;
    const uint64_t better = fma(fma(minus, reciprocal, one), reciprocal, reciprocal);
    const uint64_t first = value(Opcode::v_mul_f32, ns.result, better);
    const uint64_t second = fma(fma(minus, first, ns.result), better, first);
    const uint64_t rest = fma(minus, second, ns.result);
    const uint64_t quotient = run(Opcode::v_div_fmas_f32, rest, better, second, {}, ns.bit).result;
    return f32(value(Opcode::v_div_fixup_f32, quotient, d, n));
}
double divided(double numerator, double denominator) {
    const uint64_t n = bits(numerator), d = bits(denominator), one = bits(1.0), sign = 1ull << 63;
    const auto fma = [](uint64_t a, uint64_t b, uint64_t c) { return value(Opcode::v_fma_f64, a, b, c); };
    const uint64_t ds = value(Opcode::v_div_scale_f64, d, d, n);
    const Outcome ns = run(Opcode::v_div_scale_f64, n, d, n);
    const uint64_t minus = ds ^ sign, r0 = value(Opcode::v_rcp_f64, ds);
    const uint64_t r1 = fma(r0, fma(minus, r0, one), r0), r2 = fma(r1, fma(minus, r1, one), r1);
    const uint64_t q = value(Opcode::v_mul_f64, ns.result, r2);
    const uint64_t quotient = run(Opcode::v_div_fmas_f64, fma(minus, q, ns.result), r2, q, {}, ns.bit).result;
    return std::bit_cast<double>(value(Opcode::v_div_fixup_f64, quotient, d, n));
}

template <class Float>
void expect_quotient(Float n, Float d) {
    const Float want = n / d, got = divided(n, d);
    if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << n << " / " << d;
    else
        ASSERT_EQ(bits(got), bits(want)) << n << " / " << d << " gave " << got;
}

TEST(ValuDivision, DividesCorrectlyRoundedThroughItsThreeSteps) {
    std::mt19937_64 random(55);
    const float singles[] = {0.0f,    -0.0f, 1.0f,    -3.0f,    1e-45f,    1e-40f, 1.17549435e-38f,
                             3.4e38f, 1e38f, -1e-38f, INFINITY, -INFINITY, NAN,    7.0f};
    for (const float n : singles)
        for (const float d : singles) expect_quotient(n, d);
    const double doubles[] = {0.0,     -0.0,    1.0,      -3.0,      5e-324, 1e-310, 2.2250738585072014e-308,
                              1.7e308, -1e-300, HUGE_VAL, -HUGE_VAL, 7.0};
    for (const double n : doubles)
        for (const double d : doubles) expect_quotient(n, d);
    for (int i = 0; i < 40'000 && !testing::Test::HasFatalFailure(); ++i) {
        expect_quotient(f32(random() & 0xFFFFFFFF), f32(random() & 0xFFFFFFFF));
        expect_quotient(std::bit_cast<double>(random()), std::bit_cast<double>(random()));
        const uint64_t n = random(), d = random();  // close together: the quotient is of ordinary size
        expect_quotient(f32((n & 0x807FFFFF) | (n >> 40) % 40 << 23), f32((d & 0x807FFFFF) | (d >> 40) % 40 << 23));
        expect_quotient(f32((n & 0x807FFFFF) | (215 + (n >> 40) % 40) << 23),
                        f32((d & 0x807FFFFF) | (215 + (d >> 40) % 40) << 23));
    }
}

TEST(ValuDivision, FixesQuotientsOfHalves) {
    const auto fixed = [](uint64_t quotient, uint64_t d, uint64_t n) {
        return value(Opcode::v_div_fixup_f16, quotient, d, n);
    };
    EXPECT_EQ(fixed(0x4000, 0x3C00, 0xC000), 0xC000u);  // the sign is the operands'
    EXPECT_EQ(fixed(0x4000, 0, 0x3C00), 0x7C00u);
    EXPECT_EQ(fixed(0x4000, 0x8000, 0x3C00), 0xFC00u);
    EXPECT_EQ(fixed(0x4000, 0, 0), 0xFE00u);
    EXPECT_EQ(fixed(0x4000, 0x7C00, 0x7C00), 0xFE00u);
    EXPECT_EQ(fixed(0x4000, 0x7C00, 0x3C00), 0u);
    EXPECT_EQ(fixed(0x4000, 0x3C00, 0x7D01), 0x7F01u);
}

TEST(ValuDivision, CutsSegmentsOutOfTwoOverPi) {
    const auto segment = [](double x, uint64_t index) {
        return std::bit_cast<double>(value(Opcode::v_trig_preop_f64, bits(x), index));
    };
    constexpr long double kTwoOverPi = 0.63661977236758134307553505349005744813784L;  // 64 bits of it here
    EXPECT_EQ(segment(1.0, 0), static_cast<double>(std::ldexp(std::floor(std::ldexp(kTwoOverPi, 53)), -53)));
    EXPECT_NEAR(static_cast<double>(static_cast<long double>(segment(1.0, 0)) + segment(1.0, 1) - kTwoOverPi), 0,
                0x1p-63);
    // An exponent above 2^54 moves along the expansion by as much; 53 bits are the next segment.
    for (uint64_t index = 0; index < 10; ++index)
        EXPECT_EQ(segment(std::ldexp(1.0, 54 + 53), index), segment(std::ldexp(1.0, 54), index + 1));
    EXPECT_EQ(segment(std::ldexp(1.0, 1000), 0) / 0x1p128, std::ldexp(segment(std::ldexp(1.0, 1000 - 159), 3), 0));
}

}  // namespace valu_conversion_test

std::vector<Opcode> expected_conversion_opcodes() {
    using namespace valu_conversion_test;
    std::vector<Opcode> opcodes = {
        Opcode::v_cvt_i32_f32,         Opcode::v_cvt_u32_f32,         Opcode::v_cvt_i32_f64,
        Opcode::v_cvt_u32_f64,         Opcode::v_cvt_floor_i32_f32,   Opcode::v_cvt_nearest_i32_f32,
        Opcode::v_cvt_pk_i16_f32,      Opcode::v_cvt_pk_u16_f32,      Opcode::v_cvt_pk_norm_i16_f32,
        Opcode::v_cvt_pk_norm_u16_f32, Opcode::v_cvt_pk_u8_f32,       Opcode::v_cvt_i16_f16,
        Opcode::v_cvt_u16_f16,         Opcode::v_cvt_norm_i16_f16,    Opcode::v_cvt_norm_u16_f16,
        Opcode::v_cvt_pk_norm_i16_f16, Opcode::v_cvt_pk_norm_u16_f16, Opcode::v_cvt_f32_f16,
        Opcode::v_cvt_f16_f32,         Opcode::v_cvt_pk_rtz_f16_f32,  Opcode::v_cvt_f32_i32,
        Opcode::v_cvt_f32_u32,         Opcode::v_cvt_f64_i32,         Opcode::v_cvt_f64_u32,
        Opcode::v_cvt_f64_f32,         Opcode::v_cvt_f32_f64,         Opcode::v_cvt_f32_ubyte0,
        Opcode::v_cvt_f32_ubyte1,      Opcode::v_cvt_f32_ubyte2,      Opcode::v_cvt_f32_ubyte3,
        Opcode::v_cvt_off_f32_i4,      Opcode::v_cvt_f16_u16,         Opcode::v_cvt_f16_i16,
        Opcode::v_div_scale_f32,       Opcode::v_div_scale_f64,       Opcode::v_div_fmas_f32,
        Opcode::v_div_fmas_f64,        Opcode::v_div_fixup_f16,       Opcode::v_div_fixup_f32,
        Opcode::v_div_fixup_f64,       Opcode::v_trig_preop_f64};
    for (const auto& group : {kExpand, kExpandPair, kPackPair, kStochastic})
        opcodes.insert(opcodes.end(), group, group + 2);
    for (const InstructionInfo& row : all_instructions())
        if (row.format == Format::VOPC) opcodes.push_back(row.opcode);
    return opcodes;
}

}  // namespace riftjit::rdna::emulator
