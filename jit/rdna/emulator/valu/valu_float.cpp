#include "jit/rdna/emulator/valu/valu_float.h"

#include <bit>
#include <cmath>
#include <utility>

#include "host/half.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr int kTopBit = 125;  // where sums put the leading bit: above the 106 bits of a product, below a carry

int leading_bit(Wide value) {
    const auto high = static_cast<uint64_t>(value >> 64);
    return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<uint64_t>(value));
}

Wide shift_right_sticky(Wide value, int count) {
    if (count <= 0) return value;
    if (count > 127) return value != 0;
    const Wide dropped = value & ((Wide{1} << count) - 1);
    return value >> count | (dropped != 0);
}

void normalize(Exact& value) {
    const int shift = kTopBit - leading_bit(value.significand);
    value.significand = shift >= 0 ? value.significand << shift : shift_right_sticky(value.significand, -shift);
    value.exponent -= shift;
}

bool rounds_up(Rounding rounding, bool negative, bool odd, bool half, bool sticky) {
    switch (rounding) {
        case Rounding::nearest_even:
            return half && (sticky || odd);
        case Rounding::up:
            return !negative && (half || sticky);
        case Rounding::down:
            return negative && (half || sticky);
        case Rounding::toward_zero:
            return false;
    }
    return false;
}

// value / 2^shift as an integer, rounded.
Wide round_shifted(Wide value, int shift, Rounding rounding, bool negative) {
    if (shift <= 0) return value << -shift;
    if (shift > 127) {
        value = value != 0;
        shift = 127;
    }
    const Wide quotient = value >> shift, half = Wide{1} << (shift - 1);
    return quotient +
           rounds_up(rounding, negative, (quotient & 1) != 0, (value & half) != 0, (value & (half - 1)) != 0);
}

uint64_t overflow(const FloatFormat& format, bool negative, const FloatControl& control) {
    const bool to_infinity =
        control.rounding == Rounding::nearest_even || control.rounding == (negative ? Rounding::down : Rounding::up);
    const uint64_t magnitude = to_infinity && !control.saturate ? format.infinity() : format.largest();
    return (negative ? format.sign() : 0) | magnitude;
}

// Whether the value, rounded as if exponents had no limit, stays below the smallest normal number.
bool is_tiny(const FloatFormat& format, const Exact& value, int top, const FloatControl& control) {
    if (top >= format.min_exponent()) return false;
    if (top < format.min_exponent() - 1 || control.tiny == TinyResults::flush_before_rounding) return true;
    const int shift = leading_bit(value.significand) - format.mantissa_bits;
    const Wide rounded = round_shifted(value.significand, shift, control.rounding, value.negative);
    return leading_bit(rounded) <= format.mantissa_bits;
}

uint64_t first_nan(const FloatFormat& format, uint64_t a, uint64_t b) { return format.quiet(format.is_nan(a) ? a : b); }

// The zero that an exact cancellation gives.
uint64_t cancelled(const FloatFormat& format, const FloatControl& control) {
    return control.rounding == Rounding::down ? format.sign() : 0;
}

uint64_t zero_sum(const FloatFormat& format, bool a_negative, bool b_negative, const FloatControl& control) {
    if (a_negative == b_negative) return a_negative ? format.sign() : 0;
    return cancelled(format, control);
}

Exact multiply(const Exact& a, const Exact& b) {
    return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

uint64_t change_format(const FloatFormat& from, const FloatFormat& to, uint64_t nan) {
    const uint64_t mantissa = nan & from.mantissa_mask();
    const int shift = to.mantissa_bits - from.mantissa_bits;
    const uint64_t moved = shift >= 0 ? mantissa << shift : mantissa >> -shift;
    return (from.negative(nan) ? to.sign() : 0) | to.infinity() | to.quiet_bit() | moved;
}

}  // namespace

Exact exact_value(const FloatFormat& format, uint64_t bits) {
    const uint64_t exponent = format.exponent(bits), mantissa = bits & format.mantissa_mask();
    const uint64_t significand = exponent == 0 ? mantissa : mantissa | format.min_normal();
    const int biased = exponent == 0 ? 1 : static_cast<int>(exponent);
    return {format.negative(bits), biased - format.bias() - format.mantissa_bits, significand};
}

Wide in_steps(const Exact& value, int step, Rounding rounding) {
    return round_shifted(value.significand, step - value.exponent, rounding, value.negative);
}

