#include "jit/rdna/emulator/valu/valu_float8.h"

#include <algorithm>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr FloatFormat kE4M3{3, 4}, kE5M2{2, 5};
constexpr uint8_t kE4M3Largest = 0x7E, kE4M3Nan = 0x7F, kE5M2Largest = 0x7B, kE5M2Infinity = 0x7C;
constexpr uint8_t kNanFromNan[] = {0xFF, 0xFE};  // fp8, bf8: what any NaN becomes

const FloatFormat& format_of(Float8 type) { return type == Float8::fp8 ? kE4M3 : kE5M2; }

uint8_t largest(Float8 type) { return type == Float8::fp8 ? kE4M3Largest : kE5M2Largest; }
uint8_t overflowed(Float8 type, Overflow8 overflow) {
    if (overflow == Overflow8::saturate) return largest(type);
    return type == Float8::fp8 ? kE4M3Nan : kE5M2Infinity;
}

// The exponent of the last bit that the result keeps.
int last_exponent(Float8 type, const Exact& value) {
    const FloatFormat& format = format_of(type);
    const int top = value.exponent + static_cast<int>(std::bit_width(static_cast<uint64_t>(value.significand))) - 1;
    return std::max(top, format.min_exponent()) - format.mantissa_bits;
}

// `steps` multiples of 2^last. The exponent field counts from the smallest normal number; a leading bit of steps
// adds 1.
uint8_t encode(Float8 type, bool negative, int last, uint64_t steps, Overflow8 overflow) {
    const FloatFormat& format = format_of(type);
    const int field = last + format.mantissa_bits - format.min_exponent();
    const uint64_t bits = (static_cast<uint64_t>(field) << format.mantissa_bits) + steps;
    const uint8_t sign = negative ? 0x80 : 0;
    return sign | (bits > largest(type) ? overflowed(type, overflow) : static_cast<uint8_t>(bits));
}

bool is_e4m3_nan(uint8_t byte) { return (byte & 0x7F) == kE4M3Nan; }

template <Float8 Type>
uint8_t byte_of(const LaneData& lane, unsigned index) {
    return static_cast<uint8_t>(lane.source[0] >> 8 * index);
}
// op_sel counts bytes with its two bits swapped.
template <Float8 Type>
void expand(const LaneContext& context, LaneData& lane) {
    const unsigned byte = (context.op_sel & 1) << 1 | (context.op_sel >> 1 & 1);
    lane.result = float8_to_f32(Type, byte_of<Type>(lane, byte));
}
template <Float8 Type>  // of the half that op_sel names
void expand_pair(const LaneContext&, LaneData& lane) {
    lane.result = float8_to_f32(Type, byte_of<Type>(lane, 0)) | float8_to_f32(Type, byte_of<Type>(lane, 1)) << 32;
}
Overflow8 overflow_of(const LaneContext& context) {
    return context.f16.saturate ? Overflow8::saturate : Overflow8::special;
}
template <Float8 Type>
void pack_pair(const LaneContext& context, LaneData& lane) {
    const uint64_t pair = f32_to_float8(Type, lane.source[0], overflow_of(context)) |
                          f32_to_float8(Type, lane.source[1], overflow_of(context)) << 8;
    const bool high = (context.op_sel & 8) != 0;
    lane.result = high ? pack_halves(lane.source[2], pair) : pack_halves(pair, lane.source[2] >> 16);
}
template <Float8 Type>
void round_stochastically(const LaneContext& context, LaneData& lane) {
    const unsigned shift = 8 * (context.op_sel >> 2 & 3);
    const uint64_t byte =
        f32_to_float8_stochastic(Type, lane.source[0], static_cast<uint32_t>(lane.source[1]), overflow_of(context));
    lane.result = (lane.source[2] & ~(0xFFull << shift)) | byte << shift;
}

constexpr LaneSemantics kFloat8Rows[] = {
    lanewise<expand<Float8::fp8>>(Opcode::v_cvt_f32_fp8),
    lanewise<expand<Float8::bf8>>(Opcode::v_cvt_f32_bf8),
    lanewise<expand_pair<Float8::fp8>>(Opcode::v_cvt_pk_f32_fp8),
    lanewise<expand_pair<Float8::bf8>>(Opcode::v_cvt_pk_f32_bf8),
    lanewise<pack_pair<Float8::fp8>>(Opcode::v_cvt_pk_fp8_f32),
    lanewise<pack_pair<Float8::bf8>>(Opcode::v_cvt_pk_bf8_f32),
    lanewise<round_stochastically<Float8::fp8>>(Opcode::v_cvt_sr_fp8_f32),
    lanewise<round_stochastically<Float8::bf8>>(Opcode::v_cvt_sr_bf8_f32),
};

}  // namespace

uint64_t float8_to_f32(Float8 type, uint8_t byte) {
    const uint64_t sign = uint64_t{byte & 0x80u} << 24;
    if (type == Float8::bf8 && kE5M2.is_nan(byte)) return sign | kF32.infinity() | kF32.quiet_bit();
    if (type == Float8::fp8 && is_e4m3_nan(byte)) return sign | kF32.infinity() | kF32.quiet_bit();
    if (type == Float8::bf8 && kE5M2.is_infinity(byte)) return sign | kF32.infinity();
    if (kE4M3.is_zero(byte & 0x7F)) return sign;
    const Exact value = exact_value(format_of(type), byte);  // E4M3's topmost binade holds numbers, and comes out right
    return round_exact(kF32, value, {});
}

uint8_t f32_to_float8(Float8 type, uint64_t f32, Overflow8 overflow) {
    if (kF32.is_nan(f32)) return kNanFromNan[static_cast<size_t>(type)];
    const uint8_t sign = kF32.negative(f32) ? 0x80 : 0;
    if (kF32.is_infinity(f32)) return sign | overflowed(type, Overflow8::special);
    if (kF32.is_zero(f32)) return sign;
    const Exact value = exact_value(kF32, f32);
    const int last = last_exponent(type, value);
    const auto steps = static_cast<uint64_t>(in_steps(value, last, Rounding::nearest_even));
    return encode(type, value.negative, last, steps, overflow);
}

// Adds the seed's high bits below the bits that stay, then truncates. Of a result below the normal range the dropped
// bits are cut off before the addition (measured on gfx1201).
uint8_t f32_to_float8_stochastic(Float8 type, uint64_t f32, uint32_t seed, Overflow8 overflow) {
    if (kF32.is_nan(f32)) return kNanFromNan[static_cast<size_t>(type)];
    const uint8_t sign = kF32.negative(f32) ? 0x80 : 0;
    if (kF32.is_infinity(f32)) return sign | overflowed(type, Overflow8::special);
    if (kF32.is_zero(f32)) return sign;
    const int dropped = kF32.mantissa_bits - format_of(type).mantissa_bits;
    const Exact value = exact_value(kF32, f32);
    const int last = last_exponent(type, value);
    const auto aligned = static_cast<uint64_t>(in_steps(value, last - dropped, Rounding::toward_zero));
    const uint64_t steps = (aligned + (seed >> (32 - dropped))) >> dropped;
    return encode(type, value.negative, last, steps, overflow);
}

std::span<const LaneSemantics> float8_semantics() { return kFloat8Rows; }

}  // namespace riftjit::rdna::emulator
