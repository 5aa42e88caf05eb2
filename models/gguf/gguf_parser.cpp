#include "models/gguf/gguf_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "models/gguf/gguf_cursor.h"
#include "models/gguf/gguf_layout.h"
#include "models/gguf/gguf_lookalike.h"

namespace riftjit::models {

namespace {

// Limits of the format's reference reader (ggml: gguf.cpp).
constexpr uint64_t kMaxArrayElements = 1ull << 30;
constexpr uint64_t kMaxTensorNameBytes = 63;
constexpr uint32_t kMaxDimensions = 4;
constexpr uint64_t kMaxElements = std::numeric_limits<int64_t>::max();
constexpr uint64_t kDefaultAlignment = 32;
// Limits of ours, that no real file comes near.
constexpr uint64_t kMaxTensors = 1ull << 17;
constexpr uint64_t kMaxEntries = 1ull << 16;
// Smallest encodings: key length, one character, type, one byte; name length, dimension count, type, offset.
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorInfoBytes = 8 + 4 + 4 + 8;

class Parser {
public:
    explicit Parser(const GgufCursor& cursor) : cursor_(cursor), file_(cursor.file()) {}

    Result<GgufPart> run(std::span<const std::byte> head) {
        RIFTJIT_TRY_VOID(read_magic(head));
        RIFTJIT_TRY_VOID(read_version());
        RIFTJIT_TRY(tensor_count, cursor_.read_count({"tensor count"}, kMinTensorInfoBytes, kMaxTensors));
        RIFTJIT_TRY(entry_count, cursor_.read_count({"key-value count"}, kMinEntryBytes, kMaxEntries));
        for (uint64_t i = 0; i < entry_count; ++i) RIFTJIT_TRY_VOID(read_entry());
        RIFTJIT_TRY_VOID(read_alignment());
        for (uint64_t i = 0; i < tensor_count; ++i) RIFTJIT_TRY_VOID(read_tensor_info());
        part_.header_bytes = cursor_.position();
        RIFTJIT_TRY_VOID(place_tensors(part_, alignment_, file_, cursor_.file_bytes()));
        return std::move(part_);
    }

private:
    // ---- header ----

    Result<void> read_magic(std::span<const std::byte> head) {
        constexpr std::string_view kMagic = "GGUF";
        if (head.empty()) return fail(ErrorKind::Format, "{}: the file is empty (0 bytes)", file_);
        const std::span first = head.first(std::min<size_t>(head.size(), kMagic.size()));
        if (std::memcmp(first.data(), kMagic.data(), first.size()) == 0) {
            RIFTJIT_TRY_VOID(cursor_.take(kMagic.size(), {"the magic characters"}));
            return {};
        }
        std::string hex;
        for (const std::byte value : first) hex += fmt::format("{:02x} ", static_cast<unsigned>(value));
        const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
        const std::string lookalike = describe_lookalike(head);
        return fail(ErrorKind::Format,
                    "{}: invalid magic characters: the file begins with {}(\"{}\"), a GGUF file with 47 47 55 46 "
                    "(\"GGUF\"){}{}",
                    file_, hex, printable(text), lookalike.empty() ? "" : "; ", lookalike);
    }

    Result<void> read_version() {
        const uint64_t start = cursor_.position();
        RIFTJIT_TRY(version, cursor_.read<uint32_t>({"version"}));
        if (version == 1)
            return fail(ErrorKind::Unsupported,
                        "{}: version (at byte {}) is 1: GGUFv1 is no longer supported; this build reads 2 and 3", file_,
                        start);
        if (version != 0 && (version & 0xffff) == 0)
            return fail(ErrorKind::Unsupported,
                        "{}: this is a big-endian file: version (at byte {}) {:#010x} is extremely large, is there a "
                        "mismatch between the host and model endianness? This build reads little-endian files",
                        file_, start, version);
        if (version != 2 && version != 3)
            return fail(ErrorKind::Unsupported, "{}: version (at byte {}) is {}; this build reads 2 and 3", file_,
                        start, version);
        part_.version = version;
        return {};
    }

    // ---- metadata ----

