// Sums of products of bytes: what both forms of a matmul by quads ask.
#pragma once

#include <bit>
#include <limits>

#include "host/result.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

inline bool is_one_group_per_segment(const DecoderTraits& traits) { return traits.segment == traits.group; }

// Quads of unsigned codes whose products VPMADDUBSW's signed words hold: two of each quad meet in a word.
inline uint32_t summable_quads(const DecoderTraits& traits) {
    return static_cast<uint32_t>(std::numeric_limits<int16_t>::max() / (2 * kI8Max * int{traits.most}));
}

// -zero_point * sum is I8Row's offset, -128 * sum, shifted right by so much.
inline int zero_point_shift(const DecoderTraits& traits) {
    const auto zero_point = static_cast<uint32_t>(traits.zero_point);
    check(std::has_single_bit(zero_point) && zero_point <= 128, "zero points are powers of two");
    return 7 - std::countr_zero(zero_point);
}

// A one in every word, as an operand.
inline Xbyak::Address word_ones(X86Emitter& code) {
    const VectorConstant ones = broadcast(0x1'0001);
    return code.constant_bytes(&ones, sizeof ones);
}

}  // namespace riftjit::x86