uint64_t round_exact(const FloatFormat& format, Exact value, const FloatControl& control) {
    const uint64_t sign = value.negative ? format.sign() : 0;
    const int top = value.exponent + leading_bit(value.significand);  // value is in [2^top, 2^(top + 1))
    if (top > format.bias()) return overflow(format, value.negative, control);
    if (control.tiny != TinyResults::keep && is_tiny(format, value, top, control))
        return control.tiny == TinyResults::flush ? sign : 0;
    const int lowest = (top < format.min_exponent() ? format.min_exponent() : top) - format.mantissa_bits;
    const Wide rounded = round_shifted(value.significand, lowest - value.exponent, control.rounding, value.negative);
    // The implicit bit adds one to the exponent field, and a carry out of the mantissa another: both as wanted.
    const uint64_t field = top < format.min_exponent() ? 0 : static_cast<uint64_t>(top + format.bias() - 1);
    const uint64_t magnitude = (field << format.mantissa_bits) + static_cast<uint64_t>(rounded);
    if (magnitude >= format.infinity()) return overflow(format, value.negative, control);
    return sign | magnitude;
}

Exact add_exact(Exact a, Exact b) {
    if (a.significand == 0) return b;
    if (b.significand == 0) return a;
    normalize(a);
    normalize(b);
    if (b.exponent > a.exponent || (b.exponent == a.exponent && b.significand > a.significand)) std::swap(a, b);
    const Wide smaller = shift_right_sticky(b.significand, a.exponent - b.exponent);
    a.significand = a.negative == b.negative ? a.significand + smaller : a.significand - smaller;
    return a;
}

uint64_t flush_input(const FloatFormat& format, uint64_t bits, const FloatControl& control) {
    return control.flush_inputs && format.is_denormal(bits) ? bits & format.sign() : bits;
}

uint64_t float_add(const FloatFormat& format, uint64_t a, uint64_t b, const FloatControl& control) {
    a = flush_input(format, a, control);
    b = flush_input(format, b, control);
    if (format.is_nan(a) || format.is_nan(b)) return first_nan(format, a, b);
    if (format.is_infinity(a))
        return format.is_infinity(b) && format.negative(a) != format.negative(b) ? format.invalid() : a;
    if (format.is_infinity(b)) return b;
    if (format.is_zero(a) && format.is_zero(b))
        return zero_sum(format, format.negative(a), format.negative(b), control);
    if (format.is_zero(a)) return round_exact(format, exact_value(format, b), control);
    if (format.is_zero(b)) return round_exact(format, exact_value(format, a), control);
    const Exact sum = add_exact(exact_value(format, a), exact_value(format, b));
    return sum.significand == 0 ? cancelled(format, control) : round_exact(format, sum, control);
}

uint64_t float_mul(const FloatFormat& format, uint64_t a, uint64_t b, const FloatControl& control) {
    a = flush_input(format, a, control);
    b = flush_input(format, b, control);
    if (format.is_nan(a) || format.is_nan(b)) return first_nan(format, a, b);
    const uint64_t sign = (a ^ b) & format.sign();
    if (format.is_infinity(a) || format.is_infinity(b))
        return format.is_zero(a) || format.is_zero(b) ? format.invalid() : sign | format.infinity();
    if (format.is_zero(a) || format.is_zero(b)) return sign;
    return round_exact(format, multiply(exact_value(format, a), exact_value(format, b)), control);
}

uint64_t float_fma(const FloatFormat& format, uint64_t a, uint64_t b, uint64_t c, const FloatControl& control) {
    return float_fma_scaled(format, format, a, b, c, 0, control);
}

uint64_t fma_f32_nearest(uint64_t a, uint64_t b, uint64_t c) {
    const auto number = [](uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); };
    const float sum = std::fma(number(a), number(b), number(c));
    return std::isnan(sum) ? float_fma(kF32, a, b, c, {}) : std::bit_cast<uint32_t>(sum);
}

