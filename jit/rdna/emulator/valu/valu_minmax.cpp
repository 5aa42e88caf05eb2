#include "jit/rdna/emulator/valu/valu_minmax.h"

namespace riftjit::rdna::emulator {
namespace {

// Orders numbers as integers, -0 below +0.
int64_t order_key(const FloatFormat& format, uint64_t bits) {
    const auto magnitude = static_cast<int64_t>(format.magnitude(bits));
    return format.negative(bits) ? -1 - magnitude : magnitude;
}

uint64_t pick(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b) {
    const int64_t left = order_key(format, a), right = order_key(format, b);
    const bool take_b = extreme == Extreme::minimum ? right < left : right > left;
    return take_b ? b : a;
}

// RDNA2 and RDNA3 ISA, V_MIN_F32: with IEEE set signaling NaNs come first, otherwise NaN bits pass as they are.
uint64_t older_number(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b, bool ieee) {
    if (ieee && format.is_signaling(a)) return format.quiet(a);
    if (ieee && format.is_signaling(b)) return format.quiet(b);
    if (format.is_nan(b)) return a;
    if (format.is_nan(a)) return b;
    return pick(format, extreme, a, b);
}

template <auto& Format, Extreme E>
void number2(const LaneContext& context, LaneData& lane) {
    lane.result = float_extreme_number(Format, E, lane.source[0], lane.source[1], context);
}
template <auto& Format, Extreme Inner, Extreme Outer>
void number3(const LaneContext& context, LaneData& lane) {
    const uint64_t inner = float_extreme_number(Format, Inner, lane.source[0], lane.source[1], context);
    lane.result = float_extreme_number(Format, Outer, inner, lane.source[2], context);
}
template <auto& Format, Extreme E>
void propagating2(const LaneContext& context, LaneData& lane) {
    lane.result = float_extreme_propagating(Format, E, lane.source[0], lane.source[1], context);
}
template <auto& Format, Extreme Inner, Extreme Outer>
void propagating3(const LaneContext& context, LaneData& lane) {
    const uint64_t inner = float_extreme_propagating(Format, Inner, lane.source[0], lane.source[1], context);
    lane.result = float_extreme_propagating(Format, Outer, inner, lane.source[2], context);
}

// Any NaN: the minimum of the three. Signed zeros are told apart, as measured on gfx1201; AMD's pseudocode compares
// them as equal.
template <auto& Format>
void median(const LaneContext& context, LaneData& lane) {
    const uint64_t a = flush_input(Format, lane.source[0], control_of(context, Format));
    const uint64_t b = flush_input(Format, lane.source[1], control_of(context, Format));
    const uint64_t c = flush_input(Format, lane.source[2], control_of(context, Format));
    if (Format.is_nan(a) || Format.is_nan(b) || Format.is_nan(c))
        return number3<Format, Extreme::minimum, Extreme::minimum>(context, lane);
    const uint64_t low = pick(Format, Extreme::minimum, a, b), high = pick(Format, Extreme::maximum, a, b);
    lane.result = pick(Format, Extreme::maximum, low, pick(Format, Extreme::minimum, high, c));
}

constexpr Extreme kMin = Extreme::minimum, kMax = Extreme::maximum;
constexpr ResultKind kHalf = ResultKind::f16, kSingle = ResultKind::f32, kDouble = ResultKind::f64;

constexpr LaneSemantics kExtremeRows[] = {
    lanewise<number2<kF16, kMin>>(Opcode::v_min_num_f16, kHalf),
    lanewise<number2<kF16, kMax>>(Opcode::v_max_num_f16, kHalf),
    lanewise<number2<kF32, kMin>>(Opcode::v_min_num_f32, kSingle),
    lanewise<number2<kF32, kMax>>(Opcode::v_max_num_f32, kSingle),
    lanewise<number2<kF64, kMin>>(Opcode::v_min_num_f64, kDouble),
    lanewise<number2<kF64, kMax>>(Opcode::v_max_num_f64, kDouble),
    lanewise<number3<kF16, kMin, kMin>>(Opcode::v_min3_num_f16, kHalf),
    lanewise<number3<kF16, kMax, kMax>>(Opcode::v_max3_num_f16, kHalf),
    lanewise<number3<kF32, kMin, kMin>>(Opcode::v_min3_num_f32, kSingle),
    lanewise<number3<kF32, kMax, kMax>>(Opcode::v_max3_num_f32, kSingle),
    lanewise<number3<kF16, kMin, kMax>>(Opcode::v_minmax_num_f16, kHalf),
    lanewise<number3<kF16, kMax, kMin>>(Opcode::v_maxmin_num_f16, kHalf),
    lanewise<number3<kF32, kMin, kMax>>(Opcode::v_minmax_num_f32, kSingle),
    lanewise<number3<kF32, kMax, kMin>>(Opcode::v_maxmin_num_f32, kSingle),
    lanewise<median<kF16>>(Opcode::v_med3_num_f16, kHalf),
    lanewise<median<kF32>>(Opcode::v_med3_num_f32, kSingle),
    lanewise<propagating2<kF16, kMin>>(Opcode::v_minimum_f16, kHalf),
    lanewise<propagating2<kF16, kMax>>(Opcode::v_maximum_f16, kHalf),
    lanewise<propagating2<kF32, kMin>>(Opcode::v_minimum_f32, kSingle),
    lanewise<propagating2<kF32, kMax>>(Opcode::v_maximum_f32, kSingle),
    lanewise<propagating2<kF64, kMin>>(Opcode::v_minimum_f64, kDouble),
    lanewise<propagating2<kF64, kMax>>(Opcode::v_maximum_f64, kDouble),
    lanewise<propagating3<kF16, kMin, kMin>>(Opcode::v_minimum3_f16, kHalf),
    lanewise<propagating3<kF16, kMax, kMax>>(Opcode::v_maximum3_f16, kHalf),
    lanewise<propagating3<kF32, kMin, kMin>>(Opcode::v_minimum3_f32, kSingle),
    lanewise<propagating3<kF32, kMax, kMax>>(Opcode::v_maximum3_f32, kSingle),
    lanewise<propagating3<kF16, kMin, kMax>>(Opcode::v_minimummaximum_f16, kHalf),
    lanewise<propagating3<kF16, kMax, kMin>>(Opcode::v_maximumminimum_f16, kHalf),
    lanewise<propagating3<kF32, kMin, kMax>>(Opcode::v_minimummaximum_f32, kSingle),
    lanewise<propagating3<kF32, kMax, kMin>>(Opcode::v_maximumminimum_f32, kSingle),
};

}  // namespace

uint64_t float_extreme_number(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b,
                              const LaneContext& context) {
    a = flush_input(format, a, control_of(context, format));
    b = flush_input(format, b, control_of(context, format));
    if (context.generation != Generation::gfx12) return older_number(format, extreme, a, b, context.ieee);
    if (format.is_nan(a) && format.is_nan(b)) return format.quiet(a);
    if (format.is_nan(a)) return b;
    return format.is_nan(b) ? a : pick(format, extreme, a, b);
}

// The first NaN in source order, as measured on gfx1201; AMD's pseudocode prefers signaling ones.
uint64_t float_extreme_propagating(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b,
                                   const LaneContext& context) {
    a = flush_input(format, a, control_of(context, format));
    b = flush_input(format, b, control_of(context, format));
    if (format.is_nan(a)) return format.quiet(a);
    return format.is_nan(b) ? format.quiet(b) : pick(format, extreme, a, b);
}

std::span<const LaneSemantics> minmax_semantics() { return kExtremeRows; }

}  // namespace riftjit::rdna::emulator
