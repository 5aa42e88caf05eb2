// Float arithmetic in f16, f32 and f64: add, multiply, fma, rounding to integers, fraction, exponent and mantissa.
#include <algorithm>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_arithmetic {
namespace {

template <auto& Format>
void add(const LaneContext& context, LaneData& lane) {
    lane.result = float_add(Format, lane.source[0], lane.source[1], control_of(context, Format));
}
// The hardware subtracts by adding the negated source: a NaN there changes its sign.
template <auto& Format>
void subtract(const LaneContext& context, LaneData& lane) {
    lane.result = float_add(Format, lane.source[0], lane.source[1] ^ Format.sign(), control_of(context, Format));
}
template <auto& Format>
void subtract_reversed(const LaneContext& context, LaneData& lane) {
    lane.result = float_add(Format, lane.source[0] ^ Format.sign(), lane.source[1], control_of(context, Format));
}
template <auto& Format>
void multiply(const LaneContext& context, LaneData& lane) {
    lane.result = float_mul(Format, lane.source[0], lane.source[1], control_of(context, Format));
}
template <auto& Format>
void fma(const LaneContext& context, LaneData& lane) {
    lane.result = float_fma(Format, lane.source[0], lane.source[1], lane.source[2], control_of(context, Format));
}
template <auto& Format>
void fmac(const LaneContext& context, LaneData& lane) {
    lane.result = float_fma(Format, lane.source[0], lane.source[1], lane.previous, control_of(context, Format));
}
// DX9's rule: zero times anything is +0.
uint64_t dx9_product(uint64_t a, uint64_t b, const FloatControl& control) {
    if (kF32.is_zero(flush_input(kF32, a, control)) || kF32.is_zero(flush_input(kF32, b, control))) return 0;
    return float_mul(kF32, a, b, control);
}
void multiply_dx9(const LaneContext& context, LaneData& lane) {
    lane.result = dx9_product(lane.source[0], lane.source[1], context.f32);
}
// The fused form flushes denormals whatever the mode (measured on gfx1201), still rounds once.
uint64_t dx9_fma(const LaneContext& context, uint64_t a, uint64_t b, uint64_t c) {
    FloatControl control = context.f32;
    control.flush_inputs = true;
    if (control.tiny == TinyResults::keep) control.tiny = TinyResults::flush;
    a = flush_input(kF32, a, control);
    b = flush_input(kF32, b, control);
    if (kF32.is_zero(a) || kF32.is_zero(b)) return float_add(kF32, 0, c, control);
    return float_fma(kF32, a, b, c, control);
}
void fma_dx9(const LaneContext& context, LaneData& lane) {
    lane.result = dx9_fma(context, lane.source[0], lane.source[1], lane.source[2]);
}
void fmac_dx9(const LaneContext& context, LaneData& lane) {
    lane.result = dx9_fma(context, lane.source[0], lane.source[1], lane.previous);
}

// Lighting: no specular part where the exponent or its base is not positive.
void mullit(const LaneContext& context, LaneData& lane) {
    constexpr uint64_t kLowest = kF32.sign() | kF32.largest();
    const uint64_t base = lane.source[1], exponent = lane.source[2];
    const bool unlit = base == kLowest || base == (kF32.sign() | kF32.infinity()) || kF32.is_nan(base) ||
                       kF32.is_nan(exponent) || kF32.is_zero(exponent) || kF32.negative(exponent);
    lane.result = unlit ? kLowest : dx9_product(lane.source[0], base, context.f32);
}

template <auto& Format, Rounding To>
void round_to_integer(const LaneContext& context, LaneData& lane) {
    lane.result = float_round(Format, flush_input(Format, lane.source[0], control_of(context, Format)), To);
}

// x - floor(x), always below 1: rounding a tiny negative number up to 1 is not allowed.
template <auto& Format>
void fraction(const LaneContext& context, LaneData& lane) {
    const FloatControl& control = control_of(context, Format);
    const uint64_t value = flush_input(Format, lane.source[0], control);
    if (Format.is_infinity(value)) return void(lane.result = Format.invalid());
    const uint64_t floor = float_round(Format, value, Rounding::down);
    if (Format.is_nan(value) || Format.is_zero(floor))
        return void(lane.result = Format.is_nan(value) ? floor : Format.is_zero(value) ? 0 : value);
    const uint64_t rest = float_add(Format, value, floor ^ Format.sign(), control);
    lane.result = Format.is_zero(rest) ? 0 : std::min(rest, Format.one() - 1);
}

template <auto& Format>
bool has_exponent(uint64_t value) {
    return !Format.is_zero(value) && !Format.is_infinity(value) && !Format.is_nan(value);
}
// value = mantissa * 2^exponent with the mantissa in [0.5, 1).
template <auto& Format>
int exponent_of(uint64_t value) {
    const Exact exact = exact_value(Format, value);
    return exact.exponent + static_cast<int>(std::bit_width(static_cast<uint64_t>(exact.significand)));
}
template <auto& Format>
void frexp_mantissa(const LaneContext& context, LaneData& lane) {
    const uint64_t value = flush_input(Format, lane.source[0], control_of(context, Format));
    lane.result = has_exponent<Format>(value) ? float_scale(Format, value, -exponent_of<Format>(value), {}) : value;
}
template <auto& Format>
void frexp_exponent(const LaneContext& context, LaneData& lane) {
    const uint64_t value = flush_input(Format, lane.source[0], control_of(context, Format));
    lane.result = has_exponent<Format>(value) ? static_cast<uint32_t>(exponent_of<Format>(value)) : 0;
}
template <auto& Format, unsigned PowerBits>
void ldexp(const LaneContext& context, LaneData& lane) {
    lane.result =
        float_scale(Format, lane.source[0], sign_extend(lane.source[1], PowerBits), control_of(context, Format));
}

void pack_halves_quieted(const LaneContext&, LaneData& lane) {
    const auto quieted = [](uint64_t half) { return kF16.is_nan(half & 0xFFFF) ? kF16.quiet(half) : half; };
    lane.result = pack_halves(quieted(lane.source[0]), quieted(lane.source[1]));
}

// Cube maps: Z wins ties of magnitude, then Y, then X.
enum class Axis : uint8_t { x, y, z };
struct Cube {
    uint64_t x, y, z;
    Axis major;
    bool negative;  // of the major axis
};
Cube cube(const LaneData& lane) {
    const auto number = [&](unsigned i) {
        return kF32.is_nan(lane.source[i]) ? kF32.quiet(lane.source[i]) : lane.source[i];
    };
    const auto at_least = [](uint64_t a, uint64_t b) {
        const FloatControl flush{.flush_inputs = true};
        const Order order = float_compare(kF32, kF32.magnitude(flush_input(kF32, a, flush)),
                                          kF32.magnitude(flush_input(kF32, b, flush)));
        return order == Order::greater || order == Order::equal;
    };
    Cube cube{number(0), number(1), number(2), Axis::x, false};
    if (at_least(cube.z, cube.x) && at_least(cube.z, cube.y))
        cube.major = Axis::z;
    else if (at_least(cube.y, cube.x))
        cube.major = Axis::y;
    const uint64_t major = cube.major == Axis::z ? cube.z : cube.major == Axis::y ? cube.y : cube.x;
    const bool below_zero = kF32.negative(major) && !kF32.is_nan(major) && kF32.magnitude(major) >= kF32.min_normal();
    cube.negative = below_zero;
    return cube;
}
uint64_t negated(uint64_t value) { return value ^ kF32.sign(); }

void cube_face(const LaneContext&, LaneData& lane) {
    const Cube c = cube(lane);
    const int face = 2 * static_cast<int>(c.major) + static_cast<int>(c.negative);
    lane.result = float_from_integer(kF32, face, {});
}
void cube_s(const LaneContext&, LaneData& lane) {
    const Cube c = cube(lane);
    if (c.major == Axis::z) lane.result = c.negative ? negated(c.x) : c.x;
    if (c.major == Axis::y) lane.result = c.x;
    if (c.major == Axis::x) lane.result = c.negative ? c.z : negated(c.z);
}
void cube_t(const LaneContext&, LaneData& lane) {
    const Cube c = cube(lane);
    lane.result = c.major != Axis::y ? negated(c.y) : c.negative ? negated(c.z) : c.z;
}
void cube_major(const LaneContext& context, LaneData& lane) {
    const Cube c = cube(lane);
    const uint64_t major = c.major == Axis::z ? c.z : c.major == Axis::y ? c.y : c.x;
    lane.result = float_scale(kF32, major, 1, context.f32);
}

constexpr ResultKind kHalf = ResultKind::f16, kSingle = ResultKind::f32, kDouble = ResultKind::f64;

constexpr LaneSemantics kRows[] = {
    lanewise<add<kF16>>(Opcode::v_add_f16, kHalf),
    lanewise<add<kF32>>(Opcode::v_add_f32, kSingle),
    lanewise<add<kF64>>(Opcode::v_add_f64, kDouble),
    lanewise<subtract<kF16>>(Opcode::v_sub_f16, kHalf),
    lanewise<subtract<kF32>>(Opcode::v_sub_f32, kSingle),
    lanewise<subtract_reversed<kF16>>(Opcode::v_subrev_f16, kHalf),
    lanewise<subtract_reversed<kF32>>(Opcode::v_subrev_f32, kSingle),
    lanewise<multiply<kF16>>(Opcode::v_mul_f16, kHalf),
    lanewise<multiply<kF32>>(Opcode::v_mul_f32, kSingle),
    lanewise<multiply<kF64>>(Opcode::v_mul_f64, kDouble),
    lanewise<fma<kF16>>(Opcode::v_fma_f16, kHalf),
    lanewise<fma<kF32>>(Opcode::v_fma_f32, kSingle),
    lanewise<fma<kF64>>(Opcode::v_fma_f64, kDouble),
    lanewise<fmac<kF16>>(Opcode::v_fmac_f16, kHalf),
    lanewise<fmac<kF32>>(Opcode::v_fmac_f32, kSingle),
    // Their constant comes in its place among the sources.
    lanewise<fma<kF16>>(Opcode::v_fmamk_f16, kHalf),
    lanewise<fma<kF32>>(Opcode::v_fmamk_f32, kSingle),
    lanewise<fma<kF16>>(Opcode::v_fmaak_f16, kHalf),
    lanewise<fma<kF32>>(Opcode::v_fmaak_f32, kSingle),
    lanewise<multiply_dx9>(Opcode::v_mul_dx9_zero_f32, kSingle),
    lanewise<fma_dx9>(Opcode::v_fma_dx9_zero_f32, kSingle),
    lanewise<fmac_dx9>(Opcode::v_fmac_dx9_zero_f32, kSingle),
    lanewise<mullit>(Opcode::v_mullit_f32, kSingle),
    lanewise<round_to_integer<kF16, Rounding::toward_zero>>(Opcode::v_trunc_f16, kHalf),
    lanewise<round_to_integer<kF32, Rounding::toward_zero>>(Opcode::v_trunc_f32, kSingle),
    lanewise<round_to_integer<kF64, Rounding::toward_zero>>(Opcode::v_trunc_f64, kDouble),
    lanewise<round_to_integer<kF16, Rounding::up>>(Opcode::v_ceil_f16, kHalf),
    lanewise<round_to_integer<kF32, Rounding::up>>(Opcode::v_ceil_f32, kSingle),
    lanewise<round_to_integer<kF64, Rounding::up>>(Opcode::v_ceil_f64, kDouble),
    lanewise<round_to_integer<kF16, Rounding::nearest_even>>(Opcode::v_rndne_f16, kHalf),
    lanewise<round_to_integer<kF32, Rounding::nearest_even>>(Opcode::v_rndne_f32, kSingle),
    lanewise<round_to_integer<kF64, Rounding::nearest_even>>(Opcode::v_rndne_f64, kDouble),
    lanewise<round_to_integer<kF16, Rounding::down>>(Opcode::v_floor_f16, kHalf),
    lanewise<round_to_integer<kF32, Rounding::down>>(Opcode::v_floor_f32, kSingle),
    lanewise<round_to_integer<kF64, Rounding::down>>(Opcode::v_floor_f64, kDouble),
    lanewise<fraction<kF16>>(Opcode::v_fract_f16, kHalf),
    lanewise<fraction<kF32>>(Opcode::v_fract_f32, kSingle),
    lanewise<fraction<kF64>>(Opcode::v_fract_f64, kDouble),
    lanewise<frexp_mantissa<kF16>>(Opcode::v_frexp_mant_f16, kHalf),
    lanewise<frexp_mantissa<kF32>>(Opcode::v_frexp_mant_f32, kSingle),
    lanewise<frexp_mantissa<kF64>>(Opcode::v_frexp_mant_f64, kDouble),
    lanewise<frexp_exponent<kF16>>(Opcode::v_frexp_exp_i16_f16, ResultKind::half),
    lanewise<frexp_exponent<kF32>>(Opcode::v_frexp_exp_i32_f32),
    lanewise<frexp_exponent<kF64>>(Opcode::v_frexp_exp_i32_f64),
    lanewise<ldexp<kF16, 16>>(Opcode::v_ldexp_f16, kHalf),
    lanewise<ldexp<kF32, 32>>(Opcode::v_ldexp_f32, kSingle),
    lanewise<ldexp<kF64, 32>>(Opcode::v_ldexp_f64, kDouble),
    lanewise<pack_halves_quieted>(Opcode::v_pack_b32_f16),
    lanewise<cube_face>(Opcode::v_cubeid_f32, kSingle),
    lanewise<cube_s>(Opcode::v_cubesc_f32, kSingle),
    lanewise<cube_t>(Opcode::v_cubetc_f32, kSingle),
    lanewise<cube_major>(Opcode::v_cubema_f32, kSingle),
};

}  // namespace
}  // namespace valu_arithmetic

std::span<const LaneSemantics> float_semantics() { return valu_arithmetic::kRows; }

}  // namespace riftjit::rdna::emulator
