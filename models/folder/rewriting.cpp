#include "models/folder/rewriting.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "host/half.h"

namespace riftjit::models::folder {

namespace {

uint64_t elements_of(const std::vector<uint64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies());
}

// "A.experts.12.B": the name without the number, and the number.
struct ExpertName {
    std::string stacked;
    uint64_t expert;
};
std::optional<ExpertName> expert_name(const std::string& name) {
    constexpr std::string_view kMark = ".experts.";
    const size_t at = name.find(kMark);
    if (at == std::string::npos) return std::nullopt;
    const size_t begin = at + kMark.size(), end = name.find('.', begin);
    const size_t digits = end == std::string::npos ? 0 : end - begin;
    const bool is_number =
        digits > 0 && digits <= 6 &&
        std::all_of(name.begin() + long(begin), name.begin() + long(end), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return std::nullopt;
    return ExpertName{name.substr(0, begin) + name.substr(end + 1), std::stoull(name.substr(begin, digits))};
}

float number_at(const StoredTensor& tensor, uint64_t index) {
    return as_float(tensor.type, tensor.data.data() + index * element_bytes(tensor.type));
}

bool is_float(StoredType type) {
    return type == StoredType::f16 || type == StoredType::bf16 || type == StoredType::f32 || type == StoredType::f64;
}

}  // namespace

std::byte* Rewriter::own(uint64_t bytes) {
    return owned_.emplace_back(new std::byte[std::max<uint64_t>(bytes, 1)]).get();
}

void Rewriter::index_again() {
    weights_.indexes.clear();
    for (size_t i = 0; i < weights_.tensors.size(); ++i) weights_.indexes[weights_.tensors[i].name] = i;
}

StoredTensor* Rewriter::find(std::string_view name) {
    const auto found = weights_.indexes.find(name);
    return found == weights_.indexes.end() ? nullptr : &weights_.tensors[found->second];
}

std::vector<std::string> Rewriter::stems_of(std::string_view part) const {
    std::vector<std::string> stems;
    for (const StoredTensor& tensor : weights_.tensors)
        if (tensor.name.ends_with(part)) stems.push_back(tensor.name.substr(0, tensor.name.size() - part.size()));
    return stems;
}

Result<void> Rewriter::leave_out_drafts() {
    RIFTJIT_TRY(layers, config_.require_integer({"num_hidden_layers"}, 1, 4096));
    const auto is_draft = [&](const StoredTensor& tensor) {
        constexpr std::string_view kLayers = "model.layers.";
        if (tensor.name.starts_with("mtp.") || tensor.name.starts_with("model.mtp")) return true;
        if (!tensor.name.starts_with(kLayers)) return false;
        const size_t end = tensor.name.find('.', kLayers.size());
        const std::string number = tensor.name.substr(kLayers.size(), end - kLayers.size());
        const bool is_number = !number.empty() && number.size() <= 6 &&
                               std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
        return is_number && std::stoull(number) >= layers;
    };
    std::erase_if(tensors(), is_draft);
    index_again();
    return {};
}

Result<void> Rewriter::stack_experts() {
    for (const std::string& name : stems_of("mlp.experts.gate_up_proj")) {
        const std::string stem = name + "mlp.experts.";
        RIFTJIT_TRY_VOID(
            split_halves(stem + "gate_up_proj", stem + "gate_proj.weight", stem + "up_proj.weight", Halves::in_order));
    }
    for (StoredTensor& tensor : tensors())
        if (tensor.name.ends_with("mlp.experts.down_proj")) tensor.name += ".weight";
    index_again();
    std::map<std::string, std::map<uint64_t, const StoredTensor*>> stacks;
    for (const StoredTensor& tensor : tensors())
        if (const auto name = expert_name(tensor.name)) stacks[name->stacked][name->expert] = &tensor;
    std::map<std::string, StoredTensor> made;
    for (const auto& [name, experts] : stacks) {
        const StoredTensor& first = *experts.begin()->second;
        if (experts.rbegin()->first + 1 != experts.size())
            return fail(ErrorKind::Format, "{}: {} experts have such a tensor, but one of expert {} is there",
                        first.place, experts.size(), experts.rbegin()->first);
        StoredTensor stack = first;
        stack.name = name;
        stack.shape.insert(stack.shape.begin(), experts.size());
        stack.offset_bytes = 0;
        std::byte* to = own(first.data.size() * experts.size());
        stack.data = {to, first.data.size() * experts.size()};
        for (const auto& [expert, tensor] : experts) {
            if (tensor->type != first.type || tensor->shape != first.shape)
                return fail(ErrorKind::Format, "{}: {} [{}]; expected is {} [{}], as of expert 0", tensor->place,
                            folder::name(tensor->type), fmt::join(tensor->shape, ", "), folder::name(first.type),
                            fmt::join(first.shape, ", "));
            std::memcpy(to, tensor->data.data(), tensor->data.size());
            to += tensor->data.size();
        }
        made.emplace(name, std::move(stack));
    }
    // Each stands where its first expert stood.
    std::vector<StoredTensor> result;
    for (StoredTensor& tensor : tensors()) {
        const auto name = expert_name(tensor.name);
        if (!name) {
            result.push_back(std::move(tensor));
        } else if (const auto found = made.find(name->stacked); found != made.end()) {
            result.push_back(std::move(found->second));
            made.erase(found);
        }
    }
    tensors() = std::move(result);
    index_again();
    return {};
}

StoredTensor Rewriter::gathered(const StoredTensor& tensor, std::string name, std::vector<uint64_t> shape,
                                const std::function<uint64_t(uint64_t)>& from) {
    StoredTensor result = tensor;
    const uint64_t bytes = element_bytes(tensor.type), count = elements_of(shape);
    std::byte* const to = own(count * bytes);
    for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, tensor.data.data() + from(i) * bytes, bytes);
    result.name = std::move(name);
    result.shape = std::move(shape);
    result.data = {to, count * bytes};
    result.offset_bytes = 0;
    return result;
}

