// Conversions of f8 over lanes, and its dot products in f32. What the rows read and write is in valu_float8.cpp.
#include "jit/rdna/emulator/lanes/lanes_operations.h"
#include "jit/rdna/emulator/lanes/vector_float8.h"

namespace riftjit::rdna::emulator {
namespace lanes_float8 {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;

constexpr uint32_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kInfinity = 0x7F800000, kQuietNan = 0x7FC00000;
constexpr uint32_t kMinNormal = 0x00800000;

// t, u and v are used.
void expand_byte(E& e, Float8 type, const Xmm& to, int byte) {
    widen_float8(e, type, to, e.a, byte, e.t);
    e.compare_f32(e.t, to, to, kUnordered);
    e.vpslld(e.u, e.a, static_cast<uint8_t>(24 - 8 * byte));
    e.and_word(e.u, e.u, kSign);
    e.or_bits(e.u, e.u, e.every_word(kQuietNan));
    e.blend(to, to, e.u, e.t);
}
template <Float8 Type>
void expand(E& e) {
    expand_byte(e, Type, e.d, (e.variant() & 1) << 1 | (e.variant() >> 1 & 1));
}
template <Float8 Type>
void expand_pair(E& e) {
    expand_byte(e, Type, e.d, 0);
    expand_byte(e, Type, e.d_high, 1);
}

// A format's bits, and f32 as which they lie among the others.
struct Format {
    uint32_t mantissa_bits, largest, overflowed, nan, rebias;
    uint32_t min_normal;    // as f32
    uint32_t denormal_one;  // as f32: what counts in the format's least steps
    uint32_t dropped() const { return 23 - mantissa_bits; }
};
constexpr Format kFp8{3, 0x7E, 0x7F, 0xFF, (127 - 7) << 3, (127 - 6) << 23, (127 - 6 - 3 + 23) << 23};
constexpr Format kBf8{2, 0x7B, 0x7C, 0xFE, (127 - 15) << 2, (127 - 14) << 23, (127 - 14 - 2 + 23) << 23};
constexpr const Format& format_of(Float8 type) { return type == Float8::fp8 ? kFp8 : kBf8; }

// `to`, a magnitude, with the sign of `from`; what lies beyond the largest number overflows. t: the magnitude of
// `from`. u and v are used.
void finish(E& e, const Format& format, const Xmm& to, const Xmm& from) {
    e.greater_i32(e.v, to, e.every_word(format.largest));
    e.load_word(e.u, format.overflowed);
    e.blend(to, to, e.u, e.v);
    e.vpsrld(e.u, from, 24);
    e.and_word(e.u, e.u, 0x80);
    e.or_bits(to, to, e.u);
    e.greater_i32(e.v, e.t, e.every_word(kInfinity));
    e.load_word(e.u, format.nan);
    e.blend(to, to, e.u, e.v);
}
// To the nearest, of two the even one. Below the normal numbers the host's sum with a number that counts in the same
// steps rounds so.
void round(E& e, const Format& format, const Xmm& to, const Xmm& from) {
    const auto dropped = static_cast<uint8_t>(format.dropped());
    e.and_word(e.t, from, kMagnitude);
    e.vpsrld(e.u, e.t, dropped);
    e.and_word(e.u, e.u, 1);
    e.vpaddd(e.u, e.u, e.t);
    e.vpaddd(e.u, e.u, e.every_word((1u << (dropped - 1)) - 1));
    e.vpsrld(e.u, e.u, dropped);
    e.vpsubd(e.u, e.u, e.every_word(format.rebias));
    e.vaddps(to, e.t, e.every_word(format.denormal_one));
    e.vpsubd(to, to, e.every_word(format.denormal_one));
    e.greater_i32(e.v, e.t, e.every_word(format.min_normal - 1));
    e.blend(to, to, e.u, e.v);
    finish(e, format, to, from);
}
template <Float8 Type>
void pack_pair(E& e) {
    round(e, format_of(Type), e.d, e.a);
    round(e, format_of(Type), e.w, e.b);
    e.vpslld(e.w, e.w, 8);
    e.or_bits(e.d, e.d, e.w);
    const bool is_high = e.variant() != 0;
    if (is_high) e.vpslld(e.d, e.d, 16);
    e.and_word(e.c, e.c, is_high ? 0x0000FFFF : 0xFFFF0000);
    e.or_bits(e.d, e.d, e.c);
}

// The seed's high bits are added below those that stay. Below the normal numbers what is dropped is cut off before.
template <Float8 Type>
void round_stochastically(E& e) {
    constexpr uint32_t kMantissa = kMinNormal - 1;
    const Format& format = format_of(Type);
    const auto dropped = static_cast<uint8_t>(format.dropped());
    const Xmm& steps = e.w;
    e.vpsrld(e.b, e.b, static_cast<uint8_t>(32 - dropped));
    e.and_word(e.t, e.a, kMagnitude);
    e.vpaddd(e.d, e.t, e.b);
    e.vpsrld(e.d, e.d, dropped);
    e.vpsubd(e.d, e.d, e.every_word(format.rebias));
    e.and_word(steps, e.a, kMantissa);
    e.or_bits(steps, steps, e.every_word(kMinNormal));
    e.vpsrld(e.v, e.t, 23);
    e.load_word(e.u, format.min_normal >> 23);
    e.vpsubd(e.v, e.u, e.v);
    e.vpsrlvd(steps, steps, e.v);
    e.vpaddd(steps, steps, e.b);
    e.vpsrld(steps, steps, dropped);
    e.greater_i32(e.v, e.t, e.every_word(format.min_normal - 1));
    e.blend(e.d, steps, e.d, e.v);
    finish(e, format, e.d, e.a);
    const auto shift = static_cast<uint8_t>(8 * e.variant());
    if (shift != 0) e.vpslld(e.d, e.d, shift);
    e.and_word(e.c, e.c, ~(0xFFu << shift));
    e.or_bits(e.d, e.d, e.c);
}

// Lanes with a NaN of fp8: one more than the magnitude of such a byte carries into its sign.
void decline_nans(E& e, Float8 type, const Xmm& bytes) {
    if (type != Float8::fp8) return;
    e.and_word(e.t, bytes, 0x7F7F7F7F);
    e.vpaddd(e.t, e.t, e.every_word(0x01010101));
    e.and_word(e.t, e.t, 0x80808080);
    e.vpsrld(e.u, e.t, 1);  // below the sign, so that the comparison is one of positive numbers
    e.greater_i32(e.u, e.u, e.every_word(0));
    e.decline(e.u);
}
// The lowest bytes first, rounded to f32 each time.
template <Float8 A, Float8 B>
void dot4(E& e) {
    decline_nans(e, A, e.a);
    decline_nans(e, B, e.b);
    for (int byte = 0; byte < 4; ++byte) {
        widen_float8_number(e, A, e.t, e.a, byte);
        widen_float8_number(e, B, e.u, e.b, byte);
        e.vfmadd231ps(e.c, e.t, e.u);
    }
    e.move(e.d, e.c);
}
template <Float8 A, Float8 B>
constexpr LaneOperation dot(Opcode opcode) {
    return {opcode, 3, LaneKernelResult::words, LaneCheck::nan_result, {}, dot4<A, B>};
}

constexpr LaneOperation expanded_pair(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 1, emit);
    operation.widths.result = 2;
    operation.halves.sources = HalfSources::bits;
    return operation;
}

constexpr LaneOperation kOperations[] = {
    lane_words(Opcode::v_cvt_f32_fp8, 1, expand<Float8::fp8>),
    lane_words(Opcode::v_cvt_f32_bf8, 1, expand<Float8::bf8>),
    expanded_pair(Opcode::v_cvt_pk_f32_fp8, expand_pair<Float8::fp8>),
    expanded_pair(Opcode::v_cvt_pk_f32_bf8, expand_pair<Float8::bf8>),
    lane_words(Opcode::v_cvt_pk_fp8_f32, 3, pack_pair<Float8::fp8>),
    lane_words(Opcode::v_cvt_pk_bf8_f32, 3, pack_pair<Float8::bf8>),
    lane_words(Opcode::v_cvt_sr_fp8_f32, 3, round_stochastically<Float8::fp8>),
    lane_words(Opcode::v_cvt_sr_bf8_f32, 3, round_stochastically<Float8::bf8>),
    dot<Float8::fp8, Float8::bf8>(Opcode::v_dot4_f32_fp8_bf8),
    dot<Float8::bf8, Float8::fp8>(Opcode::v_dot4_f32_bf8_fp8),
    dot<Float8::fp8, Float8::fp8>(Opcode::v_dot4_f32_fp8_fp8),
    dot<Float8::bf8, Float8::bf8>(Opcode::v_dot4_f32_bf8_bf8),
};

}  // namespace
}  // namespace lanes_float8

std::span<const LaneOperation> float8_lane_operations() { return lanes_float8::kOperations; }

}  // namespace riftjit::rdna::emulator
