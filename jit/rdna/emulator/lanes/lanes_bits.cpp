// Operations on bits and bytes over lanes: permutes, counts, reversal. Tables of 16 bytes stand for what the host has
// no instruction for: they are looked up by nibbles.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_bits {
namespace {

using E = LaneEmitter;
using Bytes = std::array<uint8_t, 16>;

constexpr uint32_t kLowNibbles = 0x0F0F0F0F, kByteOnes = 0x01010101, kHalfOnes = 0x00010001;

void look_up(E& e, const Xbyak::Xmm& to, const Bytes& table, const Xbyak::Xmm& indices) {
    e.load_bytes(e.v, table);
    e.vpshufb(to, e.v, indices);
}

// t: the low, u: the high nibble of every byte. Constant 0: their mask.
void split_nibbles(E& e, const Xbyak::Xmm& value) {
    e.and_bits(e.t, value, e.constant[0]);
    e.vpsrlw(e.u, value, 4);
    e.and_bits(e.u, e.u, e.constant[0]);
}

// Constants: kLowNibbles, kByteOnes, kHalfOnes.
void count_ones(E& e, const Xbyak::Xmm& value) {
    constexpr Bytes kOnes{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    split_nibbles(e, value);
    look_up(e, e.t, kOnes, e.t);
    look_up(e, e.u, kOnes, e.u);
    e.vpaddb(e.t, e.t, e.u);
    e.vpmaddubsw(e.t, e.t, e.constant[1]);
    e.vpmaddwd(e.t, e.t, e.constant[2]);
}
void count_and_add(E& e) {
    count_ones(e, e.a);
    e.vpaddd(e.d, e.t, e.b);
}

constexpr std::array<uint32_t, 32> bits_below() {
    std::array<uint32_t, 32> masks{};
    for (unsigned lane = 0; lane < 32; ++lane) masks[lane] = (1u << lane) - 1;
    return masks;
}
// The lower 32 lanes count among the bits below theirs; the upper ones have all of them below.
void count_below_lower(E& e) {
    e.load_lanes(e.w, bits_below());
    e.load_condition();
    if (e.is_avx512())
        e.vpternlogd(e.w | e.condition, e.w, e.w, 0xFF);
    else
        e.vpor(e.w, e.w, e.condition_lanes);
    e.and_bits(e.a, e.a, e.w);
    count_and_add(e);
}
void count_below_upper(E& e) {
    e.load_lanes(e.w, bits_below());
    e.load_condition();
    if (e.is_avx512())
        e.vpandd(e.a | e.condition | e.T_z, e.a, e.w);
    else
        e.vpand(e.a, e.a, e.condition_lanes), e.vpand(e.a, e.a, e.w);
    count_and_add(e);
}

void reverse_bits(E& e) {
    constexpr Bytes kBytesOfWords{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
    constexpr Bytes kToHigh{0x00, 0x80, 0x40, 0xC0, 0x20, 0xA0, 0x60, 0xE0,
                            0x10, 0x90, 0x50, 0xD0, 0x30, 0xB0, 0x70, 0xF0};
    constexpr Bytes kToLow{0x0, 0x8, 0x4, 0xC, 0x2, 0xA, 0x6, 0xE, 0x1, 0x9, 0x5, 0xD, 0x3, 0xB, 0x7, 0xF};
    e.load_bytes(e.v, kBytesOfWords);
    e.vpshufb(e.a, e.a, e.v);
    split_nibbles(e, e.a);
    look_up(e, e.t, kToHigh, e.t);
    look_up(e, e.u, kToLow, e.u);
    e.or_bits(e.d, e.t, e.u);
}

void ones_where_zero(E& e, const Xbyak::Xmm& to, const Xbyak::Xmm& value) {
    if (e.is_avx512()) {
        e.vptestnmd(e.k4, value, value);
        e.vpternlogd(to | e.k4, to, to, 0xFF);
    } else {
        e.vpxor(e.t, e.t, e.t);
        e.vpcmpeqd(e.t, e.t, value);
        e.vpor(to, to, e.t);
    }
}

constexpr uint32_t kExponentOfTop = 127 + 31, kExponentOfOne = 127, kExponent = 0xFF;

// From the exponent of the value as a float. Without the bit eight below the first one it cannot round up to the next
// power of two; with bit 31 set it is negative, and the difference saturates to 0. Constant 0: kExponentOfTop.
void count_leading_zeros(E& e, const Xbyak::Xmm& value) {
    e.vpsrld(e.t, value, 8);
    e.and_not_bits(e.t, e.t, value);
    e.vcvtdq2ps(e.t, e.t);
    e.vpsrld(e.t, e.t, 23);
    e.vpsubusw(e.d, e.constant[0], e.t);
    ones_where_zero(e, e.d, value);
}
void count_leading_signs(E& e) {
    e.vpsrad(e.t, e.a, 31);
    e.xor_bits(e.a, e.a, e.t);
    count_leading_zeros(e, e.a);
}
void count_trailing_zeros(E& e) {  // the lowest bit alone, as a float; bit 31 makes it negative
    e.xor_bits(e.t, e.t, e.t);
    e.vpsubd(e.t, e.t, e.a);
    e.and_bits(e.t, e.t, e.a);
    e.vcvtdq2ps(e.t, e.t);
    e.vpsrld(e.t, e.t, 23);
    e.and_bits(e.t, e.t, e.constant[0]);
    e.vpsubd(e.d, e.t, e.constant[1]);
    ones_where_zero(e, e.d, e.a);
}

// Selectors: 0-7 a byte (b holds bytes 0-3), 8-11 the sign of a half, 12 zero, above 0xFF. A sign is found in its
// half's upper byte, which then spreads over the bits; so does the sign given for 13. Constant 0: 13 in every byte.
constexpr uint8_t kNone = 0x80;  // as an index: gives 0
void permute_bytes(E& e) {
    constexpr Bytes kFromA{kNone, kNone, kNone, kNone, 0, 1, 2, 3, kNone, kNone, 1, 3, kNone, kNone, kNone, kNone};
    constexpr Bytes kFromB{0, 1, 2, 3, kNone, kNone, kNone, kNone, 1, 3, kNone, kNone, kNone, kNone, kNone, kNone};
    constexpr Bytes kSignOfOnes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0};
    constexpr Bytes kOwnWord{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
    e.vpminub(e.c, e.c, e.constant[0]);
    e.load_bytes(e.w, kOwnWord);
    look_up(e, e.t, kFromA, e.c);
    look_up(e, e.u, kFromB, e.c);
    e.or_bits(e.t, e.t, e.w);
    e.or_bits(e.u, e.u, e.w);
    e.vpshufb(e.a, e.a, e.t);
    e.vpshufb(e.b, e.b, e.u);
    look_up(e, e.t, kSignOfOnes, e.c);
    e.or_bits(e.a, e.a, e.b);
    e.or_bits(e.d, e.a, e.t);
    e.vpsllw(e.c, e.c, 4);  // bit 7: a selector of 8 or more
    if (e.is_avx512()) {
        e.vpmovb2m(e.k4, e.c);
        e.vpmovb2m(e.k5, e.d);
        e.vpmovm2b(e.t, e.k5);
        e.vmovdqu8(e.d | e.k4, e.t);
    } else {
        e.vpxor(e.t, e.t, e.t);
        e.vpcmpgtb(e.t, e.t, e.d);
        e.vpblendvb(e.d, e.d, e.t, e.c);
    }
}

// The host's mean rounds odd sums up: one less where c does not ask for it. Constant 0: kByteOnes.
void mean_of_bytes(E& e) {
    e.vpavgb(e.d, e.a, e.b);
    e.xor_bits(e.t, e.a, e.b);
    e.and_not_bits(e.t, e.c, e.t);
    e.and_bits(e.t, e.t, e.constant[0]);
    e.vpsubb(e.d, e.d, e.t);
}

// Signed halves to bytes, side by side in the low half. Constant 0: 255 in each half.
void saturate_halves(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vpminsw(e.a, e.a, e.constant[0]);
    e.vpmaxsw(e.a, e.a, e.t);
    e.vpsrld(e.t, e.a, 8);
    e.or_bits(e.d, e.a, e.t);
}

constexpr LaneOperation packs_bytes(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 1, emit, {0x00FF00FF});
    operation.halves.result = HalfResult::bits;
    return operation;
}
constexpr LaneOperation counts_lanes(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 2, emit, {kLowNibbles, kByteOnes, kHalfOnes});
    operation.condition = LaneCondition::upper_lane;
    return operation;
}

constexpr LaneOperation kOperations[] = {
    lane_words(Opcode::v_bcnt_u32_b32, 2, count_and_add, {kLowNibbles, kByteOnes, kHalfOnes}),
    counts_lanes(Opcode::v_mbcnt_lo_u32_b32, count_below_lower),
    counts_lanes(Opcode::v_mbcnt_hi_u32_b32, count_below_upper),
    lane_words(Opcode::v_bfrev_b32, 1, reverse_bits, {kLowNibbles}),
    lane_words(Opcode::v_clz_i32_u32, 1, [](E& e) { count_leading_zeros(e, e.a); }, {kExponentOfTop}),
    lane_words(Opcode::v_cls_i32, 1, count_leading_signs, {kExponentOfTop}),
    lane_words(Opcode::v_ctz_i32_b32, 1, count_trailing_zeros, {kExponent, kExponentOfOne}),
    lane_words(Opcode::v_perm_b32, 3, permute_bytes, {0x0D0D0D0D}),
    packs_bytes(Opcode::v_sat_pk_u8_i16, saturate_halves),
    lane_words(Opcode::v_lerp_u8, 3, mean_of_bytes, {kByteOnes}),
};

}  // namespace
}  // namespace lanes_bits

std::span<const LaneOperation> bit_lane_operations() { return lanes_bits::kOperations; }

}  // namespace riftjit::rdna::emulator