    Result<void> read_entry() {
        const uint64_t start = cursor_.position();
        RIFTJIT_TRY(key, cursor_.read_string({"key"}));
        if (key.empty()) return fail(ErrorKind::Format, "{}: key (at byte {}) is empty", file_, start);
        const auto [found, is_new] = key_offsets_.emplace(key, start);
        if (!is_new)
            return fail(ErrorKind::Format, "{}: key '{}' (at byte {}) is duplicated; it first stands at byte {}", file_,
                        printable(key), start, found->second);
        RIFTJIT_TRY(type, read_type({"value type of key", key}));
        RIFTJIT_TRY(value, read_value(key, type));
        part_.entries.push_back({key, type, value, start});
        return {};
    }

    Result<GgufType> read_type(const Subject& subject) {
        const uint64_t start = cursor_.position();
        RIFTJIT_TRY(id, cursor_.read<uint32_t>(subject));
        if (id > static_cast<uint32_t>(GgufType::f64))
            return fail(ErrorKind::Format, "{}: {} (at byte {}) is {}; allowed are 0 to {}", file_, subject.text(),
                        start, id, static_cast<uint32_t>(GgufType::f64));
        return static_cast<GgufType>(id);
    }

    Result<GgufValue> read_value(std::string_view key, GgufType type) {
        if (type == GgufType::array) return read_array(key);
        if (type == GgufType::string) {
            RIFTJIT_TRY(text, cursor_.read_string({"value of key", key}));
            return text;
        }
        RIFTJIT_TRY(bytes, cursor_.take(scalar_bytes(type), {"value of key", key}));
        if (type == GgufType::boolean) warn_of_odd_booleans(key, bytes);
        return scalar_value(type, bytes.data());
    }

    Result<GgufValue> read_array(std::string_view key) {
        const uint64_t start = cursor_.position();
        RIFTJIT_TRY(element_type, read_type({"array element type of key", key}));
        if (element_type == GgufType::array)
            return fail(ErrorKind::Unsupported, "{}: key '{}': value (at byte {}) is an array of arrays: unsupported",
                        file_, printable(key), start);
        RIFTJIT_TRY(count, cursor_.read<uint64_t>({"array length of key", key}));
        const bool is_strings = element_type == GgufType::string;
        const uint64_t min_bytes = is_strings ? sizeof(uint64_t) : scalar_bytes(element_type);
        const uint64_t max_count = std::min(cursor_.remaining_bytes() / min_bytes, kMaxArrayElements);
        if (count > max_count)
            return fail(
                ErrorKind::Format,
                "{}: array length {} for key '{}' (at byte {}) exceeds max {}: each {} takes at least {} of the "
                "{} bytes remaining; file ends at byte {} inside it; if it was cut off, download it again",
                file_, count, printable(key), start + sizeof(uint32_t), max_count, type_name(element_type), min_bytes,
                cursor_.remaining_bytes(), cursor_.file_bytes());
        RIFTJIT_TRY(bytes, is_strings ? cursor_.take_strings(count, key)
                                      : cursor_.take(count * min_bytes, {"array of key", key}));
        if (element_type == GgufType::boolean) warn_of_odd_booleans(key, bytes);
        return GgufArray{element_type, count, bytes};
    }

    void warn_of_odd_booleans(std::string_view key, std::span<const std::byte> bytes) {
        const auto odd = std::ranges::find_if(bytes, [](std::byte value) { return value > std::byte{1}; });
        if (odd == bytes.end()) return;
        part_.warnings.push_back(fmt::format("{}: key '{}' (at byte {}): bool is stored as {}, read as true", file_,
                                             printable(key), key_offsets_.at(key), static_cast<unsigned>(*odd)));
    }

    Result<void> read_alignment() {
        const auto entry = std::ranges::find(part_.entries, "general.alignment", &GgufEntry::key);
        if (entry == part_.entries.end()) return {};
        if (entry->type != GgufType::u32)
            return fail(ErrorKind::Format,
                        "{}: key general.alignment (at byte {}) has wrong type {} but expected type u32", file_,
                        entry->offset_bytes, type_name(entry->type));
        alignment_ = std::get<uint64_t>(entry->value);
        if (!std::has_single_bit(alignment_) || alignment_ < kMinAlignment)
            return fail(ErrorKind::Format,
                        "{}: key general.alignment (at byte {}) is {}; allowed is a power of two, at least {}", file_,
                        entry->offset_bytes, alignment_, kMinAlignment);
        return {};
    }

    // ---- tensor index ----

