// The three steps of division (scale, fused multiply-add with scaling back, fixup) and the reduction table of 2/pi.
//
// AMD's documents give div_scale in terms of quotients that would be denormal; parts decide by exponents (published for
// gfx1201), and scale back by 2^64 (2^128 for f64) where older text says 2^32. With these rules the sequence that
// compilers emit divides correctly rounded, which the tests check.
#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_division {
namespace {

template <auto& Format>
constexpr int kScale = Format.width() == 32 ? 64 : 128;
// From this difference of exponents on, the quotient or a step towards it could leave the normal range.
template <auto& Format>
constexpr int kFarApart = Format.width() == 32 ? 96 : 768;
template <auto& Format>
constexpr int kTinyNumerator = Format.width() == 32 ? 23 : 53;

// Scales source 0, which is the denominator (source 1) or the numerator (source 2). The mask asks div_fmas to scale.
template <auto& Format>
void scale_for_division(const LaneContext& context, LaneData& lane) {
    const FloatControl& control = control_of(context, Format);
    const uint64_t value = flush_input(Format, lane.source[0], control);
    const uint64_t denominator = flush_input(Format, lane.source[1], control);
    const uint64_t numerator = flush_input(Format, lane.source[2], control);
    const auto scaled = [&](int power) { return float_scale(Format, value, power, control); };
    if (Format.is_zero(denominator) || Format.is_zero(numerator)) {
        lane.result = Format.invalid();
        lane.bit = true;
        return;
    }
    const int below = static_cast<int>(Format.exponent(denominator));
    const int above = static_cast<int>(Format.exponent(numerator));
    const bool overflows = above - below >= kFarApart<Format>, underflows = above - below <= -kFarApart<Format>;
    const bool reciprocal_denormal = below >= static_cast<int>(Format.exponent_mask()) - 2;
    lane.bit = overflows || underflows;
    lane.result = value;
    if (overflows)
        lane.result = value == denominator ? scaled(kScale<Format>) : value;
    else if (underflows && reciprocal_denormal)
        lane.result = value == denominator ? scaled(-kScale<Format>) : value;
    else if (underflows)
        lane.result = value == numerator ? scaled(kScale<Format>) : value;
    else if (reciprocal_denormal)
        lane.result = scaled(-kScale<Format>);
    else if (below == 0 || above <= kTinyNumerator<Format>)
        lane.result = scaled(kScale<Format>);
}

template <auto& Format>
void fma_scaled_back(const LaneContext& context, LaneData& lane) {
    const bool large = static_cast<int>(Format.exponent(lane.source[2])) > Format.bias();
    const int scale = !lane.condition ? 0 : large ? kScale<Format> : -kScale<Format>;
    lane.result = float_fma_scaled(Format, Format, lane.source[0], lane.source[1], lane.source[2], scale,
                                   control_of(context, Format));
}

// What the quotient is where no iteration can find it; nothing where the computed one (source 0) stands.
template <auto& Format>
std::optional<uint64_t> special_quotient(uint64_t denominator, uint64_t numerator) {
    const uint64_t sign = (denominator ^ numerator) & Format.sign();
    if (Format.is_nan(numerator)) return Format.quiet(numerator);
    if (Format.is_nan(denominator)) return Format.quiet(denominator);
    if (Format.is_zero(denominator) && Format.is_zero(numerator)) return Format.invalid();
    if (Format.is_infinity(denominator) && Format.is_infinity(numerator)) return Format.invalid();
    if (Format.is_zero(denominator) || Format.is_infinity(numerator)) return sign | Format.infinity();
    if (Format.is_infinity(denominator) || Format.is_zero(numerator)) return sign;
    return std::nullopt;
}

template <auto& Format>
void fix_quotient(const LaneContext& context, LaneData& lane) {
    const FloatControl& control = control_of(context, Format);
    const uint64_t denominator = flush_input(Format, lane.source[1], control);
    const uint64_t numerator = flush_input(Format, lane.source[2], control);
    const uint64_t sign = (denominator ^ numerator) & Format.sign();
    if (const auto special = special_quotient<Format>(denominator, numerator)) return void(lane.result = *special);
    const int difference =
        static_cast<int>(Format.exponent(numerator)) - static_cast<int>(Format.exponent(denominator));
    constexpr int kVanishes = Format.width() == 32 ? -150 : -1075;
    if (Format.width() != 16 && difference < kVanishes)
        lane.result = sign;  // rounds to zero in the documents' "underflow" value
    else if (Format.is_nan(lane.source[0]))
        lane.result = sign | (context.f16.saturate && Format.width() == 16 ? Format.largest() : Format.infinity());
    else
        lane.result = sign | Format.magnitude(lane.source[0]);
}

// 2/pi, the bit of weight 1/2 first.
constexpr uint32_t kTwoOverPi[] = {
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
    0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
    0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
    0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
    0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB,
};
// How much of it a part knows: 1201 bits by the documents, 1184 measured on gfx1201.
constexpr unsigned kDocumentedBits = 1201, kGfx12Bits = 1184;

// 53 bits of 2/pi, chosen so that the product with an argument of that size has the wanted part of the turn.
void trigonometric_reduction(const LaneContext& context, LaneData& lane) {
    const unsigned known = context.generation == Generation::gfx12 ? kGfx12Bits : kDocumentedBits;
    const auto exponent = static_cast<unsigned>(kF64.exponent(lane.source[0]));
    unsigned shift = 53 * (lane.source[1] & 31);
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t segment = 0;
    for (unsigned bit = shift; bit < shift + 53; ++bit)
        segment = segment << 1 | (bit < known ? kTwoOverPi[bit / 32] >> (31 - bit % 32) & 1 : 0);
    const int scale = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
    lane.result = segment == 0 ? 0 : round_exact(kF64, {false, scale, segment}, {Rounding::toward_zero});
}

constexpr LaneSemantics kRows[] = {
    lanewise<scale_for_division<kF32>>(Opcode::v_div_scale_f32, ResultKind::f32),
    lanewise<scale_for_division<kF64>>(Opcode::v_div_scale_f64, ResultKind::f64),
    lanewise<fma_scaled_back<kF32>>(Opcode::v_div_fmas_f32, ResultKind::f32),
    lanewise<fma_scaled_back<kF64>>(Opcode::v_div_fmas_f64, ResultKind::f64),
    lanewise<fix_quotient<kF16>>(Opcode::v_div_fixup_f16, ResultKind::f16),
    lanewise<fix_quotient<kF32>>(Opcode::v_div_fixup_f32, ResultKind::f32),
    lanewise<fix_quotient<kF64>>(Opcode::v_div_fixup_f64, ResultKind::f64),
    lanewise<trigonometric_reduction>(Opcode::v_trig_preop_f64, ResultKind::f64),
};

}  // namespace
}  // namespace valu_division

std::span<const LaneSemantics> division_semantics() { return valu_division::kRows; }

}  // namespace riftjit::rdna::emulator
