#include "models/folder/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "host/half.h"
#include "host/little_endian.h"
#include "models/folder/json_file.h"
#include "models/gguf/gguf_lookalike.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

constexpr uint64_t kLengthBytes = 8;  // of the header's length, which the file begins with
constexpr uint64_t kMostIndexBytes = 100'000'000;
constexpr size_t kMostTensors = 1u << 20;
constexpr size_t kMostDimensions = 8;
constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";

struct StoredTypeTraits {
    std::string_view name;
    uint64_t bytes;
};
// In the order of StoredType.
constexpr auto kStoredTypes = std::to_array<StoredTypeTraits>({{"BOOL", 1},
                                                               {"U8", 1},
                                                               {"I8", 1},
                                                               {"F8_E5M2", 1},
                                                               {"F8_E4M3", 1},
                                                               {"F8_E8M0", 1},
                                                               {"I16", 2},
                                                               {"U16", 2},
                                                               {"F16", 2},
                                                               {"BF16", 2},
                                                               {"I32", 4},
                                                               {"U32", 4},
                                                               {"F32", 4},
                                                               {"F64", 8},
                                                               {"I64", 8},
                                                               {"U64", 8}});

// One file's header.
class HeaderReader {
public:
    HeaderReader(std::string_view file, uint64_t data_offset, uint64_t data_bytes)
        : file_(file), data_offset_(data_offset), data_bytes_(data_bytes) {}

    Result<std::vector<StoredTensor>> read(const Json& header) {
        if (header.size() > kMostTensors)
            return fail(ErrorKind::Format, "{}: the header names {} tensors; allowed are at most {}", file_,
                        header.size(), kMostTensors);
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__") continue;  // texts of whoever wrote the file
            RIFTJIT_TRY_VOID(read_tensor(name, entry));
        }
        RIFTJIT_TRY_VOID(check_layout());
        return std::move(tensors_);
    }

private:
    Result<void> read_tensor(const std::string& name, const Json& entry) {
        StoredTensor tensor{name, StoredType::f32, {}, {}, 0, fmt::format("{}: tensor '{}'", file_, printable(name))};
        const Json* const type = find(entry, "dtype");
        const Json* const shape = find(entry, "shape");
        const Json* const offsets = find(entry, "data_offsets");
        if (type == nullptr || shape == nullptr || offsets == nullptr || entry.size() != 3)
            return fail(ErrorKind::Format,
                        "{}: its entry in the header is {}; expected are dtype, shape and data_offsets", tensor.place,
                        shown(entry));
        RIFTJIT_TRY_VOID(read_type(*type, tensor));
        RIFTJIT_TRY(bytes, read_shape(*shape, tensor));
        RIFTJIT_TRY_VOID(read_offsets(*offsets, bytes, tensor));
        tensors_.push_back(std::move(tensor));
        return {};
    }

    Result<void> read_type(const Json& type, StoredTensor& tensor) {
        const std::string text = type.is_string() ? type.get<std::string>() : "";
        const auto found = std::ranges::find(kStoredTypes, text, &StoredTypeTraits::name);
        if (found == kStoredTypes.end())
            return fail(ErrorKind::Unsupported, "{}: dtype {} is unknown to this build", tensor.place, shown(type));
        tensor.type = static_cast<StoredType>(found - kStoredTypes.begin());
        return {};
    }

    // Returns the size in bytes.
    Result<uint64_t> read_shape(const Json& shape, StoredTensor& tensor) {
        if (!shape.is_array() || shape.size() > kMostDimensions)
            return fail(ErrorKind::Format, "{}: shape is {}; expected are up to {} lengths", tensor.place, shown(shape),
                        kMostDimensions);
        uint64_t bytes = element_bytes(tensor.type);
        for (const Json& extent : shape) {
            // Divided before multiplying: a product that has wrapped may look harmless.
            if (!extent.is_number_unsigned() || extent.get<uint64_t>() == 0 ||
                bytes > uint64_t{std::numeric_limits<int64_t>::max()} / extent.get<uint64_t>())
                return fail(ErrorKind::Format, "{}: shape has {}; allowed are lengths from 1 on of {} bytes in all",
                            tensor.place, shown(extent), std::numeric_limits<int64_t>::max());
            bytes *= extent.get<uint64_t>();
            tensor.shape.push_back(extent.get<uint64_t>());
        }
        return bytes;
    }

    Result<void> read_offsets(const Json& offsets, uint64_t bytes, StoredTensor& tensor) {
        const bool are_two = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
                             offsets[1].is_number_unsigned();
        if (!are_two)
            return fail(ErrorKind::Format, "{}: data_offsets is {}; expected are two offsets", tensor.place,
                        shown(offsets));
        const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
        if (begin > end || end - begin != bytes)
            return fail(ErrorKind::Format, "{}: data_offsets {} to {} do not hold [{}] of {}, which takes {} bytes",
                        tensor.place, begin, end, fmt::join(tensor.shape, ", "), folder::name(tensor.type), bytes);
        if (end > data_bytes_)
            return fail(ErrorKind::Format,
                        "{}: data_offsets {} to {} lie outside the {} bytes of data; if the file was cut off, download "
                        "it again",
                        tensor.place, begin, end, data_bytes_);
        tensor.offset_bytes = data_offset_ + begin;
        return {};
    }

    // The data of one tensor begins where that of another ends: no hole, no overlap, nothing behind the last.
    Result<void> check_layout() {
        std::ranges::sort(tensors_, {}, &StoredTensor::offset_bytes);
        uint64_t expected = data_offset_;
        for (const StoredTensor& tensor : tensors_) {
            if (tensor.offset_bytes != expected)
                return fail(ErrorKind::Format,
                            "{}: its data begins at byte {}, but byte {} is where the one before ends", tensor.place,
                            tensor.offset_bytes, expected);
            expected += tensor.rows() * tensor.width() * element_bytes(tensor.type);
        }
        if (expected != data_offset_ + data_bytes_)
            return fail(ErrorKind::Format, "{}: the file has {} bytes, but its header and tensors take {}", file_,
                        data_offset_ + data_bytes_, expected);
        return {};
    }

    std::string_view file_;
    uint64_t data_offset_, data_bytes_;
    std::vector<StoredTensor> tensors_;
};

