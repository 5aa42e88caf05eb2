// Floating-point arithmetic in integers, for every format, rounding mode and denormal mode of the MODE register. Values
// are bit patterns in the low bits of a uint64_t. What NaNs do follows the results published for gfx1201: the first NaN
// operand, made quiet; an invalid operation gives the negative quiet NaN.
#pragma once

#include <cstdint>

namespace riftjit::rdna::emulator {

struct FloatFormat {
    uint8_t mantissa_bits, exponent_bits;

    constexpr unsigned width() const { return 1u + mantissa_bits + exponent_bits; }
    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr int min_exponent() const { return 1 - bias(); }  // of the smallest normal number
    constexpr uint64_t sign() const { return 1ull << (width() - 1); }
    constexpr uint64_t magnitude_mask() const { return sign() - 1; }
    constexpr uint64_t exponent_mask() const { return (1ull << exponent_bits) - 1; }
    constexpr uint64_t mantissa_mask() const { return (1ull << mantissa_bits) - 1; }
    constexpr uint64_t min_normal() const { return 1ull << mantissa_bits; }
    constexpr uint64_t infinity() const { return exponent_mask() << mantissa_bits; }
    constexpr uint64_t largest() const { return infinity() - 1; }
    constexpr uint64_t quiet_bit() const { return 1ull << (mantissa_bits - 1); }
    constexpr uint64_t one() const { return static_cast<uint64_t>(bias()) << mantissa_bits; }
    constexpr uint64_t invalid() const { return sign() | infinity() | quiet_bit(); }  // result of 0 * inf and its kin

    constexpr uint64_t exponent(uint64_t bits) const { return bits >> mantissa_bits & exponent_mask(); }
    constexpr bool negative(uint64_t bits) const { return (bits & sign()) != 0; }
    constexpr uint64_t magnitude(uint64_t bits) const { return bits & magnitude_mask(); }
    constexpr bool is_nan(uint64_t bits) const { return magnitude(bits) > infinity(); }
    constexpr bool is_signaling(uint64_t bits) const { return is_nan(bits) && !(bits & quiet_bit()); }
    constexpr bool is_infinity(uint64_t bits) const { return magnitude(bits) == infinity(); }
    constexpr bool is_zero(uint64_t bits) const { return magnitude(bits) == 0; }
    constexpr bool is_denormal(uint64_t bits) const { return !is_zero(bits) && magnitude(bits) < min_normal(); }
    constexpr uint64_t quiet(uint64_t nan) const { return nan | quiet_bit(); }
};

inline constexpr FloatFormat kF16{10, 5}, kBf16{7, 8}, kF32{23, 8}, kF64{52, 11};

enum class Rounding : uint8_t { nearest_even, up, down, toward_zero };  // as MODE numbers them

enum class TinyResults : uint8_t {
    keep,
    flush,                  // to zero of the same sign, where the rounded value is below the smallest normal number
    flush_before_rounding,  // also where only the unrounded value is; to +0, as the output modifier demands
};

struct FloatControl {
    Rounding rounding = Rounding::nearest_even;
    bool flush_inputs = false;
    TinyResults tiny = TinyResults::keep;
    bool saturate = false;  // MODE.FP16_OVFL: a finite result that overflows becomes the largest number
};

using Wide = unsigned __int128;

// A finite non-zero number: significand * 2^exponent, the lowest bit set where non-zero bits below it were dropped.
struct Exact {
    bool negative;
    int exponent;
    Wide significand;
};

// The value in multiples of 2^step, as an integer.
Wide in_steps(const Exact& value, int step, Rounding rounding);
uint64_t round_exact(const FloatFormat& format, Exact value, const FloatControl& control);
// The number behind finite non-zero bits.
Exact exact_value(const FloatFormat& format, uint64_t bits);
// The exact sum, sticky in the lowest bit; significand 0 where the two cancel.
Exact add_exact(Exact a, Exact b);

uint64_t flush_input(const FloatFormat& format, uint64_t bits, const FloatControl& control);

uint64_t float_add(const FloatFormat& format, uint64_t a, uint64_t b, const FloatControl& control);
uint64_t float_mul(const FloatFormat& format, uint64_t a, uint64_t b, const FloatControl& control);
uint64_t float_fma(const FloatFormat& format, uint64_t a, uint64_t b, uint64_t c, const FloatControl& control);
// The same for f32, to nearest and with denormals kept, by the host's fused multiply-add.
uint64_t fma_f32_nearest(uint64_t a, uint64_t b, uint64_t c);
// a * b + c scaled by 2^scale before the one rounding; the product in format `from`, rounded to `to`.
uint64_t float_fma_scaled(const FloatFormat& from, const FloatFormat& to, uint64_t a, uint64_t b, uint64_t c, int scale,
                          const FloatControl& control);
uint64_t float_scale(const FloatFormat& format, uint64_t a, int64_t power, const FloatControl& control);
uint64_t float_convert(const FloatFormat& from, const FloatFormat& to, uint64_t a, const FloatControl& control);
uint64_t float_from_integer(const FloatFormat& format, int64_t value, const FloatControl& control);

// To an integral value in the same format; the sign of zero is kept.
uint64_t float_round(const FloatFormat& format, uint64_t a, Rounding rounding);
// To an integer, saturating at the limits; NaN gives 0.
int64_t float_to_integer(const FloatFormat& format, uint64_t a, Rounding rounding, int64_t lowest, int64_t highest);

enum class Order : uint8_t { less, equal, greater, unordered };
// Outcomes that make a predicate true, as bits.
constexpr unsigned when(Order order) { return 1u << static_cast<unsigned>(order); }
inline constexpr unsigned kWhenLess = when(Order::less), kWhenEqual = when(Order::equal),
                          kWhenGreater = when(Order::greater), kWhenUnordered = when(Order::unordered),
                          kWhenever = kWhenLess | kWhenEqual | kWhenGreater | kWhenUnordered;
Order float_compare(const FloatFormat& format, uint64_t a, uint64_t b);

double to_double(const FloatFormat& format, uint64_t bits);  // exact for every format

}  // namespace riftjit::rdna::emulator
