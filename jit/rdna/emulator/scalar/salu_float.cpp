// Scalar floating point (gfx115x and gfx12): the modes are those of the MODE register, as for vectors.
#include <limits>

#include "jit/rdna/emulator/scalar/salu.h"
#include "jit/rdna/emulator/valu/valu_float.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kRoundF32 = 0, kRoundF16 = 2;

FloatControl control_of(const WaveState& wave, const FloatFormat& format) {
    const bool is_f32 = format.width() == 32;
    const unsigned denormals = wave.mode >> (is_f32 ? kModeF32DenormalsShift : kModeF16F64DenormalsShift) & 3;
    FloatControl control;
    control.rounding = static_cast<Rounding>(wave.mode >> (is_f32 ? kRoundF32 : kRoundF16) & 3);
    control.flush_inputs = !(denormals & 1);
    control.tiny = denormals & 2 ? TinyResults::keep : TinyResults::flush;
    return control;
}

template <const FloatFormat& kFormat>
uint64_t operand(const WaveState& wave, const Op& op, unsigned i) {
    return source32(wave, op, i) & (kFormat.width() == 16 ? 0xFFFFu : ~0u);
}

template <const FloatFormat& kFormat>
void add(WaveState& wave, const Op& op) {
    const FloatControl control = control_of(wave, kFormat);
    write32(wave, op,
            uint32_t(float_add(kFormat, operand<kFormat>(wave, op, 0), operand<kFormat>(wave, op, 1), control)));
}
template <const FloatFormat& kFormat>
void subtract(WaveState& wave, const Op& op) {
    const uint64_t b = operand<kFormat>(wave, op, 1);
    const uint64_t negated = kFormat.is_nan(b) ? b : b ^ kFormat.sign();
    write32(wave, op, uint32_t(float_add(kFormat, operand<kFormat>(wave, op, 0), negated, control_of(wave, kFormat))));
}
template <const FloatFormat& kFormat>
void multiply(WaveState& wave, const Op& op) {
    const FloatControl control = control_of(wave, kFormat);
    write32(wave, op,
            uint32_t(float_mul(kFormat, operand<kFormat>(wave, op, 0), operand<kFormat>(wave, op, 1), control)));
}
template <const FloatFormat& kFormat>
void multiply_add(WaveState& wave, const Op& op) {
    if (op.destination < 0) return;
    const uint64_t addend = wave.scalars[op.destination] & (kFormat.width() == 16 ? 0xFFFFu : ~0u);
    write32(wave, op,
            uint32_t(float_fma(kFormat, operand<kFormat>(wave, op, 0), operand<kFormat>(wave, op, 1), addend,
                               control_of(wave, kFormat))));
}

// fmaak and fmamk: the literal is addend or factor.
void fused_with_literal(WaveState& wave, const Op& op) {
    write32(wave, op,
            uint32_t(float_fma(kF32, operand<kF32>(wave, op, 0), operand<kF32>(wave, op, 1), operand<kF32>(wave, op, 2),
                               control_of(wave, kF32))));
}

enum class Pick : uint8_t { smaller, larger };
// minimum and maximum give NaN if either is; min_num and max_num the number. -0 is less than +0.
enum class NanRule : uint8_t { number, propagate };

template <const FloatFormat& kFormat, Pick kPick, NanRule kNan>
void pick(WaveState& wave, const Op& op) {
    const FloatControl control = control_of(wave, kFormat);
    const uint64_t a = flush_input(kFormat, operand<kFormat>(wave, op, 0), control);
    const uint64_t b = flush_input(kFormat, operand<kFormat>(wave, op, 1), control);
    const auto choose = [&]() -> uint64_t {
        if (kFormat.is_nan(a) || kFormat.is_nan(b)) {
            if (kNan == NanRule::propagate || (kFormat.is_nan(a) && kFormat.is_nan(b)))
                return kFormat.quiet(kFormat.is_nan(a) ? a : b);
            return kFormat.is_nan(a) ? b : a;
        }
        const Order order = float_compare(kFormat, a, b);
        const bool a_is_smaller = order == Order::less || (order == Order::equal && kFormat.negative(a));
        return a_is_smaller == (kPick == Pick::smaller) ? a : b;
    };
    write32(wave, op, static_cast<uint32_t>(choose()));
}

template <const FloatFormat& kFormat, Rounding kRounding>
void to_integral(WaveState& wave, const Op& op) {
    const uint64_t a = flush_input(kFormat, operand<kFormat>(wave, op, 0), control_of(wave, kFormat));
    write32(wave, op, static_cast<uint32_t>(float_round(kFormat, a, kRounding)));
}