Result<void> add_file(const std::filesystem::path& path, Weights& weights) {
    RIFTJIT_TRY(file, RegularFile::open(path));
    RIFTJIT_TRY(head, file.map(0, std::min(file.size_bytes(), kMostHeaderBytes + kLengthBytes)));
    RIFTJIT_TRY(tensors, parse_safetensors(file.name(), head.bytes(), file.size_bytes()));
    if (tensors.empty()) return fail(ErrorKind::Format, "{}: the file holds no tensors", file.name());
    const uint64_t begin = tensors.front().offset_bytes;
    RIFTJIT_TRY(data, file.map(begin, file.size_bytes() - begin));
    for (StoredTensor& tensor : tensors) {
        const uint64_t bytes = tensor.rows() * tensor.width() * element_bytes(tensor.type);
        tensor.data = data.bytes().subspan(tensor.offset_bytes - begin, bytes);
        weights.tensors.push_back(std::move(tensor));
    }
    weights.files.push_back({path, file.size_bytes(), std::move(data)});
    return {};
}

// Which file holds which tensors.
Result<std::map<std::string, std::set<std::string>>> read_index(const std::filesystem::path& path) {
    RIFTJIT_TRY(index, read_object(path, kMostIndexBytes));
    const std::string place = printable_path(path);
    const Json* const map = find(index, "weight_map");
    if (map == nullptr || !map->is_object() || map->empty())
        return fail(ErrorKind::Format, "{}: key 'weight_map' is {}; expected is an object of tensors and files", place,
                    map == nullptr ? "absent" : shown(*map));
    std::map<std::string, std::set<std::string>> files;
    for (const auto& [tensor, file] : map->items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : "";
        // A name in this folder, and no path that leads out of it.
        if (!name.ends_with(".safetensors") || name.contains('/') || name.contains('\0'))
            return fail(ErrorKind::Format,
                        "{}: tensor '{}' lies in {}; allowed are names of .safetensors files in the same folder", place,
                        printable(tensor), shown(file));
        files[name].insert(tensor);
    }
    return files;
}

