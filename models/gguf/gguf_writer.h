// Metadata and a tensor index as a GGUF file begins with them (version 3). Source: as in gguf.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/gguf/gguf.h"

namespace riftjit::models {

struct GgufIndex {
    std::vector<std::byte> header;        // up to the first tensor's data, padded
    std::vector<uint64_t> offsets_bytes;  // of each tensor, in the file
    uint64_t file_bytes;                  // with the tensors
};

// Takes a file's bytes in their order.
using Append = std::function<Result<void>(std::span<const std::byte> bytes)>;

class GgufWriter {
public:
    // A key that was set before gets the new value in its old place.
    void set_u16(std::string_view key, uint16_t value);
    void set_u32(std::string_view key, uint32_t value);
    void set_i32(std::string_view key, int32_t value);
    void set_f32(std::string_view key, float value);
    void set_boolean(std::string_view key, bool value);
    void set_string(std::string_view key, std::string_view value);
    void set_strings(std::string_view key, std::span<const std::string> values);
    void set_i32s(std::string_view key, std::span<const int32_t> values);
    void set_f32s(std::string_view key, std::span<const float> values);
    void set_booleans(std::string_view key, std::span<const uint8_t> values);
    void copy(const GgufEntry& entry);
    bool has(std::string_view key) const { return places_.contains(std::string(key)); }

    // `ne` as in GgufTensor.
    void add_tensor(std::string_view name, DType type, std::span<const uint64_t> ne, uint64_t size_bytes);

    GgufIndex finish() const;

private:
    using Bytes = std::vector<std::byte>;
    struct Value {
        std::string key;
        Bytes bytes;  // type and value
    };
    struct Tensor {
        Bytes info;  // without the offset
        uint64_t size_bytes;
    };
    Bytes& begin(std::string_view key, GgufType type);
    Bytes& begin_array(std::string_view key, GgufType type, uint64_t count);

    std::vector<Value> values_;
    std::unordered_map<std::string, size_t> places_;
    std::vector<Tensor> tensors_;
};

}  // namespace riftjit::models
