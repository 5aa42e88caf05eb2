// The load-time layout of weights on x86: panels of 16 rows, so that one vector lane is one row at every ISA level.
//
// A panel holds, field by field, what the file's blocks of its 16 rows hold: each dword of a field is stored as 16
// consecutive dwords, one per row, so that a 64-byte load gives every lane its own row's bits. Bits are rearranged
// within a block so that masks and shifts give pairs of consecutive elements in i16 (for VPDPWSSD and VPMADDWD). Rows
// beyond the last are zero. The packed size is that of the file, up to padding: a panel takes a multiple of 64 bytes
// and rows are rounded up to 16.
//
// Quantised types: a panel is a sequence of steps of 256 elements (decoder.h), and a step one of chunks: the headers of
// as many blocks as fill 64 bytes (one to four), then their bodies. Decoding is one sequential read of aligned lines,
// which hardware prefetchers follow.
//   [headers of blocks 0, 1][body of block 0][body of block 1][headers of blocks 2, 3] ...      (Q8_0)
// Where a step's headers do not fill 64 bytes (one 2-byte scale per 256 elements), the panel's headers all come first:
//   [headers of all steps, padded][body of step 0][body of step 1] ...                          (Q6_K)
// Float types: f32 and f16 [k][16 rows]; bf16 [k / 2][16 rows][2], an odd last k padded with zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/result.h"
#include "jit/formats/dtype.h"

namespace riftjit::x86 {

inline constexpr uint32_t kPanelRows = 16;

uint64_t packed_panel_bytes(DType type, uint32_t width);
inline uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) {
    return (uint64_t(rows) + kPanelRows - 1) / kPanelRows * packed_panel_bytes(type, width);
}

// Packs panels [panel_begin, panel_end) of a row-major tensor in file layout. `out` is the start of the whole packed
// tensor, 64-byte aligned. Thread safe for disjoint ranges. Reads exactly the bytes of the rows.
void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file_rows, std::byte* out,
                 uint32_t panel_begin, uint32_t panel_end);

struct DecoderTraits;

// Where the headers and bodies of a step's blocks lie, in bytes from the step's.
struct StepLayout {
    uint32_t blocks_per_step, blocks_per_chunk;
    uint32_t header_bytes, body_bytes;  // of one block of 16 rows
    bool has_separate_headers;          // at the panel's start; a chunk is then one body

    uint32_t chunk_bytes() const {
        return (has_separate_headers ? 0 : chunk_header_bytes()) + blocks_per_chunk * body_bytes;
    }
    uint32_t chunk_header_bytes() const;
    uint32_t header_position(uint32_t block) const;
    uint32_t body_position(uint32_t block) const;
    uint32_t bytes(uint32_t blocks) const;  // of a step of that many blocks, without separate headers
};
StepLayout step_layout(const DecoderTraits& traits);

// Where the steps of a quantised panel lie, in bytes from its start. Steps [0, full_steps) hold 256 elements each; if
// tail_blocks is not 0, one more step follows with that many blocks.
struct PanelLayout {
    uint32_t full_steps, tail_blocks, blocks_per_step;
    uint64_t header_offset, header_stride;  // headers of step i from header_offset + i * header_stride on
    uint64_t body_offset, body_stride;      // the rest of it from body_offset + i * body_stride on
    uint64_t panel_bytes;
};
PanelLayout panel_layout(DType type, uint32_t width);

}  // namespace riftjit::x86
