// Conversions between floats and integers of all widths.
#include <cmath>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_conversion {
namespace {

constexpr int64_t kI32Min = INT32_MIN, kI32Max = INT32_MAX, kU32Max = UINT32_MAX;
constexpr int64_t kI16Min = INT16_MIN, kI16Max = INT16_MAX, kU16Max = UINT16_MAX;

template <auto& Format, Rounding To, int64_t Lowest, int64_t Highest>
void to_integer(const LaneContext&, LaneData& lane) {
    lane.result = static_cast<uint32_t>(float_to_integer(Format, lane.source[0], To, Lowest, Highest));
}
template <auto& Format, unsigned Bits, bool Signed>
void from_integer(const LaneContext& context, LaneData& lane) {
    const int64_t value =
        Signed ? sign_extend(lane.source[0], Bits) : static_cast<int64_t>(lane.source[0] & ((1ull << Bits) - 1));
    lane.result = float_from_integer(Format, value, control_of(context, Format));
}

// Sources flush as their own format's mode says, results as theirs.
FloatControl between(const FloatControl& from, FloatControl to) {
    to.flush_inputs = from.flush_inputs;
    return to;
}
template <auto& From, auto& To>
void change_format(const LaneContext& context, LaneData& lane) {
    lane.result = float_convert(From, To, lane.source[0], between(control_of(context, From), control_of(context, To)));
}

// Ties go up: the floor of x + 1/2, computed exactly.
void to_nearest_i32(const LaneContext&, LaneData& lane) {
    const double floor = std::floor(to_double(kF32, lane.source[0]) + 0.5);
    lane.result =
        static_cast<uint32_t>(float_to_integer(kF64, std::bit_cast<uint64_t>(floor), Rounding::down, kI32Min, kI32Max));
}

// A signed nibble in sixteenths.
void offset_from_i4(const LaneContext&, LaneData& lane) {
    const int64_t nibble = sign_extend(lane.source[0], 4);
    lane.result = nibble == 0 ? 0 : float_scale(kF32, float_from_integer(kF32, nibble, {}), -4, {});
}

template <unsigned Byte>
void from_byte(const LaneContext&, LaneData& lane) {
    lane.result = float_from_integer(kF32, lane.source[0] >> 8 * Byte & 0xFF, {});
}

// [-1, 1] or [0, 1] to the whole range of 16 bits; the product is exact in double.
template <auto& Format, int64_t Scale>
uint32_t normalized(uint64_t value) {
    const double product = to_double(Format, value) * static_cast<double>(Scale);
    return low_half(static_cast<uint64_t>(float_to_integer(
        kF64, std::bit_cast<uint64_t>(product), Rounding::nearest_even, Scale == kI16Max ? -Scale : 0, Scale)));
}
template <auto& Format, int64_t Scale>
void normalize(const LaneContext&, LaneData& lane) {
    lane.result = normalized<Format, Scale>(lane.source[0]);
}
template <auto& Format, int64_t Scale>
void pack_normalized(const LaneContext&, LaneData& lane) {
    lane.result = pack_halves(normalized<Format, Scale>(lane.source[0]), normalized<Format, Scale>(lane.source[1]));
}

template <int64_t Lowest, int64_t Highest>
void pack_truncated(const LaneContext&, LaneData& lane) {
    const auto integer = [](uint64_t value) {
        return static_cast<uint64_t>(float_to_integer(kF32, value, Rounding::toward_zero, Lowest, Highest));
    };
    lane.result = pack_halves(integer(lane.source[0]), integer(lane.source[1]));
}
void pack_u16_u32(const LaneContext&, LaneData& lane) {
    const auto saturated = [](uint64_t word) { return static_cast<uint32_t>(word) > 0xFFFF ? 0xFFFF : word; };
    lane.result = pack_halves(saturated(lane.source[0]), saturated(lane.source[1]));
}
void pack_i16_i32(const LaneContext&, LaneData& lane) {
    const auto saturated = [](uint64_t word) {
        const int64_t value = static_cast<int32_t>(word);
        return static_cast<uint64_t>(value < kI16Min ? kI16Min : value > kI16Max ? kI16Max : value);
    };
    lane.result = pack_halves(saturated(lane.source[0]), saturated(lane.source[1]));
}
void pack_toward_zero(const LaneContext& context, LaneData& lane) {
    FloatControl control = between(context.f32, context.f16);
    control.rounding = Rounding::toward_zero;
    lane.result = pack_halves(float_convert(kF32, kF16, lane.source[0], control),
                              float_convert(kF32, kF16, lane.source[1], control));
}

// Replaces one byte of the third source; to the nearest integer, as measured on gfx1201.
void pack_byte(const LaneContext&, LaneData& lane) {
    const unsigned shift = 8 * (lane.source[1] & 3);
    const auto byte = static_cast<uint64_t>(float_to_integer(kF32, lane.source[0], Rounding::nearest_even, 0, 255));
    lane.result = (static_cast<uint32_t>(lane.source[2]) & ~(0xFFull << shift)) | byte << shift;
}

constexpr ResultKind kHalf = ResultKind::f16, kSingle = ResultKind::f32, kDouble = ResultKind::f64;
constexpr Rounding kTruncate = Rounding::toward_zero;

constexpr LaneSemantics kRows[] = {
    lanewise<to_integer<kF64, kTruncate, kI32Min, kI32Max>>(Opcode::v_cvt_i32_f64),
    lanewise<to_integer<kF64, kTruncate, 0, kU32Max>>(Opcode::v_cvt_u32_f64),
    lanewise<to_integer<kF32, kTruncate, kI32Min, kI32Max>>(Opcode::v_cvt_i32_f32),
    lanewise<to_integer<kF32, kTruncate, 0, kU32Max>>(Opcode::v_cvt_u32_f32),
    lanewise<to_integer<kF32, Rounding::down, kI32Min, kI32Max>>(Opcode::v_cvt_floor_i32_f32),
    lanewise<to_nearest_i32>(Opcode::v_cvt_nearest_i32_f32),
    lanewise<to_integer<kF16, kTruncate, kI16Min, kI16Max>>(Opcode::v_cvt_i16_f16, ResultKind::half),
    lanewise<to_integer<kF16, kTruncate, 0, kU16Max>>(Opcode::v_cvt_u16_f16, ResultKind::half),
    lanewise<from_integer<kF64, 32, true>>(Opcode::v_cvt_f64_i32, kDouble),
    lanewise<from_integer<kF64, 32, false>>(Opcode::v_cvt_f64_u32, kDouble),
    lanewise<from_integer<kF32, 32, true>>(Opcode::v_cvt_f32_i32, kSingle),
    lanewise<from_integer<kF32, 32, false>>(Opcode::v_cvt_f32_u32, kSingle),
    lanewise<from_integer<kF16, 16, true>>(Opcode::v_cvt_f16_i16, kHalf),
    lanewise<from_integer<kF16, 16, false>>(Opcode::v_cvt_f16_u16, kHalf),
    lanewise<change_format<kF32, kF16>>(Opcode::v_cvt_f16_f32, kHalf),
    lanewise<change_format<kF16, kF32>>(Opcode::v_cvt_f32_f16, kSingle),
    lanewise<change_format<kF64, kF32>>(Opcode::v_cvt_f32_f64, kSingle),
    lanewise<change_format<kF32, kF64>>(Opcode::v_cvt_f64_f32, kDouble),
    lanewise<offset_from_i4>(Opcode::v_cvt_off_f32_i4, kSingle),
    lanewise<from_byte<0>>(Opcode::v_cvt_f32_ubyte0, kSingle),
    lanewise<from_byte<1>>(Opcode::v_cvt_f32_ubyte1, kSingle),
    lanewise<from_byte<2>>(Opcode::v_cvt_f32_ubyte2, kSingle),
    lanewise<from_byte<3>>(Opcode::v_cvt_f32_ubyte3, kSingle),
    lanewise<normalize<kF16, kI16Max>>(Opcode::v_cvt_norm_i16_f16, ResultKind::half),
    lanewise<normalize<kF16, kU16Max>>(Opcode::v_cvt_norm_u16_f16, ResultKind::half),
    lanewise<pack_normalized<kF16, kI16Max>>(Opcode::v_cvt_pk_norm_i16_f16),
    lanewise<pack_normalized<kF16, kU16Max>>(Opcode::v_cvt_pk_norm_u16_f16),
    lanewise<pack_normalized<kF32, kI16Max>>(Opcode::v_cvt_pk_norm_i16_f32),
    lanewise<pack_normalized<kF32, kU16Max>>(Opcode::v_cvt_pk_norm_u16_f32),
    lanewise<pack_truncated<kI16Min, kI16Max>>(Opcode::v_cvt_pk_i16_f32),
    lanewise<pack_truncated<0, kU16Max>>(Opcode::v_cvt_pk_u16_f32),
    lanewise<pack_u16_u32>(Opcode::v_cvt_pk_u16_u32),
    lanewise<pack_i16_i32>(Opcode::v_cvt_pk_i16_i32),
    lanewise<pack_toward_zero>(Opcode::v_cvt_pk_rtz_f16_f32),
    lanewise<pack_byte>(Opcode::v_cvt_pk_u8_f32),
    lanewise<[](const LaneContext&, LaneData& lane) {
        lane.result = static_cast<uint32_t>(sign_extend(lane.source[0], 16));
    }>(Opcode::v_cvt_i32_i16),
    lanewise<[](const LaneContext&, LaneData& lane) { lane.result = lane.source[0] & 0xFFFF; }>(Opcode::v_cvt_u32_u16),
};

}  // namespace
}  // namespace valu_conversion

std::span<const LaneSemantics> conversion_semantics() { return valu_conversion::kRows; }

}  // namespace riftjit::rdna::emulator
