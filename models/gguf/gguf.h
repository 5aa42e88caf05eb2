// Reads GGUF v2 and v3 files, single or split, memory-mapped. Trusts no number in the file.
// Source: the GGUF specification (ggml/docs/gguf.md).
//
// Messages read "FILE: THING (at byte N): what was found, what is allowed". If a mapped file is truncated while in use,
// the program prints which file and ends with code 1: opening a file installs a SIGBUS handler (gguf_mapping.cpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/result.h"
#include "jit/formats/dtype.h"

namespace riftjit::models {

// Strings and arrays stay in the mapping: nothing is copied while a vocabulary is only being looked at.
struct GgufArray;
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray>;
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
struct GgufArray {
    GgufType element_type;
    uint64_t count;
    std::span<const std::byte> bytes;  // elements as in the file
};
struct GgufEntry {
    std::string_view key;
    GgufType type;
    GgufValue value;
    uint64_t offset_bytes;
};

struct GgufTensor {
    std::string_view name;
    DType type;
    std::vector<uint64_t> ne;  // ne[0] contiguous; 0 to 4 entries
    uint64_t size_bytes;
    std::span<const std::byte> data;  // in the mapping of its part
    uint64_t info_offset_bytes;       // in its part: of the index entry, for messages
    uint64_t data_offset_bytes;       // in its part: of the data
    uint64_t width() const { return ne.empty() ? 1 : ne[0]; }
    uint64_t rows() const;  // product of ne[1..]
};

struct GgufPresentation;  // gguf_presentation.h

class Gguf {
public:
    // Opens every part of a split set. Every check of the parser has passed when this succeeds.
    static Result<Gguf> open(const std::filesystem::path& path);
    // What is stored otherwise, as if a GGUF file told it; the parser checks that, too.
    static Result<Gguf> present(GgufPresentation presentation);

    const std::filesystem::path& path() const;
    std::vector<std::filesystem::path> paths() const;  // of all parts
    uint32_t version() const;
    std::string_view format() const;              // "GGUF", or what is presented as such
    uint64_t file_bytes() const;                  // all parts
    std::span<const GgufEntry> entries() const;   // in file order
    std::span<const GgufTensor> tensors() const;  // in file order, parts in order
    const GgufTensor* find_tensor(std::string_view name) const;
    size_t part_count() const;  // files of a split set; 1 for what is presented
    size_t part_of(const GgufTensor& tensor) const;
    const GgufEntry* find(std::string_view key) const;
    std::span<const std::string> warnings() const;  // oddities that were accepted, one line each

    // Typed access. Any integer type serves an integer. A wrong type, or a value outside [low, high], is an error that
    // names key, value and range; an absent key is an error only in the require_ forms.
    Result<std::optional<uint64_t>> integer(std::string_view key, uint64_t low, uint64_t high) const;
    Result<uint64_t> require_integer(std::string_view key, uint64_t low, uint64_t high) const;
    Result<std::optional<double>> number(std::string_view key) const;
    Result<std::optional<bool>> boolean(std::string_view key) const;
    Result<std::optional<std::string_view>> string(std::string_view key) const;
    Result<std::string_view> require_string(std::string_view key) const;
    Result<std::optional<std::vector<std::string_view>>> strings(std::string_view key) const;
    Result<std::optional<std::vector<double>>> numbers(std::string_view key) const;    // any numeric array
    Result<std::optional<std::vector<int64_t>>> integers(std::string_view key) const;  // any integer array

    // "model.gguf: tensor 'blk.0.attn_q.weight' (info at byte 81234)", "model.gguf: key 'x' (at byte 40)": how messages
    // about this file begin.
    std::string place_of(const GgufTensor& tensor) const;
    std::string place_of(const GgufEntry& entry) const;

    // Tells the kernel that the pages of `range` are no longer needed here (after packing).
    void drop_pages(std::span<const std::byte> range) const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

// "missing key K (key not found in model: K)"
std::unexpected<Error> missing_key(const Gguf& file, std::string_view key);

std::string_view type_name(GgufType type);
GgufValue element(const GgufArray& array, uint64_t index);  // of an array of scalars, not of strings

// Unprintable bytes as \xNN, cut at 64 characters: for names from files in messages.
std::string printable(std::string_view text);

}  // namespace riftjit::models
