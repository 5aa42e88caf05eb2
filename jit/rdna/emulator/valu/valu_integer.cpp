// Integer arithmetic: add, subtract, multiply, mad, carries, min, max, median, sums of absolute differences.
#include <algorithm>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_integer {
namespace {

using Int128 = __int128;
constexpr Int128 kI32Min = INT32_MIN, kI32Max = INT32_MAX, kU32Max = UINT32_MAX;

uint32_t u32(uint64_t value) { return static_cast<uint32_t>(value); }
int32_t i32(uint64_t value) { return static_cast<int32_t>(value); }

template <auto Exact>
void unsigned2(const LaneContext& context, LaneData& lane) {
    lane.result =
        u32(saturate_or_wrap(context, Exact(Int128{u32(lane.source[0])}, Int128{u32(lane.source[1])}), 0, kU32Max));
}
template <auto Exact>
void signed2(const LaneContext& context, LaneData& lane) {
    lane.result = u32(
        saturate_or_wrap(context, Exact(Int128{i32(lane.source[0])}, Int128{i32(lane.source[1])}), kI32Min, kI32Max));
}

constexpr auto kAdd = [](Int128 a, Int128 b) { return a + b; };
constexpr auto kSubtract = [](Int128 a, Int128 b) { return a - b; };
constexpr auto kSubtractReversed = [](Int128 a, Int128 b) { return b - a; };

// The carry is that of the unclamped sum. `Carry`: the instruction also adds its mask source.
template <auto Combine, int CarrySign>
void with_carry(const LaneContext& context, LaneData& lane) {
    const Int128 exact = Combine(Int128{u32(lane.source[0])}, Int128{u32(lane.source[1])}) +
                         CarrySign * static_cast<int>(lane.condition);
    lane.bit = exact < 0 || exact > kU32Max;
    lane.result = u32(saturate_or_wrap(context, exact, 0, kU32Max));
}

// Operands of 24 or 16 bits, a 32-bit addend where the instruction has one.
template <unsigned Bits, bool Signed>
Int128 narrow(uint64_t value) {
    if constexpr (Signed) return sign_extend(value, Bits);
    return static_cast<Int128>(value & ((1ull << Bits) - 1));
}
template <unsigned Bits, bool Signed>
Int128 product(const LaneData& lane) {
    return narrow<Bits, Signed>(lane.source[0]) * narrow<Bits, Signed>(lane.source[1]);
}
template <unsigned Bits, bool Signed>
void mul_narrow(const LaneContext& context, LaneData& lane) {
    lane.result = u32(saturate_or_wrap(context, product<Bits, Signed>(lane), Signed ? kI32Min : Int128{0},
                                       Signed ? kI32Max : kU32Max));
}
template <bool Signed>
void mul_high_24(const LaneContext&, LaneData& lane) {
    lane.result = u32(static_cast<uint64_t>(product<24, Signed>(lane) >> 32));
}
template <unsigned Bits, bool Signed>
void mad_narrow(const LaneContext& context, LaneData& lane) {
    const Int128 exact = product<Bits, Signed>(lane) + narrow<32, Signed>(lane.source[2]);
    lane.result = u32(saturate_or_wrap(context, exact, Signed ? kI32Min : Int128{0}, Signed ? kI32Max : kU32Max));
}

// The mask is bit 64 of the exact sum, which for the signed form is its sign.
void mad_u64(const LaneContext& context, LaneData& lane) {
    const Int128 exact = product<32, false>(lane) + static_cast<Int128>(lane.source[2]);
    lane.bit = (exact >> 64 & 1) != 0;
    lane.result = saturate_or_wrap(context, exact, 0, static_cast<Int128>(UINT64_MAX));
}
void mad_i64(const LaneContext& context, LaneData& lane) {
    const Int128 exact = product<32, true>(lane) + static_cast<Int128>(static_cast<int64_t>(lane.source[2]));
    lane.bit = (exact >> 64 & 1) != 0;
    lane.result = saturate_or_wrap(context, exact, INT64_MIN, INT64_MAX);
}

template <class T>
T median(T a, T b, T c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

template <unsigned Bits>
uint64_t sum_of_differences(uint32_t a, uint32_t b) {
    uint64_t sum = 0;
    constexpr uint64_t kMask = (1ull << Bits) - 1;
    for (unsigned shift = 0; shift < 32; shift += Bits)
        sum += distance(static_cast<uint32_t>(a >> shift & kMask), static_cast<uint32_t>(b >> shift & kMask));
    return sum;
}
template <unsigned Bits, unsigned Shift>
void sad(const LaneContext& context, LaneData& lane) {
    const uint64_t sum = sum_of_differences<Bits>(u32(lane.source[0]), u32(lane.source[1])) << Shift;
    lane.result = u32(saturate_or_wrap(context, static_cast<Int128>(sum) + u32(lane.source[2]), 0, kU32Max));
}

// Bytes whose reference (b) is zero do not count.
uint64_t masked_differences(uint32_t a, uint32_t b) {
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += 8)
        if ((b >> shift & 0xFF) != 0) sum += distance(a >> shift & 0xFF, b >> shift & 0xFF);
    return sum;
}
void msad(const LaneContext& context, LaneData& lane) {
    const uint64_t sum = masked_differences(u32(lane.source[0]), u32(lane.source[1]));
    lane.result = u32(saturate_or_wrap(context, static_cast<Int128>(sum) + u32(lane.source[2]), 0, kU32Max));
}

// Four windows of four bytes, one byte apart, each with a 16-bit accumulator.
template <auto Differences>
void quad_sad_16(const LaneContext& context, LaneData& lane) {
    for (unsigned window = 0; window < 4; ++window) {
        const uint64_t sum = Differences(u32(lane.source[0] >> 8 * window), u32(lane.source[1]));
        const Int128 exact = static_cast<Int128>(sum) + (lane.source[2] >> 16 * window & 0xFFFF);
        lane.result |= (saturate_or_wrap(context, exact, 0, UINT16_MAX) & 0xFFFF) << 16 * window;
    }
}
void quad_msad_32(const LaneContext& context, LaneData& lane) {
    const std::array<uint64_t, 2> addends{lane.source[2], lane.source2_high};
    std::array<uint64_t, 2> sums{};
    for (unsigned window = 0; window < 4; ++window) {
        const uint64_t sum = masked_differences(u32(lane.source[0] >> 8 * window), u32(lane.source[1]));
        const Int128 exact = static_cast<Int128>(sum) + u32(addends[window / 2] >> 32 * (window % 2));
        sums[window / 2] |= uint64_t{u32(saturate_or_wrap(context, exact, 0, kU32Max))} << 32 * (window % 2);
    }
    lane.result = sums[0];
    lane.result_high = sums[1];
}

template <class T, auto F>
void ordered2(const LaneContext&, LaneData& lane) {
    lane.result = u32(static_cast<uint64_t>(F(static_cast<T>(lane.source[0]), static_cast<T>(lane.source[1]))));
}
template <class T, auto F>
void ordered3(const LaneContext&, LaneData& lane) {
    lane.result = u32(static_cast<uint64_t>(
        F(static_cast<T>(lane.source[0]), static_cast<T>(lane.source[1]), static_cast<T>(lane.source[2]))));
}
constexpr auto kMin = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kMax = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kMin3 = [](auto a, auto b, auto c) { return std::min(std::min(a, b), c); };
constexpr auto kMax3 = [](auto a, auto b, auto c) { return std::max(std::max(a, b), c); };
constexpr auto kMed3 = [](auto a, auto b, auto c) { return median(a, b, c); };
constexpr auto kMinMax = [](auto a, auto b, auto c) { return std::max(std::min(a, b), c); };
constexpr auto kMaxMin = [](auto a, auto b, auto c) { return std::min(std::max(a, b), c); };

constexpr LaneSemantics kRows[] = {
    lanewise<unsigned2<kAdd>>(Opcode::v_add_nc_u32),
    lanewise<unsigned2<kSubtract>>(Opcode::v_sub_nc_u32),
    lanewise<unsigned2<kSubtractReversed>>(Opcode::v_subrev_nc_u32),
    lanewise<signed2<kAdd>>(Opcode::v_add_nc_i32),
    lanewise<signed2<kSubtract>>(Opcode::v_sub_nc_i32),
    lanewise<with_carry<kAdd, 0>>(Opcode::v_add_co_u32),
    lanewise<with_carry<kSubtract, 0>>(Opcode::v_sub_co_u32),
    lanewise<with_carry<kSubtractReversed, 0>>(Opcode::v_subrev_co_u32),
    lanewise<with_carry<kAdd, 1>>(Opcode::v_add_co_ci_u32),
    lanewise<with_carry<kSubtract, -1>>(Opcode::v_sub_co_ci_u32),
    lanewise<with_carry<kSubtractReversed, -1>>(Opcode::v_subrev_co_ci_u32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }>>(Opcode::v_add3_u32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return a * b; }>>(Opcode::v_mul_lo_u32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return u32(uint64_t{a} * b >> 32); }>>(Opcode::v_mul_hi_u32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return u32(static_cast<uint64_t>(int64_t{i32(a)} * i32(b)) >> 32); }>>(
        Opcode::v_mul_hi_i32),
    lanewise<mul_narrow<24, true>>(Opcode::v_mul_i32_i24),
    lanewise<mul_narrow<24, false>>(Opcode::v_mul_u32_u24),
    lanewise<mul_high_24<true>>(Opcode::v_mul_hi_i32_i24),
    lanewise<mul_high_24<false>>(Opcode::v_mul_hi_u32_u24),
    lanewise<mad_narrow<24, true>>(Opcode::v_mad_i32_i24),
    lanewise<mad_narrow<24, false>>(Opcode::v_mad_u32_u24),
    lanewise<mad_narrow<16, true>>(Opcode::v_mad_i32_i16),
    lanewise<mad_narrow<16, false>>(Opcode::v_mad_u32_u16),
    lanewise<mad_u64>(Opcode::v_mad_co_u64_u32),
    lanewise<mad_i64>(Opcode::v_mad_co_i64_i32),
    lanewise<ordered2<int32_t, kMin>>(Opcode::v_min_i32),
    lanewise<ordered2<int32_t, kMax>>(Opcode::v_max_i32),
    lanewise<ordered2<uint32_t, kMin>>(Opcode::v_min_u32),
    lanewise<ordered2<uint32_t, kMax>>(Opcode::v_max_u32),
    lanewise<ordered3<int32_t, kMin3>>(Opcode::v_min3_i32),
    lanewise<ordered3<uint32_t, kMin3>>(Opcode::v_min3_u32),
    lanewise<ordered3<int32_t, kMax3>>(Opcode::v_max3_i32),
    lanewise<ordered3<uint32_t, kMax3>>(Opcode::v_max3_u32),
    lanewise<ordered3<int32_t, kMed3>>(Opcode::v_med3_i32),
    lanewise<ordered3<uint32_t, kMed3>>(Opcode::v_med3_u32),
    lanewise<ordered3<int32_t, kMinMax>>(Opcode::v_minmax_i32),
    lanewise<ordered3<uint32_t, kMinMax>>(Opcode::v_minmax_u32),
    lanewise<ordered3<int32_t, kMaxMin>>(Opcode::v_maxmin_i32),
    lanewise<ordered3<uint32_t, kMaxMin>>(Opcode::v_maxmin_u32),
    lanewise<sad<8, 0>>(Opcode::v_sad_u8),
    lanewise<sad<8, 16>>(Opcode::v_sad_hi_u8),
    lanewise<sad<16, 0>>(Opcode::v_sad_u16),
    lanewise<sad<32, 0>>(Opcode::v_sad_u32),
    lanewise<msad>(Opcode::v_msad_u8),
    lanewise<quad_sad_16<sum_of_differences<8>>>(Opcode::v_qsad_pk_u16_u8),
    lanewise<quad_sad_16<masked_differences>>(Opcode::v_mqsad_pk_u16_u8),
    lanewise<quad_msad_32>(Opcode::v_mqsad_u32_u8),
};

}  // namespace
}  // namespace valu_integer

std::span<const LaneSemantics> integer_semantics() { return valu_integer::kRows; }

}  // namespace riftjit::rdna::emulator