StoredTensor Rewriter::rows_of(const StoredTensor& tensor, std::string name, const std::vector<uint64_t>& order) {
    std::vector<uint64_t> shape = tensor.shape;
    shape.front() = order.size();
    const uint64_t width = elements_of(tensor.shape) / tensor.shape.front();
    return gathered(tensor, std::move(name), std::move(shape),
                    [&](uint64_t i) { return order[i / width] * width + i % width; });
}

Result<void> Rewriter::split_halves(const std::string& name, const std::string& first, const std::string& second,
                                    Halves halves) {
    const StoredTensor* const found = weights_.find(name);
    if (found == nullptr) return {};
    const StoredTensor whole = *found;
    // Of a stack of vectors, rows have one element.
    const size_t axis = whole.shape.size() == 3 || first.ends_with(".bias") ? 1 : 0;
    if (whole.shape.size() < 2 || whole.shape[axis] % 2 != 0)
        return fail(ErrorKind::Format, "{}: shape [{}]; expected are two halves", whole.place,
                    fmt::join(whole.shape, ", "));
    const uint64_t half = whole.shape[axis] / 2;
    const uint64_t width =
        std::accumulate(whole.shape.begin() + long(axis) + 1, whole.shape.end(), uint64_t{1}, std::multiplies());
    std::vector<uint64_t> shape = whole.shape;
    shape[axis] = half;
    const auto part = [&](uint64_t number, const std::string& part_name) {
        return gathered(whole, part_name, shape, [&](uint64_t i) {
            const uint64_t column = i % width, row = i / width % half, matrix = i / width / half;
            const uint64_t from = halves == Halves::in_order ? number * half + row : 2 * row + number;
            return (matrix * 2 * half + from) * width + column;
        });
    };
    StoredTensor one = part(0, first), other = part(1, second);
    const auto at = std::ranges::find(tensors(), name, &StoredTensor::name);
    *at = std::move(one);
    tensors().insert(at + 1, std::move(other));
    index_again();
    return {};
}

Result<void> Rewriter::transpose(StoredTensor& tensor) {
    if (tensor.shape.size() < 2)
        return fail(ErrorKind::Format, "{}: shape [{}]; expected is a matrix", tensor.place,
                    fmt::join(tensor.shape, ", "));
    std::vector<uint64_t> shape = tensor.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    const uint64_t width = shape.back(), rows = shape[shape.size() - 2];
    StoredTensor made = gathered(tensor, "", std::move(shape), [&](uint64_t i) {
        const uint64_t column = i % width, row = i / width % rows, matrix = i / width / rows;
        return (matrix * width + column) * rows + row;
    });
    tensor.shape = std::move(made.shape);  // its name stays where it is: others point to it
    tensor.data = made.data;
    tensor.offset_bytes = 0;
    return {};
}

