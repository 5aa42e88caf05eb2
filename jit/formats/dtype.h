// Element types of tensors, numbered as GGUF numbers them, and their block shapes; and one that caches alone have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace riftjit {

// Values are the type ids of the GGUF specification (gguf: ggml_type).
enum class DType : uint8_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
    RQ4 = 240,  // no file has it: formats/cache_format.h
};

struct DTypeTraits {
    DType type;
    std::string_view name;    // lower case, as in file names and kernel names: "q4_k"
    uint16_t block_elements;  // elements per block along the contiguous axis
    uint16_t block_bytes;
    bool is_weight;  // matmul and embedding kernels exist for it (28 types)
};

const DTypeTraits& traits(DType type);
std::optional<DType> dtype_from_id(uint32_t ggml_id);  // nullopt: unknown or removed id
std::optional<DType> dtype_from_name(std::string_view name);
std::span<const DTypeTraits> all_dtypes();

inline std::string_view name(DType type) { return traits(type).name; }
inline bool is_quantized(DType type) { return traits(type).block_elements > 1; }

// Bytes of one row of `width` elements; width must be a multiple of the block.
inline uint64_t row_bytes(DType type, uint64_t width) {
    return width / traits(type).block_elements * traits(type).block_bytes;
}

}  // namespace riftjit
