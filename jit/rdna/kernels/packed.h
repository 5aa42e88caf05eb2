// How weights lie in memory on RDNA, for the kernels that decode them: matmuls and lookups of rows.
//
// A panel is 32 rows, a lane each (the last is padded with rows of zeros). Quantised types are packed in steps of 256
// elements (the last of a row may be shorter, but is whole blocks). A step of a row is a string of dwords:
//
//   codes    of b bits, split in planes of 8, 4, 2 or 1 bits, lowest bits first. A dword of a plane of p bits has
//            32 / p elements: byte i holds, p bits each, elements i, i + 4, i + 8, ... so that one shift and one mask
//            give four consecutive elements as bytes
//   digits   of TQ1_0: the bytes as in the file
//   the rest fields that several elements share, widest first, a stream of bits in the elements' order
//
// as many bytes as in the file, but that a short last step may end with a few bits of padding. Four dwords of each row
// lie side by side, 16 bytes for each lane of a load; what is left behind the last four likewise, and then the halves
// of a string that ends in the middle of a dword.
//
// f32, f16 and bf16: [16 bytes of k][row], the last padded with zeros.
//
// A matrix whose type looks rows of a grid up has that grid before its first panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/formats/dtype.h"
#include "jit/formats/weight_format.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kPanelRows = 32;
inline constexpr uint32_t kStepElements = 256;
inline constexpr uint32_t kFloatChunkBytes = 16;

constexpr bool is_float(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

// Bits of one field that lie together: a plane of codes, all digits, or all values of a shared field.
struct PackedPiece {
    uint8_t field;       // of the format
    uint8_t bits;        // of a value
    uint8_t to_bit = 0;  // of the code that they are part of
    uint32_t first_bit;  // in the string
};

struct StepLayout {
    StepLayout(const WeightFormat& format, uint32_t blocks);

    uint32_t elements, dwords;
    bool has_half;  // 16 bits behind the dwords
    std::vector<PackedPiece> planes, shared;

    uint32_t chunks() const { return dwords / 4; }
    uint32_t rest() const { return dwords % 4; }
    uint32_t chunk_offset_bytes(uint32_t chunk) const { return chunk * kPanelRows * 16; }
    uint32_t rest_offset_bytes() const { return chunk_offset_bytes(chunks()); }
    uint32_t half_offset_bytes() const { return dwords * kPanelRows * 4; }
    uint32_t bytes() const { return half_offset_bytes() + (has_half ? kPanelRows * 2 : 0); }
};

// A panel of a quantised type.
struct PanelLayout {
    PanelLayout(DType type, uint32_t width);

    uint32_t full_steps;
    StepLayout full;
    uint32_t tail_blocks;  // 0: none
    StepLayout tail;       // of tail_blocks, or of one

    uint32_t steps() const { return full_steps + (tail_blocks != 0 ? 1 : 0); }
    uint64_t bytes() const { return uint64_t(full_steps) * full.bytes() + (tail_blocks != 0 ? tail.bytes() : 0); }
};

// The grid that rows of the type name, as bytes; empty for types without.
std::vector<int8_t> grid_of(DType type);

uint64_t panel_bytes(DType type, uint32_t width);
uint64_t panels_offset_bytes(DType type);
uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width);
void pack_grid(DType type, std::byte* out);
// The panels [begin, end) of a row-major matrix as in a file, to where they lie in the packed matrix `out`.
void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                 uint32_t end);

}  // namespace riftjit::rdna::kernels
