// One GGUF file's header, metadata and tensor index, checked against every rule of the format; tensor data is not read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf/gguf.h"

namespace riftjit::models {

// What may stand before the tensor data. Published vocabularies take up to 60 MB; the bound keeps a hostile file from
// making us read (and index) a terabyte of metadata.
inline constexpr uint64_t kMaxHeaderBytes = 128ull << 20;

struct GgufPart {
    uint32_t version = 0;
    std::vector<GgufEntry> entries;
    std::vector<GgufTensor> tensors;             // without data
    std::vector<uint64_t> tensor_offsets_bytes;  // from the start of the data section
    uint64_t header_bytes = 0;                   // up to the end of the index
    uint64_t data_offset_bytes = 0;
    uint64_t data_bytes = 0;  // up to the end of the last tensor
    std::vector<std::string> warnings;
};

// `head` holds the file's first min(file_bytes, kMaxHeaderBytes) bytes; entries and tensors point into it. `file` names
// the file in messages.
Result<GgufPart> parse_gguf(std::string_view file, std::span<const std::byte> head, uint64_t file_bytes);

// Bytes of a scalar of this type; 0 for strings and arrays.
uint64_t scalar_bytes(GgufType type);
// A scalar from its bytes in the file.
GgufValue scalar_value(GgufType type, const std::byte* bytes);

}  // namespace riftjit::models
