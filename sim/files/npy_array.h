// NumPy .npy arrays in memory: header and elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::sim {

// Preamble and header of format version 1.0 for a C-ordered array; its elements follow it.
std::string npy_header(std::string_view descr, const std::vector<uint64_t>& shape);

struct NpyArray {
    char kind;  // NumPy's: i, u, f, S, …
    uint32_t item_bytes;
    std::vector<uint64_t> shape;
    std::string_view elements;  // of the bytes parsed; exactly shape × item_bytes

    uint64_t size() const { return elements.size() / item_bytes; }
};
// Little-endian, C order, elements whole. `bytes` must outlive the array.
Result<NpyArray> parse_npy(std::string_view bytes);
// Signed and unsigned integers of any width whose values fit.
Result<std::vector<uint32_t>> to_u32(const NpyArray& array);

}  // namespace riftjit::sim
