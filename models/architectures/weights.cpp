#include "models/architectures/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/architectures/hyperparameters.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::TensorId;

namespace {

// Absent dimensions count as 1.
bool has_shape(const GgufTensor& tensor, std::initializer_list<uint32_t> shape) {
    const uint32_t* expected = shape.begin();
    for (size_t i = 0; i < std::max(tensor.ne.size(), shape.size()); ++i) {
        const uint64_t found = i < tensor.ne.size() ? tensor.ne[i] : 1;
        if (found != (i < shape.size() ? expected[i] : 1)) return false;
    }
    return true;
}

std::string part_name(std::string_view name, std::string_view part) { return fmt::format("{}[{}]", name, part); }

}  // namespace

Result<const GgufTensor*> Weights::find(std::string_view name, std::initializer_list<uint32_t> shape) {
    const GgufTensor* tensor = model_.file.find_tensor(name);
    // The reader has found the file as long as its index says, so nothing was cut off: the tensor was never there.
    if (tensor == nullptr)
        return fail(ErrorKind::Format,
                    "{}: missing tensor '{}': architecture {} needs it and the file's index does not have it (tensor "
                    "'{}' not found)",
                    printable_path(model_.file.path()), printable(name), model_.hyperparameters.architecture,
                    printable(name));
    if (!has_shape(*tensor, shape))
        return fail(ErrorKind::Format, "{}: tensor '{}' has wrong shape; expected [{}], got [{}]",
                    model_.file.place_of(*tensor), printable(name), fmt::join(shape, ", "),
                    fmt::join(tensor->ne, ", "));
    used_.insert(tensor->name);
    return tensor;
}

Result<TensorId> Weights::matrix(std::string_view name, uint32_t rows, uint32_t width) {
    RIFTJIT_TRY(tensor, find(name, {width, rows}));
    if (!traits(tensor->type).is_weight)
        return fail(ErrorKind::Unsupported, "{}: type {} is unsupported for a weight", model_.file.place_of(*tensor),
                    traits(tensor->type).name);
    return graph_.add_weight(std::string(name), tensor->type, rows, width, tensor->data.data());
}

Result<TensorId> Weights::matrix_rows(std::string_view name, uint32_t rows, uint32_t width, uint32_t first,
                                      uint32_t count, std::string_view part) {
    RIFTJIT_TRY(whole, matrix(name, rows, width));
    graph::Tensor& tensor = graph_.tensors[whole];  // just added: becomes the part
    tensor.name = part_name(name, part);
    tensor.rows = count;
    tensor.data += first * row_bytes(tensor.type, width);
    return whole;
}

Result<TensorId> Weights::stack(std::string_view name, uint32_t experts, uint32_t rows, uint32_t width) {
    return stack_rows(name, experts, rows, width, 0, rows, "");
}

Result<TensorId> Weights::stack_rows(std::string_view name, uint32_t experts, uint32_t rows, uint32_t width,
                                     uint32_t first, uint32_t count, std::string_view part) {
    RIFTJIT_TRY(tensor, find(name, {width, rows, experts}));
    if (!traits(tensor->type).is_weight)
        return fail(ErrorKind::Unsupported, "{}: type {} is unsupported for a weight", model_.file.place_of(*tensor),
                    traits(tensor->type).name);
    const uint64_t bytes_per_row = row_bytes(tensor->type, width);
    const TensorId id = graph_.add_weight(part.empty() ? std::string(name) : part_name(name, part), tensor->type, count,
                                          width, tensor->data.data() + first * bytes_per_row);
    graph_.tensors[id].matrices = experts;
    graph_.tensors[id].matrix_bytes = rows * bytes_per_row;
    return id;
}

Result<TensorId> Weights::table_of_stack(std::string_view name, uint32_t tables, uint32_t rows, uint32_t width,
                                         uint32_t index) {
    RIFTJIT_TRY(whole, stack_rows(name, tables, rows, width, 0, rows, fmt::to_string(index)));
    graph::Tensor& tensor = graph_.tensors[whole];  // just added: becomes the part
    tensor.data += index * tensor.matrix_bytes;
    tensor.matrices = 1;
    tensor.matrix_bytes = 0;
    return whole;
}

void Weights::pass_over(std::string_view name) {
    if (const GgufTensor* tensor = model_.file.find_tensor(name)) used_.insert(tensor->name);
}

Result<TensorId> Weights::optional_stack_vector(std::string_view name, uint32_t experts, uint32_t width) {
    if (!has(name)) return graph::kNoTensor;
    RIFTJIT_TRY(tensor, find(name, {width, experts}));
    RIFTJIT_TRY(values, floats(*tensor));
    return graph_.add_weight(std::string(name), DType::F32, 1, experts * width,
                             reinterpret_cast<const std::byte*>(values));
}

