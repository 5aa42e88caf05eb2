// The blocks of the IQ1, IQ2 and IQ3 types as the file holds them, taken apart into the fields that all of them have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/formats/dtype.h"

namespace riftjit::x86 {

// 256 elements. A grid row covers 8 of them (IQ1, IQ2) or 4 (IQ3).
struct GridBlock {
    uint16_t scale;                      // f16
    std::array<uint16_t, 64> rows;       // grid row numbers, in order of the elements
    std::array<uint8_t, 32> signs;       // per 8 elements: bit j negates element j; in IQ1 bit 0 lowers all of them
    std::array<uint8_t, 16> sub_scales;  // codes s of the factors 2s + 1, per 16 or 32 elements
};

using ReadGridBlock = void (*)(const std::byte* block, GridBlock& out);

// Null for a type that has no grid.
ReadGridBlock find_grid_block_reader(DType type);

}  // namespace riftjit::x86
