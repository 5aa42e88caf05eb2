// How weights lie in memory on RDNA, for the kernels that decode them: matmuls and lookups of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/formats/dtype.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kPanelRows = 32;  // a lane each

uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width);
// The panels [begin, end) of a row-major matrix as in a file, to where they lie in the packed matrix `out`.
void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                 uint32_t end);

}  // namespace riftjit::rdna::kernels