Result<void> Rewriter::change_numbers(StoredTensor& tensor, const std::function<float(float, uint64_t)>& change) {
    if (!is_float(tensor.type))
        return fail(ErrorKind::Unsupported, "{}: dtype {} is unsupported for such a tensor", tensor.place,
                    folder::name(tensor.type));
    const bool is_half = tensor.type == StoredType::f16;
    const uint64_t count = elements_of(tensor.shape), bytes = count * (is_half ? sizeof(uint16_t) : sizeof(float));
    std::byte* const to = own(bytes);
    for (uint64_t i = 0; i < count; ++i) {
        const float value = change(number_at(tensor, i), i);
        const uint16_t half = float_to_half(value);
        if (is_half)
            std::memcpy(to + i * sizeof half, &half, sizeof half);
        else
            std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    tensor.type = is_half ? StoredType::f16 : StoredType::f32;
    tensor.data = {to, bytes};
    tensor.offset_bytes = 0;
    return {};
}

Result<void> Rewriter::change_matrix(StoredTensor& tensor, const std::function<float(float, uint64_t)>& change) {
    const bool is_bf16 = tensor.type == StoredType::bf16;
    RIFTJIT_TRY_VOID(change_numbers(tensor, change));
    if (is_bf16) narrow_to_bf16(tensor);
    return {};
}

void Rewriter::narrow_to_bf16(StoredTensor& tensor) {
    const uint64_t count = elements_of(tensor.shape);
    std::byte* const to = own(count * sizeof(uint16_t));
    for (uint64_t i = 0; i < count; ++i) {
        const uint16_t value = float_to_bfloat(number_at(tensor, i));
        std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    tensor.type = StoredType::bf16;
    tensor.data = {to, count * sizeof(uint16_t)};
    tensor.offset_bytes = 0;
}

Result<void> Rewriter::reshape(StoredTensor& tensor, std::vector<uint64_t> shape) {
    if (elements_of(shape) != elements_of(tensor.shape))
        return fail(ErrorKind::Format, "{}: shape [{}]; expected are as many elements as of [{}]", tensor.place,
                    fmt::join(tensor.shape, ", "), fmt::join(shape, ", "));
    tensor.shape = std::move(shape);
    return {};
}

Result<void> Rewriter::squeeze(StoredTensor& tensor) {
    std::vector<uint64_t> shape;
    for (const uint64_t extent : tensor.shape)
        if (extent != 1) shape.push_back(extent);
    if (shape.size() != 2)
        return fail(ErrorKind::Format, "{}: shape [{}]; expected are taps for each channel", tensor.place,
                    fmt::join(tensor.shape, ", "));
    tensor.shape = std::move(shape);
    return {};
}

Result<StoredTensor> Rewriter::mxfp4(const StoredTensor& blocks, const StoredTensor& scales, std::string name,
                                     uint64_t rows, const std::function<uint64_t(uint64_t)>& from) {
    constexpr uint64_t kBlock = 32, kCodeBytes = kBlock / 2, kBlockBytes = 1 + kCodeBytes;
    const bool fits = blocks.type == StoredType::u8 && scales.type == StoredType::u8 && blocks.shape.size() == 4 &&
                      blocks.shape[3] == kCodeBytes && scales.shape.size() == 3 &&
                      std::equal(scales.shape.begin(), scales.shape.end(), blocks.shape.begin());
    if (!fits)
        return fail(ErrorKind::Format,
                    "{}: {} [{}] with scales {} [{}]; expected are U8 [E, R, B, 16] and U8 [E, R, B]", blocks.place,
                    folder::name(blocks.type), fmt::join(blocks.shape, ", "), folder::name(scales.type),
                    fmt::join(scales.shape, ", "));
    const uint64_t experts = blocks.shape[0], stored_rows = blocks.shape[1], row_blocks = blocks.shape[2];
    StoredTensor result = blocks;
    result.name = std::move(name);
    result.shape = {experts, rows, row_blocks * kBlock};
    result.gguf_type = DType::MXFP4;
    result.offset_bytes = 0;
    std::byte* to = own(experts * rows * row_blocks * kBlockBytes);
    result.data = {to, experts * rows * row_blocks * kBlockBytes};
    for (uint64_t row = 0; row < experts * rows; ++row) {
        const uint64_t source = (row / rows * stored_rows + from(row % rows)) * row_blocks;
        for (uint64_t block = 0; block < row_blocks; ++block) {
            const std::byte* const codes = blocks.data.data() + (source + block) * kCodeBytes;
            // Byte i has elements 2i and 2i + 1; in GGUF's blocks i and i + 16.
            const auto code = [&](uint64_t i) { return codes[i / 2] >> (i % 2 * 4) & std::byte{15}; };
            *to++ = scales.data[source + block];
            for (uint64_t i = 0; i < kCodeBytes; ++i) *to++ = code(i) | code(i + kCodeBytes) << 4;
        }
    }
    return result;
}

}  // namespace riftjit::models::folder
