#include <array>
#include <cstring>

#include "models/gguf/gguf_parser.h"

namespace riftjit::models {

namespace {

constexpr auto kTypeNames = std::to_array<std::string_view>(
    {"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"});

template <class T>
T load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

}  // namespace

std::string_view type_name(GgufType type) { return kTypeNames[static_cast<size_t>(type)]; }

uint64_t scalar_bytes(GgufType type) {
    constexpr auto kBytes = std::to_array<uint64_t>({1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8});
    return kBytes[static_cast<size_t>(type)];
}

GgufValue scalar_value(GgufType type, const std::byte* bytes) {
    switch (type) {
        case GgufType::u8:
            return uint64_t{load<uint8_t>(bytes)};
        case GgufType::i8:
            return int64_t{load<int8_t>(bytes)};
        case GgufType::u16:
            return uint64_t{load<uint16_t>(bytes)};
        case GgufType::i16:
            return int64_t{load<int16_t>(bytes)};
        case GgufType::u32:
            return uint64_t{load<uint32_t>(bytes)};
        case GgufType::i32:
            return int64_t{load<int32_t>(bytes)};
        case GgufType::u64:
            return load<uint64_t>(bytes);
        case GgufType::i64:
            return load<int64_t>(bytes);
        case GgufType::f32:
            return double{load<float>(bytes)};
        case GgufType::f64:
            return load<double>(bytes);
        case GgufType::boolean:
            return bytes[0] != std::byte{0};
        case GgufType::string:
        case GgufType::array:
            break;
    }
    check_failed("a string or an array is no scalar", std::source_location::current());
}

}  // namespace riftjit::models
