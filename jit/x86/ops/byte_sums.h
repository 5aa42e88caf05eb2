// Sums of products of bytes: what both forms of a matmul by quads ask.
#pragma once

#include <bit>
#include <limits>

#include "host/result.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

inline bool is_one_group_per_segment(const DecoderTraits& traits) { return traits.segment == traits.group; }

// Quads of unsigned codes whose products with bytes of at most `most` VPMADDUBSW's signed words hold: two of each quad
// meet in a word.
inline uint32_t summable_quads(const DecoderTraits& traits, int most = kI8Max) {
    return static_cast<uint32_t>(std::numeric_limits<int16_t>::max() / (2 * most * int{traits.most}));
}

// -zero_point * sum is I8Row's offset, -128 * sum, shifted right by so much.
inline int zero_point_shift(const DecoderTraits& traits) {
    const auto zero_point = static_cast<uint32_t>(traits.zero_point);
    check(std::has_single_bit(zero_point) && zero_point <= 128, "zero points are powers of two");
    return 7 - std::countr_zero(zero_point);
}

// A number in every word, as an operand.
inline Xbyak::Address splat_words(X86Emitter& code, uint32_t number) {
    const VectorConstant words = broadcast(number * 0x1'0001);
    return code.constant_bytes(&words, sizeof words);
}
inline Xbyak::Address word_ones(X86Emitter& code) { return splat_words(code, 1); }

// Raises signed quads by 128, for VPDPBUSD.
inline void raise(X86Emitter& code, const Xbyak::Xmm& quad) {
    const auto most_negative = code.splat_u32(0x8080'8080);
    has_avx512(code.isa()) ? code.vpxord(quad, quad, most_negative) : code.vpxor(quad, quad, most_negative);
}

}  // namespace riftjit::x86
