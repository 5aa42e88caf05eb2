// VOP3P arithmetic on two halves, and the fma_mix family. Halves come selected and negated.
#include <algorithm>

#include "jit/rdna/emulator/valu/valu_minmax.h"

namespace riftjit::rdna::emulator {
namespace valu_packed {
namespace {

template <auto F>
void each_half2(const LaneContext& context, LaneData& lane) {
    const uint64_t a = lane.source[0], b = lane.source[1];
    lane.result = pack_halves(F(context, low_half(a), low_half(b)), F(context, high_half(a), high_half(b)));
}
template <auto F>
void each_half3(const LaneContext& context, LaneData& lane) {
    const uint64_t a = lane.source[0], b = lane.source[1], c = lane.source[2];
    lane.result = pack_halves(F(context, low_half(a), low_half(b), low_half(c)),
                              F(context, high_half(a), high_half(b), high_half(c)));
}

uint64_t saturate_i16(const LaneContext& context, int64_t exact) {
    return saturate_or_wrap(context, exact, INT16_MIN, INT16_MAX);
}
uint64_t saturate_u16(const LaneContext& context, int64_t exact) {
    return saturate_or_wrap(context, exact, 0, UINT16_MAX);
}
int64_t i16(uint64_t half) { return sign_extend(half, 16); }
int64_t u16(uint64_t half) { return static_cast<int64_t>(half & 0xFFFF); }

constexpr auto kAddI16 = [](const LaneContext& c, uint64_t a, uint64_t b) { return saturate_i16(c, i16(a) + i16(b)); };
constexpr auto kSubI16 = [](const LaneContext& c, uint64_t a, uint64_t b) { return saturate_i16(c, i16(a) - i16(b)); };
constexpr auto kAddU16 = [](const LaneContext& c, uint64_t a, uint64_t b) { return saturate_u16(c, u16(a) + u16(b)); };
constexpr auto kSubU16 = [](const LaneContext& c, uint64_t a, uint64_t b) { return saturate_u16(c, u16(a) - u16(b)); };
constexpr auto kMulLow = [](const LaneContext&, uint64_t a, uint64_t b) { return a * b; };
constexpr auto kShiftLeft = [](const LaneContext&, uint64_t a, uint64_t b) { return b << (a & 15); };
constexpr auto kShiftRight = [](const LaneContext&, uint64_t a, uint64_t b) { return u16(b) >> (a & 15); };
constexpr auto kShiftRightSigned = [](const LaneContext&, uint64_t a, uint64_t b) { return i16(b) >> (a & 15); };
constexpr auto kMinI16 = [](const LaneContext&, uint64_t a, uint64_t b) { return std::min(i16(a), i16(b)); };
constexpr auto kMaxI16 = [](const LaneContext&, uint64_t a, uint64_t b) { return std::max(i16(a), i16(b)); };
constexpr auto kMinU16 = [](const LaneContext&, uint64_t a, uint64_t b) { return std::min(u16(a), u16(b)); };
constexpr auto kMaxU16 = [](const LaneContext&, uint64_t a, uint64_t b) { return std::max(u16(a), u16(b)); };
constexpr auto kMadI16 = [](const LaneContext& context, uint64_t a, uint64_t b, uint64_t c) {
    return saturate_i16(context, i16(a) * i16(b) + i16(c));
};
constexpr auto kMadU16 = [](const LaneContext& context, uint64_t a, uint64_t b, uint64_t c) {
    return saturate_u16(context, u16(a) * u16(b) + u16(c));
};

constexpr auto kAdd = [](const LaneContext& c, uint64_t a, uint64_t b) { return float_add(kF16, a, b, c.f16); };
constexpr auto kMul = [](const LaneContext& c, uint64_t a, uint64_t b) { return float_mul(kF16, a, b, c.f16); };
constexpr auto kFma = [](const LaneContext& context, uint64_t a, uint64_t b, uint64_t c) {
    return float_fma(kF16, a, b, c, context.f16);
};
template <Extreme E>
uint64_t number(const LaneContext& context, uint64_t a, uint64_t b) {
    return float_extreme_number(kF16, E, a, b, context);
}
template <Extreme E>
uint64_t propagating(const LaneContext& context, uint64_t a, uint64_t b) {
    return float_extreme_propagating(kF16, E, a, b, context);
}

void packed_fmac(const LaneContext& context, LaneData& lane) {
    lane.source[2] = lane.previous;
    each_half3<kFma>(context, lane);
}

// A source of fma_mix is f32, or the half that op_sel names where op_sel_hi says f16.
uint64_t mixed_source(const LaneContext& context, const LaneData& lane, unsigned index) {
    const unsigned bit = 1u << index;
    uint64_t value = lane.source[index] & 0xFFFFFFFF;
    if ((context.op_sel_hi & bit) != 0) {
        const uint64_t half = (context.op_sel & bit) != 0 ? high_half(value) : low_half(value);
        FloatControl control = context.f32;
        control.flush_inputs = context.f16.flush_inputs;
        value = float_convert(kF16, kF32, half, control);
    }
    if ((context.abs & bit) != 0) value &= ~kF32.sign();
    if ((context.neg & bit) != 0) value ^= kF32.sign();
    return value;
}
void mix_f32(const LaneContext& context, LaneData& lane) {
    lane.result = float_fma(kF32, mixed_source(context, lane, 0), mixed_source(context, lane, 1),
                            mixed_source(context, lane, 2), context.f32);
}
// Rounded once, from the exact sum of f32 sources to f16.
uint64_t mix_f16(const LaneContext& context, const LaneData& lane) {
    FloatControl control = context.f16;
    control.flush_inputs = context.f32.flush_inputs;
    const uint64_t sum = float_fma_scaled(kF32, kF16, mixed_source(context, lane, 0), mixed_source(context, lane, 1),
                                          mixed_source(context, lane, 2), 0, control);
    return finish_float(kF16, control, context, sum);
}
void mix_low(const LaneContext& context, LaneData& lane) {
    lane.result = pack_halves(mix_f16(context, lane), high_half(lane.previous));
}
void mix_high(const LaneContext& context, LaneData& lane) {
    lane.result = pack_halves(lane.previous, mix_f16(context, lane));
}

constexpr ResultKind kPacked = ResultKind::f16x2;

constexpr LaneSemantics kRows[] = {
    lanewise<each_half3<kMadI16>>(Opcode::v_pk_mad_i16),
    lanewise<each_half3<kMadU16>>(Opcode::v_pk_mad_u16),
    lanewise<each_half2<kMulLow>>(Opcode::v_pk_mul_lo_u16),
    lanewise<each_half2<kAddI16>>(Opcode::v_pk_add_i16),
    lanewise<each_half2<kSubI16>>(Opcode::v_pk_sub_i16),
    lanewise<each_half2<kAddU16>>(Opcode::v_pk_add_u16),
    lanewise<each_half2<kSubU16>>(Opcode::v_pk_sub_u16),
    lanewise<each_half2<kShiftLeft>>(Opcode::v_pk_lshlrev_b16),
    lanewise<each_half2<kShiftRight>>(Opcode::v_pk_lshrrev_b16),
    lanewise<each_half2<kShiftRightSigned>>(Opcode::v_pk_ashrrev_i16),
    lanewise<each_half2<kMaxI16>>(Opcode::v_pk_max_i16),
    lanewise<each_half2<kMinI16>>(Opcode::v_pk_min_i16),
    lanewise<each_half2<kMaxU16>>(Opcode::v_pk_max_u16),
    lanewise<each_half2<kMinU16>>(Opcode::v_pk_min_u16),
    lanewise<each_half3<kFma>>(Opcode::v_pk_fma_f16, kPacked),
    lanewise<packed_fmac>(Opcode::v_pk_fmac_f16, kPacked),
    lanewise<each_half2<kAdd>>(Opcode::v_pk_add_f16, kPacked),
    lanewise<each_half2<kMul>>(Opcode::v_pk_mul_f16, kPacked),
    lanewise<each_half2<number<Extreme::minimum>>>(Opcode::v_pk_min_num_f16, kPacked),
    lanewise<each_half2<number<Extreme::maximum>>>(Opcode::v_pk_max_num_f16, kPacked),
    lanewise<each_half2<propagating<Extreme::minimum>>>(Opcode::v_pk_minimum_f16, kPacked),
    lanewise<each_half2<propagating<Extreme::maximum>>>(Opcode::v_pk_maximum_f16, kPacked),
    lanewise<mix_f32>(Opcode::v_fma_mix_f32, ResultKind::f32),
    lanewise<mix_low>(Opcode::v_fma_mixlo_f16),
    lanewise<mix_high>(Opcode::v_fma_mixhi_f16),
};

}  // namespace
}  // namespace valu_packed

std::span<const LaneSemantics> packed_semantics() { return valu_packed::kRows; }

}  // namespace riftjit::rdna::emulator
