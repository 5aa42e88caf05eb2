// A saved simulation as bytes: magic, version, identity, payload, XXH3 of all before. Little-endian.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "host/pages.h"
#include "host/result.h"

namespace riftjit::sim {

// What must agree before a saved state means anything here.
struct CheckpointIdentity {
    uint64_t network_hash, seed;
    uint32_t precision, step;  // step: not compared
};

// Writes to PATH.part, which takes PATH's place when finish() has synced it.
class CheckpointWriter {
public:
    static Result<CheckpointWriter> create(const std::string& path, const CheckpointIdentity& identity);
    CheckpointWriter(CheckpointWriter&&) noexcept;
    ~CheckpointWriter();  // removes what was not finished

    void bytes(const void* data, uint64_t size);
    template <class T>
    void value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
        bytes(&value, sizeof value);
    }
    template <class T>
    void array(std::span<const T> values) {
        value(uint64_t(values.size()));
        bytes(values.data(), values.size_bytes());
    }
    Result<void> finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    explicit CheckpointWriter(std::unique_ptr<Impl> impl);
};

// Reads the whole file, and refuses it unless every byte is as written and it belongs to `expected`.
class CheckpointReader {
public:
    static Result<CheckpointReader> open(const std::string& path, const CheckpointIdentity& expected);

    uint32_t step() const { return step_; }
    // Each fails once the payload is used up; what was read before stays valid as long as the reader.
    Result<const std::byte*> bytes(uint64_t size);
    template <class T>
    Result<T> value() {
        static_assert(std::is_trivially_copyable_v<T>);
        RIFTJIT_TRY(data, bytes(sizeof(T)));
        T value;
        std::memcpy(&value, data, sizeof value);
        return value;
    }
    // Of elements of `element_bytes`, as array() wrote them.
    struct Array {
        const std::byte* data;
        uint64_t count;
        template <class T>
        T at(uint64_t i) const {
            T value;
            std::memcpy(&value, data + i * sizeof(T), sizeof value);
            return value;
        }
    };
    Result<Array> array(uint64_t element_bytes);
    Result<void> expect_end() const;
    // "PATH: WHY": a file that is whole and yet says something impossible.
    std::unexpected<Error> refuse(const std::string& why) const;

private:
    std::string path_;
    Pages memory_;
    uint64_t position_ = 0, end_ = 0;
    uint32_t step_ = 0;
};

}  // namespace riftjit::sim
