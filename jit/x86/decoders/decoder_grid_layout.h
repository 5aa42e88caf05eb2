// Where the packed body of each IQ1, IQ2 and IQ3 type keeps its fields.
#pragma once

#include <cstdint>

#include "jit/formats/quant_grids.h"
#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

// Fields of `bits` bits, 2^log2_per_dword in each body dword from `first_dword`, `stride` apart from `first_bit`.
struct FieldArray {
    uint8_t first_dword, log2_per_dword, first_bit, stride, bits;

    constexpr uint32_t dword(uint32_t index) const { return first_dword + (index >> log2_per_dword); }
    constexpr int shift(uint32_t index) const {
        return first_bit + stride * static_cast<int>(index & ((1u << log2_per_dword) - 1));
    }
    constexpr uint32_t mask() const { return (1u << bits) - 1; }
};
inline constexpr FieldArray kNoFields{};

enum class GridSigns : uint8_t {
    parity,  // seven per eight elements; the eighth makes their number even
    all,     // eight per eight elements
    shift,   // one per `shift_rows` grid rows: the elements are 1/8 lower instead of higher
};

// The fields of a block, each of which has at most so many values. Where one sign is for all elements, it is bit 0.
struct GridFields {
    uint16_t scale;
    std::array<uint16_t, 64> rows;
    std::array<uint8_t, 32> signs;
    std::array<uint8_t, 16> sub_scales;
    uint32_t groups;  // as many sub-scales
};

// A grid row becomes fields, one per element, in a dword: see field_shift. A field is the number of the element's
// magnitude and above it, at sign_bit(), its sign.
//
// Low bits: byte low_byte(row) of dword row / 4 is the low 8 bits of the row's number in the grid.
// Signs (but GridSigns::shift): one dword per 32 elements, as eight columns of four bits. The l-th eight elements have
// bit l of every column, and the last element of each eight has column 7. So xor of columns 0 to 6 gives the four
// missing bits of GridSigns::parity at once, and column 7 is free to hold something else.
struct GridLayout {
    DType type;
    void (*read)(const std::byte* block, GridFields& fields);
    QuantGrid grid;
    uint8_t row_elements;  // 8, or 4 in IQ3
    uint8_t body_dwords;
    FieldArray high_bits;  // per grid row: what the low 8 bits of its number leave
    GridSigns signs;
    uint8_t sign_dword;  // the first
    FieldArray shifts;   // for GridSigns::shift
    uint8_t shift_rows;
    FieldArray sub_scales;  // per group
    bool has_header_bits;   // a third bit of sub-scales, bit g of the second header field for group g

    constexpr uint32_t rows() const { return kStepElements / row_elements; }
    static constexpr uint32_t low_byte(uint32_t row) { return (row & 1) << 1 | (row >> 1 & 1); }  // 0, 2, 1, 3
    constexpr int sign_bit() const { return row_elements == 8 ? 2 : 3; }
    constexpr int field_shift(uint32_t element) const {
        return 4 * static_cast<int>(element / 4) + 8 * static_cast<int>(element / 2 % 2) +
               16 * static_cast<int>(element % 2);
    }
};

// Null for a type that has no grid.
const GridLayout* find_grid_layout(DType type);

void pack_grid_block(const GridLayout& layout, const std::byte* block, PackedBlock& packed);

}  // namespace riftjit::x86