void from_signed(WaveState& wave, const Op& op) {
    write32(wave, op, uint32_t(float_from_integer(kF32, int32_t(source32(wave, op, 0)), control_of(wave, kF32))));
}
void from_unsigned(WaveState& wave, const Op& op) {
    write32(wave, op, uint32_t(float_from_integer(kF32, int64_t{source32(wave, op, 0)}, control_of(wave, kF32))));
}
template <class T>
void to_integer(WaveState& wave, const Op& op) {
    constexpr int64_t kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
    write32(wave, op,
            uint32_t(float_to_integer(kF32, source32(wave, op, 0), Rounding::toward_zero, kLowest, kHighest)));
}

FloatControl conversion_control(const WaveState& wave, const FloatFormat& from, const FloatFormat& to) {
    FloatControl control = control_of(wave, to);
    control.flush_inputs = control_of(wave, from).flush_inputs;
    return control;
}
void f32_to_f16(WaveState& wave, const Op& op) {
    write32(wave, op, uint32_t(float_convert(kF32, kF16, source32(wave, op, 0), conversion_control(wave, kF32, kF16))));
}
template <unsigned kShift>
void f16_to_f32(WaveState& wave, const Op& op) {
    const uint64_t half = source32(wave, op, 0) >> kShift & 0xFFFF;
    write32(wave, op, uint32_t(float_convert(kF16, kF32, half, conversion_control(wave, kF16, kF32))));
}
void pack_f16(WaveState& wave, const Op& op) {
    FloatControl control = conversion_control(wave, kF32, kF16);
    control.rounding = Rounding::toward_zero;
    const uint64_t low = float_convert(kF32, kF16, source32(wave, op, 0), control);
    const uint64_t high = float_convert(kF32, kF16, source32(wave, op, 1), control);
    write32(wave, op, static_cast<uint32_t>(low | high << 16));
}

template <const FloatFormat& kFormat, unsigned kOutcomes>
void compare_floats(WaveState& wave, const Op& op) {
    const FloatControl control = control_of(wave, kFormat);
    const uint64_t a = flush_input(kFormat, operand<kFormat>(wave, op, 0), control);
    const uint64_t b = flush_input(kFormat, operand<kFormat>(wave, op, 1), control);
    wave.scc = kOutcomes >> static_cast<unsigned>(float_compare(kFormat, a, b)) & 1;
}

template <const FloatFormat& kFormat>
ScalarFunction arithmetic_of(Opcode f32) {
    switch (f32) {
        case Opcode::s_add_f32:
            return add<kFormat>;
        case Opcode::s_sub_f32:
            return subtract<kFormat>;
        case Opcode::s_mul_f32:
            return multiply<kFormat>;
        case Opcode::s_fmac_f32:
            return multiply_add<kFormat>;
        case Opcode::s_min_num_f32:
            return pick<kFormat, Pick::smaller, NanRule::number>;
        case Opcode::s_max_num_f32:
            return pick<kFormat, Pick::larger, NanRule::number>;
        case Opcode::s_minimum_f32:
            return pick<kFormat, Pick::smaller, NanRule::propagate>;
        case Opcode::s_maximum_f32:
            return pick<kFormat, Pick::larger, NanRule::propagate>;
        case Opcode::s_ceil_f32:
            return to_integral<kFormat, Rounding::up>;
        case Opcode::s_floor_f32:
            return to_integral<kFormat, Rounding::down>;
        case Opcode::s_trunc_f32:
            return to_integral<kFormat, Rounding::toward_zero>;
        case Opcode::s_rndne_f32:
            return to_integral<kFormat, Rounding::nearest_even>;
        case Opcode::s_cmp_lt_f32:
            return compare_floats<kFormat, kWhenLess>;
        case Opcode::s_cmp_eq_f32:
            return compare_floats<kFormat, kWhenEqual>;
        case Opcode::s_cmp_le_f32:
            return compare_floats < kFormat, kWhenLess | kWhenEqual > ;
        case Opcode::s_cmp_gt_f32:
            return compare_floats<kFormat, kWhenGreater>;
        case Opcode::s_cmp_lg_f32:
            return compare_floats < kFormat, kWhenLess | kWhenGreater > ;
        case Opcode::s_cmp_ge_f32:
            return compare_floats < kFormat, kWhenGreater | kWhenEqual > ;
        case Opcode::s_cmp_o_f32:
            return compare_floats < kFormat, kWhenLess | kWhenEqual | kWhenGreater > ;
        case Opcode::s_cmp_u_f32:
            return compare_floats<kFormat, kWhenUnordered>;
        case Opcode::s_cmp_nge_f32:
            return compare_floats < kFormat, kWhenLess | kWhenUnordered > ;
        case Opcode::s_cmp_nlg_f32:
            return compare_floats < kFormat, kWhenEqual | kWhenUnordered > ;
        case Opcode::s_cmp_ngt_f32:
            return compare_floats < kFormat, kWhenLess | kWhenEqual | kWhenUnordered > ;
        case Opcode::s_cmp_nle_f32:
            return compare_floats < kFormat, kWhenGreater | kWhenUnordered > ;
        case Opcode::s_cmp_neq_f32:
            return compare_floats < kFormat, kWhenLess | kWhenGreater | kWhenUnordered > ;
        case Opcode::s_cmp_nlt_f32:
            return compare_floats < kFormat, kWhenGreater | kWhenEqual | kWhenUnordered > ;
        default:
            return nullptr;
    }
}

