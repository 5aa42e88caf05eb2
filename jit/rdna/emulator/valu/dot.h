// Dot products of packed sources with an accumulator.
#pragma once

#include <cstdint>

#include "jit/rdna/emulator/valu/valu_float8.h"

namespace riftjit::rdna::emulator {

enum class Sign : uint8_t { is_unsigned, is_signed };

// The sum of products of 32 / bits pairs of integers.
int64_t integer_dot(uint32_t a, uint32_t b, unsigned bits, Sign a_sign, Sign b_sign);

// f32 accumulation of two products of halves (f16 or bf16), low first, each product added with one rounding.
uint64_t float_dot2(const FloatFormat& halves, uint64_t a, uint64_t b, uint64_t accumulator,
                    const FloatControl& control);
// The same of four products of 8-bit floats, lowest byte first.
uint64_t float8_dot4(Float8 a_type, Float8 b_type, uint32_t a, uint32_t b, uint64_t accumulator,
                     const FloatControl& control);

}  // namespace riftjit::rdna::emulator