uint32_t Weights::rows_of(std::string_view name) const {
    const GgufTensor* tensor = model_.file.find_tensor(name);
    return tensor == nullptr || tensor->ne.size() < 2 ? 0 : uint32_t(std::min<uint64_t>(tensor->ne[1], UINT32_MAX));
}

Result<TensorId> Weights::matrix_row_groups(std::string_view name, uint32_t rows, uint32_t width, uint32_t first,
                                            uint32_t taken, uint32_t period, std::string_view part) {
    RIFTJIT_TRY(whole, matrix_rows(name, rows, width, first, rows / period * taken, part));
    graph_.tensors[whole].taken = taken;
    graph_.tensors[whole].period = period;
    return whole;
}

Result<const float*> Weights::floats(const GgufTensor& tensor) const {
    if (tensor.type == DType::F32) return reinterpret_cast<const float*>(tensor.data.data());
    const auto converted = model_.converted_vectors->find(tensor.name);
    if (converted != model_.converted_vectors->end()) return converted->second.data();
    return fail(ErrorKind::Unsupported, "{}: type {} is unsupported for a norm or a bias; supported are f32, f16, bf16",
                model_.file.place_of(tensor), traits(tensor.type).name);
}

Result<TensorId> Weights::vector(std::string_view name, uint32_t width) {
    RIFTJIT_TRY(tensor, find(name, {width}));
    RIFTJIT_TRY(values, floats(*tensor));
    return graph_.add_weight(std::string(name), DType::F32, 1, width, reinterpret_cast<const std::byte*>(values));
}

Result<TensorId> Weights::first_row(std::string_view name, uint32_t width) {
    RIFTJIT_TRY(tensor, find(name, {width, std::max(rows_of(name), 1u)}));
    RIFTJIT_TRY(values, floats(*tensor));
    return graph_.add_weight(part_name(name, "0"), DType::F32, 1, width, reinterpret_cast<const std::byte*>(values));
}

TensorId Weights::ones(uint32_t width) {
    static const std::vector<float> kOnes(kMaxWidth, 1.0f);
    return graph_.add_weight("ones", DType::F32, 1, width, reinterpret_cast<const std::byte*>(kOnes.data()));
}

Result<TensorId> Weights::vector_part(std::string_view name, uint32_t width, uint32_t first, uint32_t count,
                                      std::string_view part) {
    RIFTJIT_TRY(whole, vector(name, width));
    graph::Tensor& tensor = graph_.tensors[whole];  // just added: becomes the part
    tensor.name = part_name(name, part);
    tensor.width = count;
    tensor.data += first * sizeof(float);
    return whole;
}

Result<TensorId> Weights::by_channel(std::string_view name, uint32_t channels, uint32_t numbers) {
    RIFTJIT_TRY(tensor, find(name, {numbers, channels}));
    const auto converted = model_.converted_vectors->find(tensor->name);
    if (converted == model_.converted_vectors->end())
        return fail(ErrorKind::Unsupported,
                    "{}: type {} is unsupported for numbers of channels; supported are f32, f16, bf16",
                    model_.file.place_of(*tensor), traits(tensor->type).name);
    return graph_.add_weight(std::string(name), DType::F32, 1, static_cast<uint32_t>(converted->second.size()),
                             reinterpret_cast<const std::byte*>(converted->second.data()));
}

Result<TensorId> Weights::by_channel_part(std::string_view name, uint32_t channels, uint32_t numbers, uint32_t first,
                                          uint32_t count, std::string_view part) {
    if (first % kChannelBlock != 0)
        return fail(ErrorKind::Unsupported, "{}: {} begins with channel {}, which is no multiple of {}",
                    printable(name), part, first, kChannelBlock);
    RIFTJIT_TRY(whole, by_channel(name, channels, numbers));
    graph::Tensor& tensor = graph_.tensors[whole];  // just added: becomes the part
    tensor.name = part_name(name, part);
    tensor.width = channel_blocks(count) * kChannelBlock * numbers;
    tensor.data += size_t(first) * numbers * sizeof(float);
    return whole;
}

Result<const GgufTensor*> Weights::find_rows(std::string_view name, uint32_t rows, uint32_t width) {
    const GgufTensor* const tensor = model_.file.find_tensor(name);
    const bool is_spread = tensor != nullptr && tensor->ne.size() == 4 && tensor->ne[1] == 1;
    return is_spread ? find(name, {width, 1, 1, rows}) : find(name, {width, rows});
}