struct SameOperation {
    Opcode f16, f32;
};
constexpr SameOperation kHalves[] = {
    {Opcode::s_add_f16, Opcode::s_add_f32},         {Opcode::s_sub_f16, Opcode::s_sub_f32},
    {Opcode::s_mul_f16, Opcode::s_mul_f32},         {Opcode::s_fmac_f16, Opcode::s_fmac_f32},
    {Opcode::s_min_num_f16, Opcode::s_min_num_f32}, {Opcode::s_max_num_f16, Opcode::s_max_num_f32},
    {Opcode::s_minimum_f16, Opcode::s_minimum_f32}, {Opcode::s_maximum_f16, Opcode::s_maximum_f32},
    {Opcode::s_ceil_f16, Opcode::s_ceil_f32},       {Opcode::s_floor_f16, Opcode::s_floor_f32},
    {Opcode::s_trunc_f16, Opcode::s_trunc_f32},     {Opcode::s_rndne_f16, Opcode::s_rndne_f32},
    {Opcode::s_cmp_lt_f16, Opcode::s_cmp_lt_f32},   {Opcode::s_cmp_eq_f16, Opcode::s_cmp_eq_f32},
    {Opcode::s_cmp_le_f16, Opcode::s_cmp_le_f32},   {Opcode::s_cmp_gt_f16, Opcode::s_cmp_gt_f32},
    {Opcode::s_cmp_lg_f16, Opcode::s_cmp_lg_f32},   {Opcode::s_cmp_ge_f16, Opcode::s_cmp_ge_f32},
    {Opcode::s_cmp_o_f16, Opcode::s_cmp_o_f32},     {Opcode::s_cmp_u_f16, Opcode::s_cmp_u_f32},
    {Opcode::s_cmp_nge_f16, Opcode::s_cmp_nge_f32}, {Opcode::s_cmp_nlg_f16, Opcode::s_cmp_nlg_f32},
    {Opcode::s_cmp_ngt_f16, Opcode::s_cmp_ngt_f32}, {Opcode::s_cmp_nle_f16, Opcode::s_cmp_nle_f32},
    {Opcode::s_cmp_neq_f16, Opcode::s_cmp_neq_f32}, {Opcode::s_cmp_nlt_f16, Opcode::s_cmp_nlt_f32},
};

}  // namespace

ScalarFunction scalar_float_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_fmaak_f32:
        case Opcode::s_fmamk_f32:
            return fused_with_literal;
        case Opcode::s_cvt_f32_i32:
            return from_signed;
        case Opcode::s_cvt_f32_u32:
            return from_unsigned;
        case Opcode::s_cvt_i32_f32:
            return to_integer<int32_t>;
        case Opcode::s_cvt_u32_f32:
            return to_integer<uint32_t>;
        case Opcode::s_cvt_f16_f32:
            return f32_to_f16;
        case Opcode::s_cvt_f32_f16:
            return f16_to_f32<0>;
        case Opcode::s_cvt_hi_f32_f16:
            return f16_to_f32<16>;
        case Opcode::s_cvt_pk_rtz_f16_f32:
            return pack_f16;
        default:
            break;
    }
    for (const SameOperation& half : kHalves)
        if (half.f16 == opcode) return arithmetic_of<kF16>(half.f32);
    return arithmetic_of<kF32>(opcode);
}

}  // namespace riftjit::rdna::emulator
