#include "models/gguf/gguf_writer.h"

#include <bit>

#include "host/round_up.h"

namespace riftjit::models {

namespace {

constexpr uint32_t kWrittenVersion = 3;
constexpr uint64_t kWrittenAlignment = 32;  // what readers take where no key says otherwise

void append_bytes_of(std::vector<std::byte>& bytes, const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
}

template <class T>
void append_value(std::vector<std::byte>& bytes, T value) {
    append_bytes_of(bytes, &value, sizeof value);
}

void append_text(std::vector<std::byte>& bytes, std::string_view text) {
    append_value(bytes, uint64_t{text.size()});
    append_bytes_of(bytes, text.data(), text.size());
}

}  // namespace

std::vector<std::byte>& GgufWriter::begin(std::string_view key, GgufType type) {
    const auto [place, is_new] = places_.emplace(key, values_.size());
    if (is_new) values_.push_back({std::string(key), {}});
    Bytes& bytes = values_[place->second].bytes;
    bytes.clear();
    append_value(bytes, static_cast<uint32_t>(type));
    return bytes;
}

std::vector<std::byte>& GgufWriter::begin_array(std::string_view key, GgufType type, uint64_t count) {
    Bytes& bytes = begin(key, GgufType::array);
    append_value(bytes, static_cast<uint32_t>(type));
    append_value(bytes, count);
    return bytes;
}

void GgufWriter::set_u16(std::string_view key, uint16_t value) { append_value(begin(key, GgufType::u16), value); }
void GgufWriter::set_u32(std::string_view key, uint32_t value) { append_value(begin(key, GgufType::u32), value); }
void GgufWriter::set_i32(std::string_view key, int32_t value) { append_value(begin(key, GgufType::i32), value); }
void GgufWriter::set_f32(std::string_view key, float value) { append_value(begin(key, GgufType::f32), value); }
void GgufWriter::set_boolean(std::string_view key, bool value) {
    append_value(begin(key, GgufType::boolean), static_cast<uint8_t>(value));
}
void GgufWriter::set_string(std::string_view key, std::string_view value) {
    append_text(begin(key, GgufType::string), value);
}
void GgufWriter::set_strings(std::string_view key, std::span<const std::string> values) {
    Bytes& bytes = begin_array(key, GgufType::string, values.size());
    for (const std::string& value : values) append_text(bytes, value);
}
void GgufWriter::set_i32s(std::string_view key, std::span<const int32_t> values) {
    append_bytes_of(begin_array(key, GgufType::i32, values.size()), values.data(), values.size_bytes());
}
void GgufWriter::set_f32s(std::string_view key, std::span<const float> values) {
    append_bytes_of(begin_array(key, GgufType::f32, values.size()), values.data(), values.size_bytes());
}
void GgufWriter::set_booleans(std::string_view key, std::span<const uint8_t> values) {
    append_bytes_of(begin_array(key, GgufType::boolean, values.size()), values.data(), values.size_bytes());
}

void GgufWriter::copy(const GgufEntry& entry) {
    if (const auto* array = std::get_if<GgufArray>(&entry.value)) {
        append_bytes_of(begin_array(entry.key, array->element_type, array->count), array->bytes.data(),
                        array->bytes.size());
        return;
    }
    if (const auto* text = std::get_if<std::string_view>(&entry.value)) return set_string(entry.key, *text);
    Bytes& bytes = begin(entry.key, entry.type);
    switch (entry.type) {
        case GgufType::f32:
            return append_value(bytes, static_cast<float>(std::get<double>(entry.value)));
        case GgufType::f64:
            return append_value(bytes, std::get<double>(entry.value));
        case GgufType::boolean:
            return append_value(bytes, static_cast<uint8_t>(std::get<bool>(entry.value)));
        case GgufType::u64:
            return append_value(bytes, std::get<uint64_t>(entry.value));
        case GgufType::u32:
            return append_value(bytes, static_cast<uint32_t>(std::get<uint64_t>(entry.value)));
        case GgufType::u16:
            return append_value(bytes, static_cast<uint16_t>(std::get<uint64_t>(entry.value)));
        case GgufType::u8:
            return append_value(bytes, static_cast<uint8_t>(std::get<uint64_t>(entry.value)));
        case GgufType::i64:
            return append_value(bytes, std::get<int64_t>(entry.value));
        case GgufType::i32:
            return append_value(bytes, static_cast<int32_t>(std::get<int64_t>(entry.value)));
        case GgufType::i16:
            return append_value(bytes, static_cast<int16_t>(std::get<int64_t>(entry.value)));
        case GgufType::i8:
            return append_value(bytes, static_cast<int8_t>(std::get<int64_t>(entry.value)));
        case GgufType::string:
        case GgufType::array:
            break;
    }
    check_failed("a value of a type that its entry does not say", std::source_location::current());
}

void GgufWriter::add_tensor(std::string_view name, DType type, std::span<const uint64_t> ne, uint64_t size_bytes) {
    Tensor tensor{{}, size_bytes};
    append_text(tensor.info, name);
    append_value(tensor.info, static_cast<uint32_t>(ne.size()));
    append_bytes_of(tensor.info, ne.data(), ne.size_bytes());
    append_value(tensor.info, static_cast<uint32_t>(type));
    tensors_.push_back(std::move(tensor));
}

GgufIndex GgufWriter::finish() const {
    GgufIndex index;
    append_bytes_of(index.header, "GGUF", 4);
    append_value(index.header, kWrittenVersion);
    append_value(index.header, uint64_t{tensors_.size()});
    append_value(index.header, uint64_t{values_.size()});
    for (const Value& value : values_) {
        append_text(index.header, value.key);
        append_bytes_of(index.header, value.bytes.data(), value.bytes.size());
    }
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        append_bytes_of(index.header, tensor.info.data(), tensor.info.size());
        append_value(index.header, offset);
        index.offsets_bytes.push_back(offset);
        offset += round_up(tensor.size_bytes, kWrittenAlignment);
    }
    index.header.resize(round_up(index.header.size(), kWrittenAlignment));
    for (uint64_t& each : index.offsets_bytes) each += index.header.size();
    index.file_bytes = index.header.size() + offset;
    return index;
}

}  // namespace riftjit::models