Result<TensorId> Weights::vector_of_rows(std::string_view name, uint32_t rows, uint32_t width, uint32_t index) {
    RIFTJIT_TRY(tensor, find_rows(name, rows, width));
    RIFTJIT_TRY(values, floats(*tensor));
    return graph_.add_weight(part_name(name, fmt::to_string(index)), DType::F32, 1, width,
                             reinterpret_cast<const std::byte*>(values + size_t(index) * width));
}

Result<TensorId> Weights::shift(std::string_view name, uint32_t rows, uint32_t width, uint32_t index) {
    RIFTJIT_TRY(tensor, find_rows(name, rows, width));
    const auto converted = model_.converted_vectors->find(tensor->name);
    const size_t each = size_t(channel_blocks(width)) * kChannelBlock * 2;
    if (converted == model_.converted_vectors->end() || converted->second.size() != rows * each)
        return fail(ErrorKind::Unsupported,
                    "{}: type {} is unsupported for a mixture of rows; supported are f32, f16, bf16",
                    model_.file.place_of(*tensor), traits(tensor->type).name);
    return graph_.add_weight(part_name(name, fmt::to_string(index)), DType::F32, 1, static_cast<uint32_t>(each),
                             reinterpret_cast<const std::byte*>(converted->second.data() + index * each));
}

TensorId Weights::differences(uint32_t width) {
    static const std::vector<float> kTaps = [] {
        std::vector<float> taps(2 * kMaxWidth);
        for (uint32_t channel = 0; channel < kMaxWidth; ++channel)
            taps[channel_place(channel, 0, 2)] = 1, taps[channel_place(channel, 1, 2)] = -1;
        return taps;
    }();
    return graph_.add_weight("differences", DType::F32, 1, channel_blocks(width) * kChannelBlock * 2,
                             reinterpret_cast<const std::byte*>(kTaps.data()));
}

Result<TensorId> Weights::rows_as_vector(std::string_view name, uint32_t rows, uint32_t width) {
    RIFTJIT_TRY(tensor, find(name, {width, rows}));
    RIFTJIT_TRY(values, floats(*tensor));
    return graph_.add_weight(std::string(name), DType::F32, 1, rows * width,
                             reinterpret_cast<const std::byte*>(values));
}

Result<TensorId> Weights::optional_vector(std::string_view name, uint32_t width) {
    if (!has(name)) return graph::kNoTensor;
    return vector(name, width);
}

Result<std::optional<Weights::LowRank>> Weights::low_rank(const Lora& adapter, TensorId weight) {
    const graph::Tensor& table = graph_.tensor(weight);
    if (table.matrices != 1 || table.period != 0) return std::nullopt;
    const std::string name = table.name.substr(0, table.name.find('['));
    const GgufTensor* const whole = model_.file.find_tensor(name);
    const GgufTensor *const a = adapter.file.find_tensor(name + ".lora_a"), *const b = adapter.file.find_tensor(
                                                                                name + ".lora_b");
    // An adapter of the table of tokens that is the output's too would have to adapt the lookup as well.
    if (whole == nullptr || a == nullptr || b == nullptr || name.starts_with("token_embd")) return std::nullopt;
    if (a->width() != whole->width() || b->rows() != whole->rows())
        return fail(ErrorKind::Format, "{}: A has width {} and B {} rows; the model's tensor has {} and {}",
                    adapter.file.place_of(*a), a->width(), b->rows(), whole->width(), whole->rows());
    for (const GgufTensor* factor : {a, b})
        if (!traits(factor->type).is_weight)
            return fail(ErrorKind::Unsupported, "{}: type {} is unsupported for a weight",
                        adapter.file.place_of(*factor), traits(factor->type).name);
    const uint64_t bytes = row_bytes(table.type, table.width);
    const auto rank = static_cast<uint32_t>(b->width());
    const uint64_t first = static_cast<uint64_t>(table.data - whole->data.data()) / bytes;
    const uint32_t rows = table.rows, width = table.width;
    const std::string b_name = std::string(b->name) + table.name.substr(name.size());
    used_.insert(a->name);
    used_.insert(b->name);
    const TensorId a_id = graph_.add_weight(std::string(a->name), a->type, rank, width, a->data.data());
    const TensorId b_id =
        graph_.add_weight(b_name, b->type, rows, rank, b->data.data() + first * row_bytes(b->type, rank));
    return LowRank{a_id, b_id, adapter.scale_of(rank)};
}

Result<std::optional<float>> Weights::optional_scalar(std::string_view name) {
    if (!has(name)) return std::nullopt;
    RIFTJIT_TRY(tensor, find(name, {1}));
    RIFTJIT_TRY(value, floats(*tensor));
    if (!std::isfinite(*value))
        return fail(ErrorKind::Format, "{}: value {} is not a number that weights can be scaled by",
                    model_.file.place_of(*tensor), *value);
    return *value;
}

}  // namespace riftjit::models
