// exp, log, rcp, rsq, sqrt, sin and cos, computed in double and rounded once to the result's format.
//
// The hardware's results are good to about one unit in the last place, in no documented way. A double result errs by
// less than 2^-50 relative, so what is returned here is the nearest or, close to a tie, its neighbour: within half a
// unit and a 2^-26th. Exact cases (rcp of powers of two, sqrt of squares, exp of integers) come out exact.
#include <cmath>
#include <limits>
#include <optional>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_transcendental {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

double reciprocal(double x) { return 1.0 / x; }
double reciprocal_root(double x) { return 1.0 / std::sqrt(x); }
double square_root(double x) { return std::sqrt(x); }
double power_of_two(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }

// Arguments count turns. x - rint(x) is exact; quarter turns have exact results. A zero of sine keeps the argument's
// sign only when the argument is zero.
double sine(double x) {
    const double turns = x - std::rint(x);
    if (x == 0) return x;
    if (turns == 0 || std::fabs(turns) == 0.5) return 0;
    if (std::fabs(turns) == 0.25) return turns > 0 ? 1 : -1;
    return std::sin(kTwoPi * turns);
}
double cosine(double x) {
    const double turns = std::fabs(x - std::rint(x));
    if (turns == 0.25) return 0;
    return turns == 0 ? 1 : turns == 0.5 ? -1 : std::cos(kTwoPi * turns);
}

// The f32 unit flushes denormals in and out whatever the mode says; f16 and f64 follow it. No rounding mode applies.
template <auto& Format>
FloatControl transcendental_control(const LaneContext& context) {
    FloatControl control = control_of(context, Format);
    control.rounding = Rounding::nearest_even;
    if (Format.width() != 32) return control;
    control.flush_inputs = true;
    if (control.tiny == TinyResults::keep) control.tiny = TinyResults::flush;
    return control;
}

// float_convert() of ordinary numbers, which round to normal ones, by shorter ways. The host rounds to nearest.
template <auto& Format>
std::optional<uint64_t> narrowed(double value) {
    if (Format.width() == 32) {
        const auto single = static_cast<float>(value);
        return std::fabs(single) > std::numeric_limits<float>::min() ? std::optional(std::bit_cast<uint32_t>(single))
                                                                     : std::nullopt;
    }
    constexpr double kLeast = 0x1p-14, kBeyond = 65504;
    if (Format.width() != 16 || !(std::fabs(value) >= kLeast && std::fabs(value) < kBeyond)) return std::nullopt;
    constexpr unsigned kDropped = 52 - 10;
    const uint64_t magnitude = kF64.magnitude(bits_of(value)), even = magnitude >> kDropped & 1;
    const uint64_t rounded = (magnitude + (uint64_t{1} << (kDropped - 1)) - 1 + even) >> kDropped;
    return (value < 0 ? kF16.sign() : 0) | (rounded - (uint64_t{1023 - 15} << 10));
}

template <auto& Format, double (*Function)(double)>
void apply(const LaneContext& context, LaneData& lane) {
    const FloatControl control = transcendental_control<Format>(context);
    const uint64_t argument = flush_input(Format, lane.source[0], control);
    if (Format.is_nan(argument)) return void(lane.result = Format.quiet(argument));
    const double value = Function(to_double(Format, argument));
    if (const auto ordinary = narrowed<Format>(value)) return void(lane.result = *ordinary);
    lane.result = std::isnan(value) ? Format.invalid() : float_convert(kF64, Format, bits_of(value), control);
}

constexpr ResultKind kHalf = ResultKind::f16, kSingle = ResultKind::f32, kDouble = ResultKind::f64;

constexpr LaneSemantics kRows[] = {
    lanewise<apply<kF16, power_of_two>>(Opcode::v_exp_f16, kHalf),
    lanewise<apply<kF32, power_of_two>>(Opcode::v_exp_f32, kSingle),
    lanewise<apply<kF16, logarithm>>(Opcode::v_log_f16, kHalf),
    lanewise<apply<kF32, logarithm>>(Opcode::v_log_f32, kSingle),
    lanewise<apply<kF16, reciprocal>>(Opcode::v_rcp_f16, kHalf),
    lanewise<apply<kF32, reciprocal>>(Opcode::v_rcp_f32, kSingle),
    lanewise<apply<kF32, reciprocal>>(Opcode::v_rcp_iflag_f32, kSingle),  // differs in the exception it raises
    lanewise<apply<kF64, reciprocal>>(Opcode::v_rcp_f64, kDouble),
    lanewise<apply<kF16, reciprocal_root>>(Opcode::v_rsq_f16, kHalf),
    lanewise<apply<kF32, reciprocal_root>>(Opcode::v_rsq_f32, kSingle),
    lanewise<apply<kF64, reciprocal_root>>(Opcode::v_rsq_f64, kDouble),
    lanewise<apply<kF16, square_root>>(Opcode::v_sqrt_f16, kHalf),
    lanewise<apply<kF32, square_root>>(Opcode::v_sqrt_f32, kSingle),
    lanewise<apply<kF64, square_root>>(Opcode::v_sqrt_f64, kDouble),
    lanewise<apply<kF16, sine>>(Opcode::v_sin_f16, kHalf),
    lanewise<apply<kF32, sine>>(Opcode::v_sin_f32, kSingle),
    lanewise<apply<kF16, cosine>>(Opcode::v_cos_f16, kHalf),
    lanewise<apply<kF32, cosine>>(Opcode::v_cos_f32, kSingle),
    // One value from and to a scalar register; an f16 result clears the upper half.
    lanewise<apply<kF16, power_of_two>>(Opcode::v_s_exp_f16, kHalf),
    lanewise<apply<kF32, power_of_two>>(Opcode::v_s_exp_f32, kSingle),
    lanewise<apply<kF16, logarithm>>(Opcode::v_s_log_f16, kHalf),
    lanewise<apply<kF32, logarithm>>(Opcode::v_s_log_f32, kSingle),
    lanewise<apply<kF16, reciprocal>>(Opcode::v_s_rcp_f16, kHalf),
    lanewise<apply<kF32, reciprocal>>(Opcode::v_s_rcp_f32, kSingle),
    lanewise<apply<kF16, reciprocal_root>>(Opcode::v_s_rsq_f16, kHalf),
    lanewise<apply<kF32, reciprocal_root>>(Opcode::v_s_rsq_f32, kSingle),
    lanewise<apply<kF16, square_root>>(Opcode::v_s_sqrt_f16, kHalf),
    lanewise<apply<kF32, square_root>>(Opcode::v_s_sqrt_f32, kSingle),
};

}  // namespace
}  // namespace valu_transcendental

std::span<const LaneSemantics> transcendental_semantics() { return valu_transcendental::kRows; }

}  // namespace riftjit::rdna::emulator
