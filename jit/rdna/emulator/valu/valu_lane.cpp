#include "jit/rdna/emulator/valu/valu_lane.h"

#include <vector>

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kRoundF32Shift = 0, kRoundF16F64Shift = 2, kDenormalsF32Shift = 4, kDenormalsF16F64Shift = 6;
constexpr unsigned kClampNanBit = 8, kIeeeBit = 9, kSaturateF16Bit = 23;
constexpr uint8_t kKeepInputs = 1, kKeepResults = 2;

FloatControl control(Rounding rounding, uint8_t denormals) {
    return {rounding, (denormals & kKeepInputs) == 0,
            (denormals & kKeepResults) != 0 ? TinyResults::keep : TinyResults::flush, false};
}

// Before gfx12 the modifier acts only without IEEE mode and with flushed results.
bool omod_acts(Generation generation, const FloatMode& mode, uint8_t denormals) {
    return generation == Generation::gfx12 || (!mode.ieee && (denormals & kKeepResults) == 0);
}

std::vector<const LaneSemantics*> index_rows() {
    std::vector<const LaneSemantics*> rows(kOpcodeCount, nullptr);
    const std::span<const LaneSemantics> files[] = {
        integer_semantics(),        integer16_semantics(), bit_semantics(),        float_semantics(),
        minmax_semantics(),         division_semantics(),  conversion_semantics(), float8_semantics(),
        transcendental_semantics(), compare_semantics(),   packed_semantics(),     dot_semantics(),
    };
    for (const auto file : files)
        for (const LaneSemantics& row : file) rows[static_cast<size_t>(row.opcode)] = &row;
    return rows;
}

uint64_t scale_result(const FloatFormat& format, const FloatControl& control, uint8_t omod, uint64_t bits) {
    if (omod == 0 || format.is_nan(bits) || format.is_infinity(bits)) return bits;
    if (format.magnitude(bits) < format.min_normal()) return 0;
    constexpr int kPower[] = {0, 1, 2, -1};
    FloatControl scaling = control;
    scaling.tiny = TinyResults::flush;
    return float_scale(format, bits, kPower[omod], scaling);
}

}  // namespace

FloatMode float_mode(uint32_t mode, Generation generation) {
    FloatMode result;
    result.round_f32 = static_cast<Rounding>(mode >> kRoundF32Shift & 3);
    result.round_f16_f64 = static_cast<Rounding>(mode >> kRoundF16F64Shift & 3);
    result.denormals_f32 = mode >> kDenormalsF32Shift & 3;
    result.denormals_f16_f64 = mode >> kDenormalsF16F64Shift & 3;
    const bool has_bits = generation != Generation::gfx12;
    result.clamp_nan_to_zero = !has_bits || (mode >> kClampNanBit & 1) != 0;
    result.ieee = has_bits && (mode >> kIeeeBit & 1) != 0;
    result.saturate_f16 = (mode >> kSaturateF16Bit & 1) != 0;
    return result;
}

LaneContext lane_context(Generation generation, WaveSize wave_size, const FloatMode& mode, ResultKind result,
                         uint8_t omod, bool clamp) {
    LaneContext context;
    context.generation = generation;
    context.wave_size = wave_size;
    context.f32 = control(mode.round_f32, mode.denormals_f32);
    context.f16 = control(mode.round_f16_f64, mode.denormals_f16_f64);
    context.f64 = context.f16;
    context.f16.saturate = mode.saturate_f16;
    context.ieee = mode.ieee;
    context.clamp_nan_to_zero = mode.clamp_nan_to_zero;
    context.clamp = clamp;
    const bool single = result == ResultKind::f32;
    if (omod != 0 && omod_acts(generation, mode, single ? mode.denormals_f32 : mode.denormals_f16_f64)) {
        context.omod = omod;
        FloatControl& scaled = single ? context.f32 : result == ResultKind::f16 ? context.f16 : context.f64;
        scaled.tiny = TinyResults::flush_before_rounding;
    }
    return context;
}

uint64_t finish_float(const FloatFormat& format, const FloatControl& control, const LaneContext& context,
                      uint64_t bits) {
    bits = scale_result(format, control, context.omod, bits);
    if (!context.clamp) return bits;
    if (format.is_nan(bits)) return context.clamp_nan_to_zero ? 0 : bits;
    if (format.negative(bits)) return 0;
    return bits > format.one() ? format.one() : bits;
}

const LaneSemantics* lane_semantics(Opcode opcode) {
    static const std::vector<const LaneSemantics*> rows = index_rows();
    return rows[static_cast<size_t>(opcode)];
}

}  // namespace riftjit::rdna::emulator
