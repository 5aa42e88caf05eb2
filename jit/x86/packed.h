// The load-time layout of weights on x86: panels of 16 rows, so that one vector lane is one row at every ISA level.
//
// A panel holds, field by field ("planes"), what the file's blocks of its 16 rows hold: each dword of a field is
// stored as 16 consecutive dwords, one per row, so that a 64-byte load gives every lane its own row's bits. Bits are
// rearranged within a block so that masks and shifts give pairs of consecutive elements in i16 (for VPDPWSSD and
// VPMADDWD). Rows beyond the last are zero. The packed size is that of the file, up to padding: planes start on 64
// bytes and rows are rounded up to 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "jit/dtype.h"
#include "jit/result.h"

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

}  // namespace riftjit::x86
