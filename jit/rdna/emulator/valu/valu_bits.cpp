// Moves, logic, shifts, bit fields, permutes of bytes and counts of bits.
#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_bits {
namespace {

constexpr uint32_t kNotFound = 0xFFFFFFFF;

uint32_t reverse_bits(uint32_t value) {
    value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
    value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
    value = (value >> 4 & 0x0F0F0F0F) | (value & 0x0F0F0F0F) << 4;
    return __builtin_bswap32(value);
}
uint32_t leading_zeros(uint32_t value) {
    return value == 0 ? kNotFound : static_cast<uint32_t>(std::countl_zero(value));
}
uint32_t trailing_zeros(uint32_t value) {
    return value == 0 ? kNotFound : static_cast<uint32_t>(std::countr_zero(value));
}
// How many bits from the top equal the sign bit, the sign bit included.
uint32_t leading_signs(uint32_t value) {
    const uint32_t differing = value ^ (value >> 31 != 0 ? 0xFFFFFFFF : 0);
    return differing == 0 ? kNotFound : static_cast<uint32_t>(std::countl_zero(differing));
}

uint32_t low_bits(unsigned width) { return (1u << width) - 1; }  // width below 32
uint32_t extract_unsigned(uint32_t value, uint32_t offset, uint32_t width) {
    return value >> (offset & 31) & low_bits(width & 31);
}
uint32_t extract_signed(uint32_t value, uint32_t offset, uint32_t width) {
    width &= 31;
    if (width == 0) return 0;
    const int64_t shifted = int64_t{static_cast<int32_t>(value)} >> (offset & 31);
    return static_cast<uint32_t>(sign_extend(static_cast<uint64_t>(shifted), width));
}

uint32_t align(uint32_t high, uint32_t low, unsigned shift) {
    return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> shift);
}

// Selectors: 0-7 a byte (the second source holds bytes 0-3), 8-11 the sign of a half, 12 zero, above 0xFF.
uint32_t permute_byte(uint64_t bytes, uint32_t selector) {
    if (selector >= 13) return 0xFF;
    if (selector == 12) return 0;
    if (selector >= 8) return (bytes >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xFF : 0;
    return static_cast<uint32_t>(bytes >> 8 * selector & 0xFF);
}
uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8)
        result |= permute_byte(uint64_t{a} << 32 | b, selectors >> shift & 0xFF) << shift;
    return result;
}

// The mean of two bytes; an odd sum rounds up where the third source's byte has bit 0 set.
uint32_t lerp(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8)
        result |= ((a >> shift & 0xFF) + (b >> shift & 0xFF) + (c >> shift & 1)) / 2 << shift;
    return result;
}

// Bits of the source that belong to lanes below this one.
template <unsigned FirstLane>
void count_lanes_below(const LaneContext&, LaneData& lane) {
    const uint32_t below = lane.lane <= FirstLane ? 0 : lane.lane - FirstLane;
    const uint32_t mask = below >= 32 ? 0xFFFFFFFF : low_bits(below);
    const auto count = static_cast<uint32_t>(std::popcount(static_cast<uint32_t>(lane.source[0]) & mask));
    lane.result = static_cast<uint32_t>(lane.source[1]) + count;
}

uint32_t saturate_byte(int64_t value) { return static_cast<uint32_t>(value < 0 ? 0 : value > 255 ? 255 : value); }

constexpr LaneSemantics kRows[] = {
    lanewise<words1<[](uint32_t a) { return a; }>>(Opcode::v_mov_b32),
    lanewise<words1<[](uint32_t a) { return ~a; }>>(Opcode::v_not_b32),
    lanewise<words1<reverse_bits>>(Opcode::v_bfrev_b32),
    lanewise<words1<leading_zeros>>(Opcode::v_clz_i32_u32),
    lanewise<words1<trailing_zeros>>(Opcode::v_ctz_i32_b32),
    lanewise<words1<leading_signs>>(Opcode::v_cls_i32),
    lanewise<[](const LaneContext&, LaneData& lane) {
        lane.result = static_cast<uint32_t>(lane.source[lane.condition ? 1 : 0]);
    }>(Opcode::v_cndmask_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return a & b; }>>(Opcode::v_and_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return a | b; }>>(Opcode::v_or_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return a ^ b; }>>(Opcode::v_xor_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return ~(a ^ b); }>>(Opcode::v_xnor_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return b << (a & 31); }>>(Opcode::v_lshlrev_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return (b >> (a & 31)); }>>(Opcode::v_lshrrev_b32),
    lanewise<
        words2<[](uint32_t a, uint32_t b) { return (static_cast<uint32_t>(static_cast<int32_t>(b) >> (a & 31))); }>>(
        Opcode::v_ashrrev_i32),
    lanewise<[](const LaneContext&, LaneData& lane) { lane.result = lane.source[1] << (lane.source[0] & 63); }>(
        Opcode::v_lshlrev_b64),
    lanewise<[](const LaneContext&, LaneData& lane) { lane.result = (lane.source[1] >> (lane.source[0] & 63)); }>(
        Opcode::v_lshrrev_b64),
    lanewise<[](const LaneContext&, LaneData& lane) {
        lane.result = static_cast<uint64_t>((static_cast<int64_t>(lane.source[1]) >> (lane.source[0] & 63)));
    }>(Opcode::v_ashrrev_i64),
    lanewise<words2<[](uint32_t a, uint32_t b) { return low_bits(a & 31) << (b & 31); }>>(Opcode::v_bfm_b32),
    lanewise<words3<extract_unsigned>>(Opcode::v_bfe_u32),
    lanewise<words3<extract_signed>>(Opcode::v_bfe_i32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }>>(Opcode::v_bfi_b32),
    lanewise<words3<lerp>>(Opcode::v_lerp_u8),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return align(a, b, c & 31); }>>(Opcode::v_alignbit_b32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return align(a, b, 8 * (c & 3)); }>>(
        Opcode::v_alignbyte_b32),
    lanewise<words3<permute>>(Opcode::v_perm_b32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }>>(Opcode::v_xor3_b32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }>>(Opcode::v_or3_b32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }>>(Opcode::v_and_or_b32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }>>(Opcode::v_xad_u32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }>>(Opcode::v_lshl_add_u32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }>>(Opcode::v_add_lshl_u32),
    lanewise<words3<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) | c; }>>(Opcode::v_lshl_or_b32),
    lanewise<words2<[](uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::popcount(a)) + b; }>>(
        Opcode::v_bcnt_u32_b32),
    lanewise<count_lanes_below<0>>(Opcode::v_mbcnt_lo_u32_b32),
    lanewise<count_lanes_below<32>>(Opcode::v_mbcnt_hi_u32_b32),
    lanewise<words1<[](uint32_t a) {
        return saturate_byte(sign_extend(a, 16)) | saturate_byte(sign_extend((a >> 16), 16)) << 8;
    }>>(Opcode::v_sat_pk_u8_i16, ResultKind::half),
};

}  // namespace
}  // namespace valu_bits

std::span<const LaneSemantics> bit_semantics() { return valu_bits::kRows; }

}  // namespace riftjit::rdna::emulator
