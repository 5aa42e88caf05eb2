// Reads the primitives of a GGUF file in order; every read is checked against the end, and failures say what was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit::models {

// What is being read, for messages: "key 'general.name'".
struct Subject {
    std::string_view what;
    std::optional<std::string_view> name;
    std::string text() const;
};

class GgufCursor {
public:
    // `head` holds the beginning of a file of `file_bytes`; `file` names it in messages.
    GgufCursor(std::string_view file, std::span<const std::byte> head, uint64_t file_bytes)
        : file_(file), head_(head), file_bytes_(file_bytes) {}

    std::string_view file() const { return file_; }
    uint64_t file_bytes() const { return file_bytes_; }
    uint64_t position() const { return position_; }
    uint64_t remaining_bytes() const { return file_bytes_ - position_; }

    template <class T>
    Result<T> read(const Subject& subject) {
        RIFTJIT_TRY(bytes, take(sizeof(T), subject));
        T value;
        std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }
    Result<std::span<const std::byte>> take(uint64_t bytes, const Subject& subject);
    Result<std::string_view> read_string(const Subject& subject);
    // Passes over `count` strings of the array `key`.
    Result<std::span<const std::byte>> take_strings(uint64_t count, std::string_view key);
    // A count of things that take at least `min_bytes` each.
    Result<uint64_t> read_count(const Subject& subject, uint64_t min_bytes, uint64_t max_count);

private:
    bool has(uint64_t bytes) const { return bytes <= head_.size() - position_; }
    bool pass_string();
    std::unexpected<Error> ends_inside(const Subject& subject) const;

    std::string_view file_;
    std::span<const std::byte> head_;
    uint64_t file_bytes_;
    uint64_t position_ = 0;
};

}  // namespace riftjit::models
