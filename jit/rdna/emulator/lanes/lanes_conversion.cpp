// Conversions between floats and integers over lanes, beyond those that are one instruction of the host.
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_conversion {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;
constexpr uint32_t kHalf = 0xFFFF, kLowest = 0x80000000;

constexpr uint32_t f32(float value) { return std::bit_cast<uint32_t>(value); }

// value cut at the limits and truncated. A NaN, which the host's minimum and maximum let through from their second
// operand, becomes 0x80000000, of which the low half is 0.
void cut(E& e, const Xmm& value, float lowest, float highest) {
    e.load_word(e.t, f32(lowest));
    e.load_word(e.u, f32(highest));
    e.vmaxps(value, e.t, value);
    e.vminps(value, e.u, value);
    e.vcvttps2dq(value, value);
}
constexpr float kI16Lowest = -32768, kI16Highest = 32767, kU16Highest = 65535;
void to_i16(E& e) {
    cut(e, e.a, kI16Lowest, kI16Highest);
    e.move(e.d, e.a);
}
void to_u16(E& e) {
    cut(e, e.a, 0, kU16Highest);
    e.move(e.d, e.a);
}
// The low halves of a and b side by side.
void pack(E& e) {
    e.load_word(e.t, kHalf);
    e.and_bits(e.a, e.a, e.t);
    e.vpslld(e.b, e.b, 16);
    e.or_bits(e.d, e.a, e.b);
}
void pack_i16(E& e) {
    cut(e, e.a, kI16Lowest, kI16Highest);
    cut(e, e.b, kI16Lowest, kI16Highest);
    pack(e);
}
void pack_u16(E& e) {
    cut(e, e.a, 0, kU16Highest);
    cut(e, e.b, 0, kU16Highest);
    pack(e);
}

// value times the highest integer, to nearest: exact in f64 before it is rounded.
enum class Range : uint8_t { symmetric, positive };
void normalize(E& e, const Xmm& value, double highest, Range range) {
    const std::array<Xmm, 2> parts{e.found_lanes, e.condition_lanes};
    e.xor_bits(e.t, e.t, e.t);  // the host's minimum and maximum with 0: one of them is 0, and both for NaN
    e.vmaxps(e.u, value, e.t);
    e.vminps(value, value, e.t);
    e.vaddps(value, value, e.u);
    for (int half = 0; half < 2; ++half) {
        e.convert_half_to_f64(e.t, value, half);
        e.load_quad(e.u, std::bit_cast<uint64_t>(highest));
        e.vmulpd(e.t, e.t, e.u);
        e.vminpd(e.t, e.t, e.u);
        e.load_quad(e.u, std::bit_cast<uint64_t>(range == Range::symmetric ? -highest : 0.0));
        e.vmaxpd(e.t, e.t, e.u);
        e.vcvtpd2dq(e.half_width(parts[static_cast<size_t>(half)]), e.t);
    }
    e.join_halves(value, parts[0], parts[1]);
}
void norm_i16(E& e) {
    normalize(e, e.a, kI16Highest, Range::symmetric);
    e.move(e.d, e.a);
}
void norm_u16(E& e) {
    normalize(e, e.a, kU16Highest, Range::positive);
    e.move(e.d, e.a);
}
void pack_norm_i16(E& e) {
    normalize(e, e.a, kI16Highest, Range::symmetric);
    normalize(e, e.b, kI16Highest, Range::symmetric);
    pack(e);
}
void pack_norm_u16(E& e) {
    normalize(e, e.a, kU16Highest, Range::positive);
    normalize(e, e.b, kU16Highest, Range::positive);
    pack(e);
}

// a to the nearest byte, which replaces the one of c that b names.
void pack_byte(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vmaxps(e.a, e.a, e.t);
    e.load_word(e.t, f32(255));
    e.vminps(e.a, e.a, e.t);
    e.vcvtps2dq(e.a, e.a);
    e.load_word(e.t, 3);
    e.and_bits(e.b, e.b, e.t);
    e.vpslld(e.b, e.b, 3);
    e.vpsllvd(e.a, e.a, e.b);
    e.load_word(e.t, 0xFF);
    e.vpsllvd(e.t, e.t, e.b);
    e.and_not_bits(e.c, e.t, e.c);
    e.or_bits(e.d, e.a, e.c);
}

void to_floor(E& e) {
    e.round_f32(e.a, e.a, kDown);
    e.vcvttps2dq(e.d, e.a);
}
// Ties go up: where the fraction, kept below 1, doubles to 1.
void to_nearest(E& e) {
    constexpr uint32_t kBelowOne = 0x3F7FFFFF;
    e.round_f32(e.t, e.a, kDown);
    e.vsubps(e.u, e.a, e.t);
    e.load_word(e.b, kBelowOne);
    e.vminps(e.u, e.b, e.u);
    e.vaddps(e.u, e.u, e.u);
    e.round_f32(e.u, e.u, kDown);
    e.vaddps(e.t, e.t, e.u);
    e.vcvttps2dq(e.d, e.t);
}
void from_i4(E& e) {  // in sixteenths
    e.vpslld(e.a, e.a, 28);
    e.vpsrad(e.a, e.a, 28);
    e.vcvtdq2ps(e.a, e.a);
    e.load_word(e.t, f32(0.0625F));
    e.vmulps(e.d, e.a, e.t);
}
void from_u16(E& e) {
    e.vpslld(e.a, e.a, 16);
    e.vpsrld(e.a, e.a, 16);
    e.vcvtdq2ps(e.d, e.a);
}
void from_i16(E& e) {
    e.vpslld(e.a, e.a, 16);
    e.vpsrad(e.a, e.a, 16);
    e.vcvtdq2ps(e.d, e.a);
}
void zero_extend(E& e) {
    e.vpslld(e.a, e.a, 16);
    e.vpsrld(e.d, e.a, 16);
}
void sign_extend(E& e) {
    e.vpslld(e.a, e.a, 16);
    e.vpsrad(e.d, e.a, 16);
}
void pack_toward_zero(E& e) {
    e.narrow(e.t, e.a, HalfRounding::toward_zero);
    e.narrow(e.u, e.b, HalfRounding::toward_zero);
    e.vpslld(e.u, e.u, 16);
    e.or_bits(e.d, e.t, e.u);
}
void as_it_is(E& e) { e.move(e.d, e.a); }
// Both halves are widened one after the other.
template <LaneEmit Pack>
void of_halves(E& e) {
    e.widen(e.a, e.a);
    e.widen(e.b, e.b);
    Pack(e);
}

constexpr LaneOperation halves(Opcode opcode, uint8_t sources, LaneEmit emit, HalfSources from, HalfResult to) {
    LaneOperation operation = lane_words(opcode, sources, emit);
    operation.halves = {from, to};
    return operation;
}
constexpr LaneOperation within_range(Opcode opcode, LaneEmit emit) {
    return {opcode, 1, kWords, LaneCheck::lowest_result, {kLowest}, emit};
}

constexpr LaneOperation kOperations[] = {
    halves(Opcode::v_cvt_f16_f32, 1, as_it_is, HalfSources::none, HalfResult::f16),
    halves(Opcode::v_cvt_f32_f16, 1, as_it_is, HalfSources::f16, HalfResult::none),
    halves(Opcode::v_cvt_f16_u16, 1, from_u16, HalfSources::bits, HalfResult::f16),
    halves(Opcode::v_cvt_f16_i16, 1, from_i16, HalfSources::bits, HalfResult::f16),
    halves(Opcode::v_cvt_u16_f16, 1, to_u16, HalfSources::f16, HalfResult::bits),
    halves(Opcode::v_cvt_i16_f16, 1, to_i16, HalfSources::f16, HalfResult::bits),
    halves(Opcode::v_cvt_norm_i16_f16, 1, norm_i16, HalfSources::f16, HalfResult::bits),
    halves(Opcode::v_cvt_norm_u16_f16, 1, norm_u16, HalfSources::f16, HalfResult::bits),
    halves(Opcode::v_cvt_pk_norm_i16_f16, 2, of_halves<pack_norm_i16>, HalfSources::bits, HalfResult::none),
    halves(Opcode::v_cvt_pk_norm_u16_f16, 2, of_halves<pack_norm_u16>, HalfSources::bits, HalfResult::none),
    halves(Opcode::v_cvt_u32_u16, 1, zero_extend, HalfSources::bits, HalfResult::none),
    halves(Opcode::v_cvt_i32_i16, 1, sign_extend, HalfSources::bits, HalfResult::none),
    lane_words(Opcode::v_cvt_pk_norm_i16_f32, 2, pack_norm_i16),
    lane_words(Opcode::v_cvt_pk_norm_u16_f32, 2, pack_norm_u16),
    lane_words(Opcode::v_cvt_pk_i16_f32, 2, pack_i16),
    lane_words(Opcode::v_cvt_pk_u16_f32, 2, pack_u16),
    lane_words(Opcode::v_cvt_pk_u8_f32, 3, pack_byte),
    lane_words(Opcode::v_cvt_pk_rtz_f16_f32, 2, pack_toward_zero),
    lane_words(Opcode::v_cvt_off_f32_i4, 1, from_i4),
    within_range(Opcode::v_cvt_floor_i32_f32, to_floor),
    within_range(Opcode::v_cvt_nearest_i32_f32, to_nearest),
};

}  // namespace
}  // namespace lanes_conversion

std::span<const LaneOperation> conversion_lane_operations() { return lanes_conversion::kOperations; }

}  // namespace riftjit::rdna::emulator
