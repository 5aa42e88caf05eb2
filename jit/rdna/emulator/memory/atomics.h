// What atomic instructions do to a value in memory. Nothing here knows where the value lies.
#pragma once

#include <cstdint>

namespace riftjit::rdna::emulator::memory {

enum class AtomicOp : uint8_t {
    none,
    add,
    sub,
    rsub,
    sub_clamp,  // 0 instead of a negative difference (csub on gfx10)
    cond_sub,   // only where the difference is not negative
    inc,        // to the limit given, then 0
    dec,        // from the limit given, to 0 and round again
    min_signed,
    max_signed,
    min_unsigned,
    max_unsigned,
    bit_and,
    bit_or,
    bit_xor,
    mask_or,  // clears the bits of the first operand, sets those of the second
    swap,
    compare_swap,  // compares with the second operand, writes the first
    wrap,          // minus the first operand if that is not negative, else plus the second
    conditional_swap_halves,
    add_float,
    min_float,
    max_float,
    compare_swap_float,
    add_f16x2,
    add_bf16x2,
};

enum class AtomicWidth : uint8_t { b32 = 4, b64 = 8 };

// The value rounding to nearest even; denormal operands and results become zero of their sign where `flush` says.
struct AtomicDenormals {
    bool flush_f32 = false, flush_f64 = false, flush_f16 = false;
};

// The new value of the memory. For b32 the high halves are ignored, and zero in the result.
uint64_t apply(AtomicOp op, AtomicWidth width, uint64_t memory, uint64_t first, uint64_t second,
               const AtomicDenormals& denormals);

}  // namespace riftjit::rdna::emulator::memory
