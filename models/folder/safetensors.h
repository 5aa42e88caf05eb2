// Weights in safetensors files, one or several with an index, memory-mapped. Trusts no number in the files.
// Source: the format's README and its reference reader (huggingface/safetensors, tensor.rs).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/gguf/gguf_presentation.h"

namespace riftjit::models::folder {

enum class StoredType : uint8_t {
    boolean,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    f8_e8m0,
    i16,
    u16,
    f16,
    bf16,
    i32,
    u32,
    f32,
    f64,
    i64,
    u64,
};
std::string_view name(StoredType type);
uint64_t element_bytes(StoredType type);
// An element of f16, bf16, f32 or f64.
float as_float(StoredType type, const std::byte* element);

struct StoredTensor {
    std::string name;
    StoredType type;
    std::vector<uint64_t> shape;  // the last dimension is contiguous
    std::span<const std::byte> data;
    uint64_t offset_bytes;                // in its file
    std::string place;                    // "model.safetensors: tensor 'lm_head.weight'"
    std::optional<DType> gguf_type = {};  // of data that are blocks of GGUF's already, whatever `type` says
    uint64_t width() const { return shape.empty() ? 1 : shape.back(); }
    uint64_t rows() const;  // product of all but the last dimension
};

struct Weights {
    std::vector<PresentedFile> files;
    std::vector<StoredTensor> tensors;  // in the order of the files, and in each of the data
    const StoredTensor* find(std::string_view name) const;
    std::unordered_map<std::string_view, size_t> indexes;
    std::vector<std::string> warnings;
};

// model.safetensors of the folder, or the files that model.safetensors.index.json names.
Result<Weights> read_weights(const std::filesystem::path& folder);

// The tensors of one file, of which `head` holds the first bytes (at least kMostHeaderBytes + 8, or all). `data` of the
// tensors stays empty.
inline constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the reference reader's
Result<std::vector<StoredTensor>> parse_safetensors(std::string_view file, std::span<const std::byte> head,
                                                    uint64_t file_bytes);

}  // namespace riftjit::models::folder
