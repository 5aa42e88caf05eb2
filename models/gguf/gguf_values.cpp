// Typed access to metadata.
#include <cstring>

#include "models/gguf/gguf_parser.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

std::unexpected<Error> wrong_type(const Gguf& file, const GgufEntry& entry, std::string_view expected) {
    if (entry.type == GgufType::array)
        return fail(ErrorKind::Format, "{}: expected scalar, found array for key: {} (expected type {})",
                    file.place_of(entry), printable(entry.key), expected);
    return fail(ErrorKind::Format, "{}: key {} has wrong type {} but expected type {}", file.place_of(entry),
                printable(entry.key), type_name(entry.type), expected);
}

std::unexpected<Error> wrong_array(const Gguf& file, const GgufEntry& entry, std::string_view expected) {
    const auto* array = std::get_if<GgufArray>(&entry.value);
    const std::string found =
        array ? fmt::format("array of {}", type_name(array->element_type)) : std::string(type_name(entry.type));
    return fail(ErrorKind::Format, "{}: key {} has wrong type {} but expected type array of {}", file.place_of(entry),
                printable(entry.key), found, expected);
}

bool is_integer(GgufType type) {
    using enum GgufType;
    return type == u8 || type == i8 || type == u16 || type == i16 || type == u32 || type == i32 || type == u64 ||
           type == i64;
}

double to_double(const GgufValue& value) {
    if (const auto* number = std::get_if<uint64_t>(&value)) return static_cast<double>(*number);
    if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
    return std::get<double>(value);
}

}  // namespace

std::unexpected<Error> missing_key(const Gguf& file, std::string_view key) {
    return fail(ErrorKind::Format, "{}: missing key {} (key not found in model: {})", printable_path(file.path()),
                printable(key), printable(key));
}

GgufValue element(const GgufArray& array, uint64_t index) {
    check(index < array.count && scalar_bytes(array.element_type) != 0, "an element of an array of scalars");
    return scalar_value(array.element_type, array.bytes.data() + index * scalar_bytes(array.element_type));
}

Result<std::optional<uint64_t>> Gguf::integer(std::string_view key, uint64_t low, uint64_t high) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    if (!is_integer(entry->type)) return wrong_type(*this, *entry, "integer");
    const auto* negative = std::get_if<int64_t>(&entry->value);
    if (negative != nullptr && *negative < 0)
        return fail(ErrorKind::Format, "{} is {}; allowed are {} to {}", place_of(*entry), *negative, low, high);
    const uint64_t value = negative != nullptr ? static_cast<uint64_t>(*negative) : std::get<uint64_t>(entry->value);
    if (value < low || value > high)
        return fail(ErrorKind::Format, "{} is {}; allowed are {} to {}", place_of(*entry), value, low, high);
    return value;
}

Result<uint64_t> Gguf::require_integer(std::string_view key, uint64_t low, uint64_t high) const {
    RIFTJIT_TRY(value, integer(key, low, high));
    if (!value) return missing_key(*this, key);
    return *value;
}

Result<std::optional<double>> Gguf::number(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    if (!is_integer(entry->type) && entry->type != GgufType::f32 && entry->type != GgufType::f64)
        return wrong_type(*this, *entry, "f32");
    return to_double(entry->value);
}

Result<std::optional<bool>> Gguf::boolean(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->type != GgufType::boolean) return wrong_type(*this, *entry, "bool");
    return std::get<bool>(entry->value);
}

Result<std::optional<std::string_view>> Gguf::string(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->type != GgufType::string) return wrong_type(*this, *entry, "string");
    return std::get<std::string_view>(entry->value);
}

Result<std::string_view> Gguf::require_string(std::string_view key) const {
    RIFTJIT_TRY(value, string(key));
    if (!value) return missing_key(*this, key);
    return *value;
}

Result<std::optional<std::vector<std::string_view>>> Gguf::strings(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    const auto* array = std::get_if<GgufArray>(&entry->value);
    if (array == nullptr || array->element_type != GgufType::string) return wrong_array(*this, *entry, "string");
    std::vector<std::string_view> texts;
    texts.reserve(array->count);
    std::span<const std::byte> rest = array->bytes;
    for (uint64_t i = 0; i < array->count; ++i) {
        uint64_t length = 0;
        const bool has_length = rest.size() >= sizeof length;
        if (has_length) std::memcpy(&length, rest.data(), sizeof length);
        // The parser has walked the same strings, but the file is shared with whoever may write it.
        if (!has_length || length > rest.size() - sizeof length)
            return fail(ErrorKind::Io, "{}: string {} has changed while the file was in use", place_of(*entry), i);
        texts.emplace_back(reinterpret_cast<const char*>(rest.data() + sizeof length), length);
        rest = rest.subspan(sizeof length + length);
    }
    return texts;
}

Result<std::optional<std::vector<double>>> Gguf::numbers(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    const auto* array = std::get_if<GgufArray>(&entry->value);
    if (array == nullptr || array->element_type == GgufType::string || array->element_type == GgufType::boolean)
        return wrong_array(*this, *entry, "f32");
    std::vector<double> values;
    values.reserve(array->count);
    for (uint64_t i = 0; i < array->count; ++i) values.push_back(to_double(element(*array, i)));
    return values;
}

Result<std::optional<std::vector<int64_t>>> Gguf::integers(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    const auto* array = std::get_if<GgufArray>(&entry->value);
    if (array == nullptr || !(is_integer(array->element_type) || array->element_type == GgufType::boolean))
        return wrong_array(*this, *entry, "i32");
    std::vector<int64_t> values;
    values.reserve(array->count);
    for (uint64_t i = 0; i < array->count; ++i) {
        const GgufValue value = element(*array, i);
        if (const auto* flag = std::get_if<bool>(&value)) {
            values.push_back(*flag ? 1 : 0);
        } else if (const auto* number = std::get_if<int64_t>(&value)) {
            values.push_back(*number);
        } else if (const uint64_t large = std::get<uint64_t>(value); large <= INT64_MAX) {
            values.push_back(static_cast<int64_t>(large));
        } else {
            return fail(ErrorKind::Format, "{}: element {} is {}; allowed are at most {}", place_of(*entry), i, large,
                        INT64_MAX);
        }
    }
    return values;
}

}  // namespace riftjit::models