    Result<void> read_tensor_info() {
        GgufTensor tensor = {.name = {},
                             .type = DType::F32,
                             .ne = {},
                             .size_bytes = 0,
                             .data = {},
                             .info_offset_bytes = cursor_.position(),
                             .data_offset_bytes = 0};
        RIFTJIT_TRY(name, cursor_.read_string({"name of tensor", fmt::to_string(part_.tensors.size())}));
        tensor.name = name;
        if (name.size() > kMaxTensorNameBytes)
            return fail(ErrorKind::Format, "{}: the name has {} bytes; allowed are at most {}",
                        tensor_text(file_, tensor), name.size(), kMaxTensorNameBytes);
        const auto [found, is_new] = tensor_info_offsets_.emplace(name, tensor.info_offset_bytes);
        if (!is_new)
            return fail(ErrorKind::Format, "{}: invalid model: tensor '{}' is duplicated; its first info is at byte {}",
                        tensor_text(file_, tensor), printable(name), found->second);
        RIFTJIT_TRY(elements, read_shape(tensor));
        RIFTJIT_TRY_VOID(read_tensor_type(tensor, elements));
        RIFTJIT_TRY(offset_bytes, cursor_.read<uint64_t>({"offset of tensor", name}));
        part_.tensors.push_back(std::move(tensor));
        part_.tensor_offsets_bytes.push_back(offset_bytes);
        return {};
    }

    // Returns the number of elements.
    Result<uint64_t> read_shape(GgufTensor& tensor) {
        RIFTJIT_TRY(dimensions, cursor_.read<uint32_t>({"dimension count of tensor", tensor.name}));
        if (dimensions > kMaxDimensions)
            return fail(ErrorKind::Format, "{}: n_dims is {}; the maximum is {}", tensor_text(file_, tensor),
                        dimensions, kMaxDimensions);
        uint64_t elements = 1;
        for (uint32_t i = 0; i < dimensions; ++i) {
            RIFTJIT_TRY(extent, cursor_.read<int64_t>({"dimensions of tensor", tensor.name}));
            const auto length = static_cast<uint64_t>(extent);
            // Divided before multiplying: a product that has wrapped may look harmless.
            if (extent < 0 || (length != 0 && elements > kMaxElements / length))
                return fail(ErrorKind::Format,
                            "{}: dimension {} is {}; allowed are 0 to {}, as those before it make {} elements",
                            tensor_text(file_, tensor), i, extent, kMaxElements / std::max<uint64_t>(elements, 1),
                            elements);
            elements *= length;
            tensor.ne.push_back(length);
        }
        return elements;
    }

    Result<void> read_tensor_type(GgufTensor& tensor, uint64_t elements) {
        RIFTJIT_TRY(id, cursor_.read<uint32_t>({"type of tensor", tensor.name}));
        const std::optional<DType> type = dtype_from_id(id);
        if (!type)
            return fail(ErrorKind::Unsupported,
                        "{}: unsupported type: tensor '{}' has invalid ggml type {}, unknown to this build or removed "
                        "from the format",
                        tensor_text(file_, tensor), printable(tensor.name), id);
        tensor.type = *type;
        const DTypeTraits& shape = traits(*type);
        if (tensor.width() % shape.block_elements != 0)
            return fail(ErrorKind::Format, "{}: rows of {} {} elements are not a multiple of block size ({})",
                        tensor_text(file_, tensor), tensor.width(), shape.name, shape.block_elements);
        const uint64_t blocks = elements / shape.block_elements;
        if (blocks > (std::numeric_limits<uint64_t>::max() - alignment_) / shape.block_bytes)
            return fail(ErrorKind::Format, "{}: the size of {} blocks of {} bytes does not fit 64 bits",
                        tensor_text(file_, tensor), blocks, shape.block_bytes);
        tensor.size_bytes = blocks * shape.block_bytes;
        return {};
    }

    GgufCursor cursor_;
    std::string_view file_;
    uint64_t alignment_ = kDefaultAlignment;
    std::unordered_map<std::string_view, uint64_t> key_offsets_, tensor_info_offsets_;
    GgufPart part_;
};

}  // namespace

Result<GgufPart> parse_gguf(std::string_view file, std::span<const std::byte> head, uint64_t file_bytes) {
    return Parser(GgufCursor(file, head, file_bytes)).run(head);
}

}  // namespace riftjit::models