uint64_t float_fma_scaled(const FloatFormat& from, const FloatFormat& to, uint64_t a, uint64_t b, uint64_t c, int scale,
                          const FloatControl& control) {
    a = flush_input(from, a, control);
    b = flush_input(from, b, control);
    c = flush_input(from, c, control);
    // An invalid product wins over a NaN addend.
    if ((from.is_zero(a) && from.is_infinity(b)) || (from.is_infinity(a) && from.is_zero(b))) return to.invalid();
    if (from.is_nan(a) || from.is_nan(b)) return change_format(from, to, first_nan(from, a, b));
    if (from.is_nan(c)) return change_format(from, to, c);
    const bool product_negative = from.negative(a) != from.negative(b);
    if (from.is_infinity(a) || from.is_infinity(b)) {
        if (from.is_infinity(c) && from.negative(c) != product_negative) return to.invalid();
        return (product_negative ? to.sign() : 0) | to.infinity();
    }
    const uint64_t addend_sign = from.negative(c) ? to.sign() : 0;
    if (from.is_infinity(c)) return addend_sign | to.infinity();
    if (from.is_zero(a) || from.is_zero(b)) {
        if (from.is_zero(c)) return zero_sum(to, product_negative, from.negative(c), control);
        Exact addend = exact_value(from, c);
        addend.exponent += scale;
        return round_exact(to, addend, control);
    }
    Exact sum = multiply(exact_value(from, a), exact_value(from, b));
    if (!from.is_zero(c)) sum = add_exact(sum, exact_value(from, c));
    if (sum.significand == 0) return cancelled(to, control);
    sum.exponent += scale;
    return round_exact(to, sum, control);
}

uint64_t float_scale(const FloatFormat& format, uint64_t a, int64_t power, const FloatControl& control) {
    a = flush_input(format, a, control);
    if (format.is_nan(a)) return format.quiet(a);
    if (format.is_infinity(a) || format.is_zero(a)) return a;
    constexpr int64_t kLimit = 1 << 14;  // beyond it every number overflows or vanishes
    Exact value = exact_value(format, a);
    value.exponent += static_cast<int>(power < -kLimit ? -kLimit : power > kLimit ? kLimit : power);
    return round_exact(format, value, control);
}

uint64_t float_convert(const FloatFormat& from, const FloatFormat& to, uint64_t a, const FloatControl& control) {
    a = flush_input(from, a, control);
    if (from.is_nan(a)) return change_format(from, to, a);
    const uint64_t sign = from.negative(a) ? to.sign() : 0;
    if (from.is_infinity(a)) return sign | to.infinity();
    if (from.is_zero(a)) return sign;
    const int wider = to.mantissa_bits - from.mantissa_bits;
    if (wider >= 0 && to.exponent_bits >= from.exponent_bits && !from.is_denormal(a))  // exact
        return sign |
               ((from.magnitude(a) << wider) + (static_cast<uint64_t>(to.bias() - from.bias()) << to.mantissa_bits));
    return round_exact(to, exact_value(from, a), control);
}

uint64_t float_from_integer(const FloatFormat& format, int64_t value, const FloatControl& control) {
    if (value == 0) return 0;
    const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return round_exact(format, {value < 0, 0, magnitude}, control);
}

uint64_t float_round(const FloatFormat& format, uint64_t a, Rounding rounding) {
    if (format.is_nan(a)) return format.quiet(a);
    if (format.is_infinity(a) || format.is_zero(a)) return a;
    const Exact value = exact_value(format, a);
    if (value.exponent >= 0) return a;
    const Wide integer = round_shifted(value.significand, -value.exponent, rounding, value.negative);
    const uint64_t sign = a & format.sign();
    return integer == 0 ? sign : round_exact(format, {value.negative, 0, integer}, {});
}

int64_t float_to_integer(const FloatFormat& format, uint64_t a, Rounding rounding, int64_t lowest, int64_t highest) {
    if (format.is_nan(a) || format.is_zero(a)) return 0;
    if (format.is_infinity(a)) return format.negative(a) ? lowest : highest;
    const Exact value = exact_value(format, a);
    if (value.exponent + leading_bit(value.significand) > 62) return value.negative ? lowest : highest;
    const Wide magnitude = round_shifted(value.significand, -value.exponent, rounding, value.negative);
    const int64_t integer = value.negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
    return integer < lowest ? lowest : integer > highest ? highest : integer;
}

Order float_compare(const FloatFormat& format, uint64_t a, uint64_t b) {
    if (format.is_nan(a) || format.is_nan(b)) return Order::unordered;
    const auto key = [&](uint64_t bits) {
        const auto magnitude = static_cast<int64_t>(format.magnitude(bits));
        return format.negative(bits) ? -magnitude : magnitude;
    };
    const int64_t left = key(a), right = key(b);
    return left < right ? Order::less : left > right ? Order::greater : Order::equal;
}

double to_double(const FloatFormat& format, uint64_t bits) {
    if (format.is_nan(bits)) return std::bit_cast<double>(float_convert(format, kF64, bits, {}));
    if (format.width() == 32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (format.exponent_bits == kF16.exponent_bits && format.width() == 16)
        return half_to_float(static_cast<uint16_t>(bits));
    return std::bit_cast<double>(float_convert(format, kF64, bits, {}));
}

}  // namespace riftjit::rdna::emulator
