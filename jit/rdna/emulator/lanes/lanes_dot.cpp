// Sums over the parts of words: products of integers, and absolute differences of bytes and halves.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_dot {
namespace {

using E = LaneEmitter;
using X = Xbyak::Xmm;
constexpr Sign kSigned = Sign::is_signed, kUnsigned = Sign::is_unsigned;
constexpr uint32_t kNibbles = 0x000F000F, kBytes = 0x00FF00FF, kLowHalf = 0xFFFF, kByteOnes = 0x01010101,
                   kHalfOnes = 0x00010001;

struct Signs {
    Sign a, b;
};
Signs variant_signs(const E& e) {
    return {(e.variant() & 1) != 0 ? kSigned : kUnsigned, (e.variant() & 2) != 0 ? kSigned : kUnsigned};
}

// Of each half of a word the field that begins at `shift`, as 16 bits. Constant 0: the fields at 0.
void widen(E& e, const X& to, const X& from, int shift, int bits, Sign sign) {
    const int above = 16 - shift - bits;
    if (sign == kSigned) {
        if (above != 0) e.vpsllw(to, from, static_cast<uint8_t>(above));
        e.vpsraw(to, above != 0 ? to : from, static_cast<uint8_t>(16 - bits));
    } else {
        if (shift != 0) e.vpsrlw(to, from, static_cast<uint8_t>(shift));
        if (above != 0) e.and_bits(to, shift != 0 ? to : from, e.constant[0]);
    }
}
// Pairs of products of 16 bits add up to 32 bits exactly, but for two of the lowest number's squares, which wrap as
// they should.
void dot(E& e, int bits, Signs signs) {
    e.move(e.d, e.c);
    for (int shift = 0; shift < 16; shift += bits) {
        widen(e, e.t, e.a, shift, bits, signs.a);
        widen(e, e.u, e.b, shift, bits, signs.b);
        e.vpmaddwd(e.t, e.t, e.u);
        e.vpaddd(e.d, e.d, e.t);
    }
}
template <int Bits, Sign S>
void dot(E& e) {
    dot(e, Bits, {S, S});
}
template <int Bits>
void dot_mixed(E& e) {
    dot(e, Bits, variant_signs(e));
}
void dot2_signed(E& e) {
    e.vpmaddwd(e.d, e.a, e.b);
    e.vpaddd(e.d, e.d, e.c);
}
void dot2_unsigned(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    e.and_bits(e.u, e.b, e.constant[0]);
    e.vpmulld(e.t, e.t, e.u);
    e.vpsrld(e.a, e.a, 16);
    e.vpsrld(e.b, e.b, 16);
    e.vpmulld(e.a, e.a, e.b);
    e.vpaddd(e.d, e.t, e.a);
    e.vpaddd(e.d, e.d, e.c);
}

// t: the sum of the bytes' differences to b, each times a weight of 0 or 1; clobbers u. Constant 1: kHalfOnes.
void byte_differences(E& e, const X& bytes, const X& weights) {
    e.vpsubusb(e.u, bytes, e.b);
    e.vpsubusb(e.t, e.b, bytes);
    e.or_bits(e.t, e.t, e.u);
    e.vpmaddubsw(e.t, e.t, weights);
    e.vpmaddwd(e.t, e.t, e.constant[1]);
}
void sad_bytes(E& e) {
    byte_differences(e, e.a, e.constant[0]);
    e.vpaddd(e.d, e.t, e.c);
}
void sad_bytes_high(E& e) {
    byte_differences(e, e.a, e.constant[0]);
    e.vpslld(e.t, e.t, 16);
    e.vpaddd(e.d, e.t, e.c);
}
void sad_bytes_masked(E& e) {  // bytes of b that are 0 do not count
    e.vpminub(e.v, e.b, e.constant[0]);
    byte_differences(e, e.a, e.v);
    e.vpaddd(e.d, e.t, e.c);
}
void sad_halves(E& e) {
    e.vpsubusw(e.t, e.a, e.b);
    e.vpsubusw(e.u, e.b, e.a);
    e.or_bits(e.t, e.t, e.u);
    e.and_bits(e.u, e.t, e.constant[0]);
    e.vpsrld(e.t, e.t, 16);
    e.vpaddd(e.t, e.t, e.u);
    e.vpaddd(e.d, e.t, e.c);
}
void sad_words(E& e) {
    e.vpmaxud(e.t, e.a, e.b);
    e.vpminud(e.u, e.a, e.b);
    e.vpsubd(e.t, e.t, e.u);
    e.vpaddd(e.d, e.t, e.c);
}

// Four windows of the eight bytes of a, one byte apart, each with a sum of 16 bits.
void window_differences(E& e, int window, const X& weights) {
    if (window != 0) {
        e.vpsrld(e.t, e.a, static_cast<uint8_t>(8 * window));
        e.vpslld(e.u, e.a_high, static_cast<uint8_t>(32 - 8 * window));
        e.or_bits(e.t, e.t, e.u);
    }
    byte_differences(e, window == 0 ? e.a : e.t, weights);
}
void window_pair(E& e, const X& sums, const X& addends, int first, const X& weights) {
    window_differences(e, first, weights);
    e.move(sums, e.t);
    window_differences(e, first + 1, weights);
    e.vpslld(e.t, e.t, 16);
    e.or_bits(sums, sums, e.t);
    e.vpaddw(sums, sums, addends);
}
void four_windows(E& e, const X& weights) {
    window_pair(e, e.d, e.c, 0, weights);
    window_pair(e, e.d_high, e.c_high, 2, weights);
}
void sad_windows_masked(E& e) {
    e.vpminub(e.b_high, e.b, e.constant[0]);
    four_windows(e, e.b_high);
}

void sad_windows_to_words(E& e) {  // the same, each window with a sum of 32 bits
    e.vpminub(e.b_high, e.b, e.constant[0]);
    for (unsigned window = 0; window < 4; ++window) {
        window_differences(e, static_cast<int>(window), e.b_high);
        e.load_c(e.d_part(window), window);
        e.vpaddd(e.d_part(window), e.d_part(window), e.t);
    }
}

constexpr LaneOperation windows(Opcode opcode, LaneEmit emit, uint8_t registers = 2) {
    LaneOperation operation = lane_words(opcode, 3, emit, {kByteOnes, kHalfOnes});
    operation.widths = {{2, 1, registers}, registers};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    lane_words(Opcode::v_dot2_i32_i16, 3, dot2_signed),
    lane_words(Opcode::v_dot2_u32_u16, 3, dot2_unsigned, {kLowHalf}),
    lane_words(Opcode::v_dot4_i32_iu8, 3, dot_mixed<8>, {kBytes}),
    lane_words(Opcode::v_dot4_i32_i8, 3, dot<8, kSigned>),
    lane_words(Opcode::v_dot4c_i32_i8, 3, dot<8, kSigned>),
    lane_words(Opcode::v_dot4_u32_u8, 3, dot<8, kUnsigned>, {kBytes}),
    lane_words(Opcode::v_dot8_i32_iu4, 3, dot_mixed<4>, {kNibbles}),
    lane_words(Opcode::v_dot8_i32_i4, 3, dot<4, kSigned>),
    lane_words(Opcode::v_dot8_u32_u4, 3, dot<4, kUnsigned>, {kNibbles}),
    lane_words(Opcode::v_sad_u8, 3, sad_bytes, {kByteOnes, kHalfOnes}),
    lane_words(Opcode::v_sad_hi_u8, 3, sad_bytes_high, {kByteOnes, kHalfOnes}),
    lane_words(Opcode::v_sad_u16, 3, sad_halves, {kLowHalf}),
    lane_words(Opcode::v_sad_u32, 3, sad_words),
    lane_words(Opcode::v_msad_u8, 3, sad_bytes_masked, {kByteOnes, kHalfOnes}),
    windows(Opcode::v_qsad_pk_u16_u8, [](E& e) { four_windows(e, e.constant[0]); }),
    windows(Opcode::v_mqsad_pk_u16_u8, sad_windows_masked),
    windows(Opcode::v_mqsad_u32_u8, sad_windows_to_words, 4),
};

}  // namespace
}  // namespace lanes_dot

std::span<const LaneOperation> dot_lane_operations() { return lanes_dot::kOperations; }

}  // namespace riftjit::rdna::emulator
