#include "models/folder/conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/half.h"
#include "host/round_up.h"
#include "models/folder/tensors.h"

namespace riftjit::models {

namespace {

constexpr uint64_t kChunkElements = 1u << 18;
constexpr uint32_t kQuantizationVersion = 2;  // of GGML's block types

// How readers name a file's types (llama.h, enum llama_ftype).
uint32_t file_type(DType matrix_type) { return matrix_type == DType::F32 ? 0 : matrix_type == DType::F16 ? 1 : 32; }

float load_element(DType type, const std::byte* element) {
    if (type == DType::F32) {
        float value;
        std::memcpy(&value, element, sizeof value);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
}

// Appends the value; false where it becomes infinite.
bool store_element(DType type, float value, std::vector<std::byte>& bytes) {
    const auto append = [&](auto bits) {
        const auto* begin = reinterpret_cast<const std::byte*>(&bits);
        bytes.insert(bytes.end(), begin, begin + sizeof bits);
    };
    if (type == DType::F32) {
        append(value);
        return true;
    }
    const uint16_t bits = type == DType::F16 ? float_to_half(value) : float_to_bfloat(value);
    append(bits);
    const float stored = type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
    return !std::isinf(stored) || std::isinf(value);
}

Result<void> write_tensor(const Gguf& file, const GgufTensor& tensor, DType type, const Append& append) {
    if (type == tensor.type) return append(tensor.data);
    const uint64_t element = traits(tensor.type).block_bytes;
    const uint64_t elements = tensor.size_bytes / element;
    std::vector<std::byte> chunk;
    for (uint64_t begin = 0; begin < elements; begin += kChunkElements) {
        chunk.clear();
        for (uint64_t i = begin; i < std::min(elements, begin + kChunkElements); ++i) {
            const float value = load_element(tensor.type, tensor.data.data() + i * element);
            if (!store_element(type, value, chunk))
                return fail(ErrorKind::Format, "{}: element {} is {}, too large for {}", file.place_of(tensor), i,
                            value, traits(type).name);
        }
        RIFTJIT_TRY_VOID(append(chunk));
    }
    return {};
}

}  // namespace

Conversion plan_conversion(const Gguf& file, std::optional<DType> matrix_type) {
    const auto is_matrix = [](const GgufTensor& tensor) {
        return !folder::is_kept_as_f32(tensor.name, tensor.ne.size()) && !is_quantized(tensor.type);
    };
    const auto first = std::ranges::find_if(
        file.tensors(), [&](const GgufTensor& tensor) { return is_matrix(tensor) && tensor.type != DType::F32; });
    const DType usual = first == file.tensors().end() ? DType::F16 : first->type;
    Conversion conversion{matrix_type.value_or(usual), {}, {}};
    GgufWriter writer;
    for (const GgufEntry& entry : file.entries()) writer.copy(entry);
    writer.set_u32("general.file_type", file_type(conversion.matrix_type));
    writer.set_u32("general.quantization_version", kQuantizationVersion);
    for (const GgufTensor& tensor : file.tensors()) {
        const DType type = is_matrix(tensor) ? conversion.matrix_type : tensor.type;
        const uint64_t elements = tensor.size_bytes / traits(tensor.type).block_bytes;
        writer.add_tensor(tensor.name, type, tensor.ne, elements * traits(type).block_bytes);
        conversion.types.push_back(type);
        conversion.narrowed += type != tensor.type && type != DType::F32 ? 1 : 0;
    }
    conversion.index = writer.finish();
    return conversion;
}

Result<void> write_converted(const Gguf& file, const Conversion& conversion, const Append& append) {
    RIFTJIT_TRY_VOID(append(conversion.index.header));
    uint64_t written = conversion.index.header.size();
    const Append counted = [&](std::span<const std::byte> bytes) {
        written += bytes.size();
        return append(bytes);
    };
    for (size_t i = 0; i < file.tensors().size(); ++i) {
        const std::vector<std::byte> padding(conversion.index.offsets_bytes[i] - written);
        RIFTJIT_TRY_VOID(counted(padding));
        RIFTJIT_TRY_VOID(write_tensor(file, file.tensors()[i], conversion.types[i], counted));
        file.drop_pages(file.tensors()[i].data);
    }
    return counted(std::vector<std::byte>(conversion.index.file_bytes - written));
}

}  // namespace riftjit::models