Result<void> add_indexed_files(const std::filesystem::path& folder, Weights& weights) {
    const std::filesystem::path path = folder / kIndexFile;
    RIFTJIT_TRY(files, read_index(path));
    for (const auto& [name, expected] : files) {
        const size_t before = weights.tensors.size();
        RIFTJIT_TRY_VOID(add_file(folder / name, weights));
        for (const StoredTensor& tensor : std::span(weights.tensors).subspan(before))
            if (!expected.contains(tensor.name))
                return fail(ErrorKind::Format, "{}: {} does not say that it lies there", tensor.place,
                            printable_path(path));
        std::set<std::string_view> found;
        for (const StoredTensor& tensor : std::span(weights.tensors).subspan(before)) found.insert(tensor.name);
        for (const std::string& tensor : expected)
            if (!found.contains(tensor))
                return fail(ErrorKind::Format, "{}: tensor '{}' does not lie in {}", printable_path(path),
                            printable(tensor), printable(name));
    }
    return {};
}

}  // namespace

std::string_view name(StoredType type) { return kStoredTypes[static_cast<size_t>(type)].name; }
uint64_t element_bytes(StoredType type) { return kStoredTypes[static_cast<size_t>(type)].bytes; }

uint64_t StoredTensor::rows() const {
    uint64_t product = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) product *= shape[i];
    return product;
}

float as_float(StoredType type, const std::byte* element) {
    const auto load = [&]<class T>(T value) {
        std::memcpy(&value, element, sizeof value);
        return value;
    };
    switch (type) {
        case StoredType::f16:
            return half_to_float(load(uint16_t{}));
        case StoredType::bf16:
            return bfloat_to_float(load(uint16_t{}));
        case StoredType::f64:
            return static_cast<float>(load(double{}));
        default:
            return load(float{});
    }
}

const StoredTensor* Weights::find(std::string_view name) const {
    const auto found = indexes.find(name);
    return found == indexes.end() ? nullptr : &tensors[found->second];
}

Result<std::vector<StoredTensor>> parse_safetensors(std::string_view file, std::span<const std::byte> head,
                                                    uint64_t file_bytes) {
    const auto refuse = [&](std::string_view why) {
        const std::string lookalike = describe_lookalike(head);
        return fail(ErrorKind::Format, "{}: {}{}{}", file, why, lookalike.empty() ? "" : "; ", lookalike);
    };
    if (file_bytes < kLengthBytes)
        return refuse(
            fmt::format("the file has {} bytes; a safetensors file begins with {} that tell the length of its "
                        "header",
                        file_bytes, kLengthBytes));
    const auto header_bytes = get_little_endian<uint64_t>(head, 0);
    if (header_bytes > kMostHeaderBytes)
        return refuse(fmt::format("the length of its header (at byte 0) is {}; allowed are at most {}", header_bytes,
                                  kMostHeaderBytes));
    if (header_bytes > file_bytes - kLengthBytes)
        return refuse(
            fmt::format("file ends at byte {} inside its header of {} bytes; if it was cut off, download it "
                        "again",
                        file_bytes, header_bytes));
    const std::string_view text(reinterpret_cast<const char*>(head.data()) + kLengthBytes, header_bytes);
    RIFTJIT_TRY(header, parse_object(fmt::format("{}: header", file), text));
    const uint64_t data_offset = kLengthBytes + header_bytes;
    return HeaderReader(file, data_offset, file_bytes - data_offset).read(header);
}

Result<Weights> read_weights(const std::filesystem::path& folder) {
    Weights weights;
    std::error_code ignored;
    const bool has_single = std::filesystem::exists(folder / kSingleFile, ignored);
    const bool has_index = std::filesystem::exists(folder / kIndexFile, ignored);
    if (has_single) {
        RIFTJIT_TRY_VOID(add_file(folder / kSingleFile, weights));
        if (has_index)
            weights.warnings.push_back(
                fmt::format("{}: there is a {}, too, which is not read", printable_path(folder), kIndexFile));
    } else if (has_index) {
        RIFTJIT_TRY_VOID(add_indexed_files(folder, weights));
    } else {
        const bool has_pickle = std::filesystem::exists(folder / "pytorch_model.bin", ignored) ||
                                std::filesystem::exists(folder / "pytorch_model.bin.index.json", ignored);
        return fail(
            ErrorKind::Io, "{}: holds neither {} nor {}{}", printable_path(folder), kSingleFile, kIndexFile,
            has_pickle ? "; pytorch_model.bin is a Python pickle, which is not read: save it as safetensors" : "");
    }
    for (size_t i = 0; i < weights.tensors.size(); ++i)
        if (!weights.indexes.emplace(weights.tensors[i].name, i).second)
            return fail(ErrorKind::Format, "{}: it is duplicated: an earlier file holds it, too",
                        weights.tensors[i].place);
    return weights;
}

}  // namespace riftjit::models::folder
