#include "jit/rdna/emulator/valu/dot.h"

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr Sign kSigned = Sign::is_signed, kUnsigned = Sign::is_unsigned;
constexpr __int128 kI32Min = INT32_MIN, kI32Max = INT32_MAX, kU32Max = UINT32_MAX;

uint32_t word(uint64_t value) { return static_cast<uint32_t>(value); }

int64_t element(uint32_t packed, unsigned shift, unsigned bits, Sign sign) {
    const uint64_t field = packed >> shift & ((1u << bits) - 1);
    return sign == Sign::is_signed ? sign_extend(field, bits) : static_cast<int64_t>(field);
}

// Clamp applies to the whole sum with the accumulator.
void add_signed(const LaneContext& context, LaneData& lane, int64_t dot, uint64_t accumulator) {
    lane.result = word(saturate_or_wrap(context, __int128{dot} + static_cast<int32_t>(accumulator), kI32Min, kI32Max));
}
void add_unsigned(const LaneContext& context, LaneData& lane, int64_t dot, uint64_t accumulator) {
    lane.result = word(saturate_or_wrap(context, __int128{dot} + word(accumulator), 0, kU32Max));
}

template <unsigned Bits>
void dot_signed(const LaneContext& context, LaneData& lane) {
    add_signed(context, lane, integer_dot(word(lane.source[0]), word(lane.source[1]), Bits, kSigned, kSigned),
               lane.source[2]);
}
template <unsigned Bits>
void dot_unsigned(const LaneContext& context, LaneData& lane) {
    add_unsigned(context, lane, integer_dot(word(lane.source[0]), word(lane.source[1]), Bits, kUnsigned, kUnsigned),
                 lane.source[2]);
}
// neg_lo says which source is signed.
template <unsigned Bits>
void dot_mixed(const LaneContext& context, LaneData& lane) {
    const Sign a = (context.neg & 1) != 0 ? kSigned : kUnsigned, b = (context.neg & 2) != 0 ? kSigned : kUnsigned;
    add_signed(context, lane, integer_dot(word(lane.source[0]), word(lane.source[1]), Bits, a, b), lane.source[2]);
}
void dot4c(const LaneContext& context, LaneData& lane) {
    add_signed(context, lane, integer_dot(word(lane.source[0]), word(lane.source[1]), 8, kSigned, kSigned),
               lane.previous);
}

// gfx12 ignores clamp here (published for gfx1201).
template <auto& Halves>
void dot2_f32(const LaneContext& context, LaneData& lane) {
    const uint64_t sum = float_dot2(Halves, lane.source[0], lane.source[1], lane.source[2], context.f32);
    lane.result = context.generation == Generation::gfx12 ? sum : finish_float(kF32, context.f32, context, sum);
}
void dot2_accumulate(const LaneContext& context, LaneData& lane) {
    lane.result = float_dot2(kF16, lane.source[0], lane.source[1], lane.previous, context.f32);
}
// Summed in f32, then narrowed once. bf16 has no modes of its own: to nearest, denormals flushed.
template <auto& Halves>
void dot2_narrow(const LaneContext& context, LaneData& lane) {
    const bool is_bf16 = Halves.exponent_bits == kBf16.exponent_bits;
    const FloatControl flushing{.flush_inputs = true, .tiny = TinyResults::flush};
    FloatControl sum_control = is_bf16 ? flushing : FloatControl{};
    const FloatControl result_control = is_bf16 ? flushing : context.f16;
    const uint64_t accumulator =
        float_convert(Halves, kF32, flush_input(Halves, lane.source[2] & 0xFFFF, result_control), {});
    sum_control.flush_inputs = is_bf16;
    const uint64_t sum = float_dot2(Halves, lane.source[0], lane.source[1], accumulator, sum_control);
    FloatControl narrow = result_control;
    narrow.flush_inputs = false;
    lane.result = float_convert(kF32, Halves, sum, narrow);
}
template <Float8 A, Float8 B>
void dot4_float8(const LaneContext& context, LaneData& lane) {
    lane.result = float8_dot4(A, B, word(lane.source[0]), word(lane.source[1]), lane.source[2], context.f32);
}

constexpr LaneSemantics kDotRows[] = {
    lanewise<dot2_f32<kF16>>(Opcode::v_dot2_f32_f16),
    lanewise<dot2_f32<kBf16>>(Opcode::v_dot2_f32_bf16),
    lanewise<dot2_accumulate>(Opcode::v_dot2acc_f32_f16),
    lanewise<dot2_narrow<kF16>>(Opcode::v_dot2_f16_f16, ResultKind::half),
    lanewise<dot2_narrow<kBf16>>(Opcode::v_dot2_bf16_bf16, ResultKind::half),
    lanewise<dot_signed<16>>(Opcode::v_dot2_i32_i16),
    lanewise<dot_unsigned<16>>(Opcode::v_dot2_u32_u16),
    lanewise<dot_signed<8>>(Opcode::v_dot4_i32_i8),
    lanewise<dot4c>(Opcode::v_dot4c_i32_i8),
    lanewise<dot_mixed<8>>(Opcode::v_dot4_i32_iu8),
    lanewise<dot_unsigned<8>>(Opcode::v_dot4_u32_u8),
    lanewise<dot_signed<4>>(Opcode::v_dot8_i32_i4),
    lanewise<dot_mixed<4>>(Opcode::v_dot8_i32_iu4),
    lanewise<dot_unsigned<4>>(Opcode::v_dot8_u32_u4),
    lanewise<dot4_float8<Float8::fp8, Float8::bf8>>(Opcode::v_dot4_f32_fp8_bf8),
    lanewise<dot4_float8<Float8::bf8, Float8::fp8>>(Opcode::v_dot4_f32_bf8_fp8),
    lanewise<dot4_float8<Float8::fp8, Float8::fp8>>(Opcode::v_dot4_f32_fp8_fp8),
    lanewise<dot4_float8<Float8::bf8, Float8::bf8>>(Opcode::v_dot4_f32_bf8_bf8),
};

}  // namespace

int64_t integer_dot(uint32_t a, uint32_t b, unsigned bits, Sign a_sign, Sign b_sign) {
    int64_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += bits)
        sum += element(a, shift, bits, a_sign) * element(b, shift, bits, b_sign);
    return sum;
}

uint64_t float_dot2(const FloatFormat& halves, uint64_t a, uint64_t b, uint64_t accumulator,
                    const FloatControl& control) {
    const auto widened = [&](uint64_t half) {
        return float_convert(halves, kF32, half & 0xFFFF, {.flush_inputs = control.flush_inputs});
    };
    const uint64_t low = float_fma(kF32, widened(a), widened(b), accumulator, control);
    return float_fma(kF32, widened(a >> 16), widened(b >> 16), low, control);
}

uint64_t float8_dot4(Float8 a_type, Float8 b_type, uint32_t a, uint32_t b, uint64_t accumulator,
                     const FloatControl& control) {
    for (unsigned shift = 0; shift < 32; shift += 8)
        accumulator = float_fma(kF32, float8_to_f32(a_type, static_cast<uint8_t>(a >> shift)),
                                float8_to_f32(b_type, static_cast<uint8_t>(b >> shift)), accumulator, control);
    return accumulator;
}

std::span<const LaneSemantics> dot_semantics() { return kDotRows; }

}  // namespace riftjit::rdna::emulator
