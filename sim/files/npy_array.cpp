#include "sim/files/npy_array.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "host/little_endian.h"

namespace riftjit::sim {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kPreambleBytes = 10;  // magic, version, header length

// The value after 'key': in a header, which is the text of a Python dictionary that NumPy wrote.
std::string_view value_of(std::string_view header, std::string_view key) {
    const size_t start = header.find(fmt::format("'{}':", key));
    if (start == std::string_view::npos) return {};
    std::string_view value = header.substr(start + key.size() + 3);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
}

std::optional<std::vector<uint64_t>> parse_shape(std::string_view text) {
    std::vector<uint64_t> shape;
    if (!text.starts_with('(') || text.find(')') == std::string_view::npos) return std::nullopt;
    text = text.substr(1, text.find(')') - 1);
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
        if (text.empty()) return shape;
        uint64_t extent = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
        if (error != std::errc{}) return std::nullopt;
        shape.push_back(extent);
        text.remove_prefix(size_t(rest - text.data()));
    }
}

// The header's text and where the elements start.
Result<std::pair<std::string_view, size_t>> locate_header(std::string_view bytes) {
    const auto raw = std::as_bytes(std::span(bytes));
    if (bytes.size() < kPreambleBytes + 2 || !bytes.starts_with(kNpyMagic))
        return fail(ErrorKind::Format, "no .npy array");
    const bool is_version_1 = bytes[6] == 1;
    const size_t start = is_version_1 ? kPreambleBytes : kPreambleBytes + 2;
    const size_t length = is_version_1 ? get_little_endian<uint16_t>(raw, 8) : get_little_endian<uint32_t>(raw, 8);
    if (length > bytes.size() - start)
        return fail(ErrorKind::Format, "a header of {} bytes, {} are left", length, bytes.size() - start);
    return std::pair(bytes.substr(start, length), start + length);
}

// A signed element wraps to a value that is too large.
uint64_t element(std::string_view bytes, size_t item_bytes, bool is_signed) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), item_bytes);
    const int shift = 64 - 8 * int(item_bytes);
    return is_signed ? uint64_t(int64_t(value << shift) >> shift) : value;
}

}  // namespace

std::string npy_header(std::string_view descr, const std::vector<uint64_t>& shape) {
    std::string extents = fmt::format("{}", fmt::join(shape, ", "));
    if (shape.size() == 1) extents += ",";
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
    while ((kPreambleBytes + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    const size_t length = header.size();
    check(length <= UINT16_MAX, "a header of three axes is short");
    return std::string(kNpyMagic) + std::string("\x01\x00", 2) + char(length & 0xFF) + char(length >> 8) + header;
}

Result<NpyArray> parse_npy(std::string_view bytes) {
    RIFTJIT_TRY(header, locate_header(bytes));
    std::string_view descr = value_of(header.first, "descr");
    const auto shape = parse_shape(value_of(header.first, "shape"));
    if (descr.size() < 4 || descr[0] != '\'' || !shape)
        return fail(ErrorKind::Format, "its header is not NumPy's: {}", header.first.substr(0, 80));
    descr = descr.substr(1, descr.find('\'', 1) - 1);
    NpyArray array{descr.size() > 1 ? descr[1] : '\0', 0, *shape, bytes.substr(header.second)};
    const bool is_plain =
        descr.size() > 2 && (descr[0] == '<' || descr[0] == '|') &&
        std::from_chars(descr.data() + 2, descr.data() + descr.size(), array.item_bytes).ec == std::errc{} &&
        array.item_bytes > 0 && value_of(header.first, "fortran_order").starts_with("False");
    if (!is_plain) return fail(ErrorKind::Unsupported, "type '{}' or Fortran order", descr);
    uint64_t left = array.elements.size() / array.item_bytes;
    uint64_t count = 1;
    for (const uint64_t extent : array.shape) {
        if (extent != 0 && count > left / extent)
            return fail(ErrorKind::Format, "shape ({}) of {} bytes each, but {} bytes", fmt::join(array.shape, ", "),
                        array.item_bytes, array.elements.size());
        count *= extent;
    }
    array.elements = array.elements.substr(0, count * array.item_bytes);
    return array;
}

Result<std::vector<uint32_t>> to_u32(const NpyArray& array) {
    if ((array.kind != 'u' && array.kind != 'i') || array.item_bytes > 8 || array.shape.size() != 1)
        return fail(ErrorKind::Unsupported, "type '{}{}' and {} axes; one axis of integers is read", array.kind,
                    array.item_bytes, array.shape.size());
    std::vector<uint32_t> values(array.size());
    for (size_t i = 0; i < values.size(); ++i) {
        const uint64_t value =
            element(array.elements.substr(i * array.item_bytes), array.item_bytes, array.kind == 'i');
        if (value > UINT32_MAX) return fail(ErrorKind::Format, "element {} is not within 0 and {}", i, UINT32_MAX);
        values[i] = static_cast<uint32_t>(value);
    }
    return values;
}

}  // namespace riftjit::sim
