// Constant tables of the GGUF formats: the grids of the IQ1, IQ2 and IQ3 types and the 4-bit codebooks.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace riftjit {

enum class QuantGrid : uint8_t { iq2xxs, iq2xs, iq2s, iq3xxs, iq3s, iq1s };

// A grid as it is stored: one word per row; entry i of the row is values[(word >> (bits * i)) & (2^bits - 1)].
struct PackedGrid {
    std::span<const uint16_t> rows;
    std::span<const int8_t> values;
    uint8_t columns;  // 8, or 4 in the IQ3 types
    uint8_t bits;     // 2, or 3 in the IQ3 types
};
const PackedGrid& packed_grid(QuantGrid grid);

// The same grid as bytes, [rows][columns]. Expanded on first use, by any thread; valid forever.
std::span<const int8_t> grid_bytes(QuantGrid grid);

// IQ4_NL and IQ4_XS.
inline constexpr std::array<int8_t, 16> kNonlinearCodebook = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                              1,    13,   25,  38,  53,  69,  89,  113};
// MXFP4 and NVFP4: twice the value of an E2M1 code, so that all are integers.
inline constexpr std::array<int8_t, 16> kFp4Codebook = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Eight sign bits of a seven-bit sign code: the last makes the number of set bits even.
constexpr uint8_t expand_sign_code(uint32_t code) {
    return static_cast<uint8_t>(code | static_cast<uint32_t>(std::popcount(code) & 1) << 7);
}

}  // namespace riftjit
