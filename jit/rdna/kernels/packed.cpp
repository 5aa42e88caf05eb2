#include "jit/rdna/kernels/packed.h"

#include <cstring>

#include "host/round_up.h"

namespace riftjit::rdna::kernels {

uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) {
    return round_up(rows, kPanelRows) * row_bytes(type, width);
}

void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                 uint32_t end) {
    const uint64_t bytes = row_bytes(type, width);
    for (uint32_t row = begin * kPanelRows; row < end * kPanelRows && row < rows; ++row)
        std::memcpy(out + row * bytes, file + row * bytes, bytes);
}

}  // namespace riftjit::rdna::kernels
