// Values of a code object's metadata, whatever wrote them: MsgPack in the object, YAML in assembly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/result.h"

namespace riftjit::rdna {

struct MetadataMember;

struct MetadataValue {
    using Array = std::vector<MetadataValue>;
    using Map = std::vector<MetadataMember>;  // each key once

    // Numbers below zero are int64_t, all others uint64_t.
    std::variant<std::monostate, bool, uint64_t, int64_t, double, std::string, Array, Map> data;
    size_t line = 0, column = 0;                      // where it stands in a file of assembly; 0 in an object
    std::optional<std::string> plain = std::nullopt;  // of a scalar without quotes: its text, whatever it stands for

    template <class T>
    const T* get() const {
        return std::get_if<T>(&data);
    }
    bool operator==(const MetadataValue& other) const;  // wherever they stand
};

struct MetadataMember {
    std::string key;
    MetadataValue value;

    bool operator==(const MetadataMember&) const = default;
};

inline bool MetadataValue::operator==(const MetadataValue& other) const { return data == other.data; }

inline constexpr int kMaxMetadataDepth = 16;  // kernels' metadata is five deep

std::vector<std::byte> pack_metadata(const MetadataValue& value);
// An error for bytes that are not one value, and for what YAML cannot say: binary, extensions, keys that are no
// strings.
Result<MetadataValue> unpack_metadata(std::span<const std::byte> bytes);

}  // namespace riftjit::rdna
