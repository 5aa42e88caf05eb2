// Sources: transformers' finegrained_fp8.py; AutoGPTQ's and GPTQModel's qlinear; AutoAWQ's packing_utils.py; MLX's
// quantized.cpp.
#include "models/folder/quantised.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "host/half.h"

namespace riftjit::models::folder {

namespace {

// 1 sign, 4 exponent and 3 mantissa bits, bias 7; no infinities, and one NaN of each sign.
float fp8_value(uint8_t bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const float sign = bits >> 7 != 0 ? -1.0f : 1.0f;
    if (exponent == 15 && mantissa == 7) return std::nanf("");
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
    return sign * std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

float float_at(const StoredTensor& tensor, uint64_t index) {
    const std::byte* const element = tensor.data.data() + index * element_bytes(tensor.type);
    if (tensor.type == StoredType::f32) {
        float value;
        std::memcpy(&value, element, sizeof value);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return tensor.type == StoredType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
}

// Element `index` of a row of little-endian fields of so many bits.
uint32_t field_at(const std::byte* row, uint64_t index, uint32_t bits) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < bits; ++i) {
        const uint64_t bit = index * bits + i;
        value |= (std::to_integer<uint32_t>(row[bit / 8]) >> (bit % 8) & 1) << i;
    }
    return value;
}

bool is_scale_type(StoredType type) {
    return type == StoredType::f16 || type == StoredType::bf16 || type == StoredType::f32;
}

std::string shape_text(const StoredTensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.shape, ", ")); }

class Dequantiser {
public:
    Dequantiser(const Config& config, Weights& weights, std::vector<std::unique_ptr<std::byte[]>>& owned)
        : config_(config), weights_(weights), owned_(owned) {}

    Result<void> run() {
        RIFTJIT_TRY(method, method_of());
        if (method.empty()) return {};
        for (const StoredTensor& tensor : weights_.tensors) {
            if (method == "fp8") RIFTJIT_TRY_VOID(take_fp8(tensor));
            if (method == "gptq") RIFTJIT_TRY_VOID(take_packed(tensor, /*is_awq=*/false));
            if (method == "awq") RIFTJIT_TRY_VOID(take_packed(tensor, /*is_awq=*/true));
            if (method == "affine") RIFTJIT_TRY_VOID(take_affine(tensor));
        }
        std::erase_if(weights_.tensors, [&](const StoredTensor& tensor) { return consumed_.contains(tensor.name); });
        std::ranges::move(made_, std::back_inserter(weights_.tensors));
        weights_.indexes.clear();
        for (size_t i = 0; i < weights_.tensors.size(); ++i)
            if (!weights_.indexes.emplace(weights_.tensors[i].name, i).second)
                return fail(ErrorKind::Format, "{}: it is there quantised, too", weights_.tensors[i].place);
        return {};
    }

private:
    // "" where nothing is quantised.
    Result<std::string> method_of() {
        const Config::Found found = config_.find({"quantization_config", "quantization"});
        if (!found) return std::string();
        settings_ = found.value;
        key_ = found.key;
        if (!settings_->is_object())
            return fail(ErrorKind::Format, "{} is {}; expected is an object", config_.place(key_), shown(*settings_));
        const Json* const stated = folder::find(*settings_, "quant_method");
        // MLX names none.
        const Json* const mode = folder::find(*settings_, "mode");
        const std::string method = stated != nullptr ? (stated->is_string() ? stated->get<std::string>() : "")
                                   : mode == nullptr || *mode == Json("affine") ? "affine"
                                                                                : "";
        if (method == "fp8") return method;
        if (method == "gptq" || method == "awq") {
            RIFTJIT_TRY(bits, setting("bits", 4, {4, 8}));
            RIFTJIT_TRY(version, text_setting("version", "gemm"));
            RIFTJIT_TRY(format, text_setting("checkpoint_format", "gptq"));
            if (method == "awq" && (bits != 4 || version != "gemm"))
                return fail(ErrorKind::Unsupported, "{} has {} bits and version {}; supported are 4 and gemm",
                            config_.place(key_), bits, version);
            if (format != "gptq" && format != "gptq_v2" && format != "gemm")
                return fail(ErrorKind::Unsupported, "{} has checkpoint_format {}; supported are gptq and gptq_v2",
                            config_.place(key_), format);
            zero_offset_ = method == "gptq" && format != "gptq_v2" ? 1 : 0;
            bits_ = bits;
            return method;
        }
        if (method == "affine") return method;
        if (method == "mxfp4") return std::string();  // GGUF has such blocks: what is left to do is the family's
        return fail(ErrorKind::Unsupported,
                    "{} has quant_method {}{}; supported are fp8, gptq, awq, mxfp4 and MLX's affine groups",
                    config_.place(key_), stated == nullptr ? "none" : shown(*stated),
                    mode == nullptr ? "" : fmt::format(" and mode {}", shown(*mode)));
    }

    Result<uint32_t> setting(std::string_view key, uint32_t usual, std::initializer_list<uint32_t> allowed) const {
        const Json* const value = folder::find(*settings_, key);
        if (value == nullptr) return usual;
        for (const uint32_t each : allowed)
            if (*value == Json(each)) return each;
        return fail(ErrorKind::Unsupported, "{} has {} {}; supported are {}", config_.place(key_), key, shown(*value),
                    fmt::join(allowed, ", "));
    }
    Result<std::string> text_setting(std::string_view key, std::string usual) const {
        const Json* const value = folder::find(*settings_, key);
        if (value == nullptr) return usual;
        if (value->is_string()) return value->get<std::string>();
        return fail(ErrorKind::Format, "{} has {} {}; expected is a text", config_.place(key_), key, shown(*value));
    }

    // A sister of "NAME.weight", "NAME.qweight", which this tensor is consumed with.
    Result<const StoredTensor*> sister(const std::string& base, std::string_view last, const StoredTensor& of,
                                       bool is_float) {
        const StoredTensor* const found = weights_.find(base + std::string(last));
        if (found == nullptr)
            return fail(ErrorKind::Format, "{}: there is no '{}{}' beside it", of.place, printable(base), last);
        if (is_float ? !is_scale_type(found->type) : found->type != StoredType::i32)
            return fail(ErrorKind::Unsupported, "{}: dtype {} is unsupported there", found->place,
                        folder::name(found->type));
        consumed_.insert(found->name);
        return found;
    }
    std::unexpected<Error> wrong_shape(const StoredTensor& tensor, const StoredTensor& of) const {
        return fail(ErrorKind::Format, "{}: shape {} does not go with shape {} of '{}'", tensor.place,
                    shape_text(tensor), shape_text(of), printable(of.name));
    }

    // Rows of bf16 where scales are bf16 or f32, whose range f16 does not have; of f16 else.
    void add(const std::string& name, const StoredTensor& of, StoredType scale_type, uint64_t rows, uint64_t width,
             const std::function<float(uint64_t row, uint64_t column)>& value) {
        const StoredType type = scale_type == StoredType::f16 ? StoredType::f16 : StoredType::bf16;
        const uint64_t bytes = rows * width * sizeof(uint16_t);
        std::byte* const data = owned_.emplace_back(new std::byte[bytes]).get();
        for (uint64_t row = 0; row < rows; ++row)
            for (uint64_t column = 0; column < width; ++column) {
                const float dequantised = value(row, column);
                const uint16_t bits =
                    type == StoredType::f16 ? float_to_half(dequantised) : float_to_bfloat(dequantised);
                std::memcpy(data + (row * width + column) * sizeof bits, &bits, sizeof bits);
            }
        made_.push_back({name, type, {rows, width}, {data, bytes}, 0, of.place});
        consumed_.insert(of.name);
    }

    // ---- fp8 ----

    Result<void> take_fp8(const StoredTensor& tensor) {
        constexpr std::string_view kUnused[] = {".activation_scale", "_activation_scale", ".input_scale"};
        for (const std::string_view ending : kUnused)  // of activations, which are not quantised here
            if (tensor.name.ends_with(ending)) consumed_.insert(tensor.name);
        if (tensor.type != StoredType::f8_e4m3) return {};
        const bool has_name = tensor.name.ends_with(".weight") && tensor.shape.size() == 2;
        if (!has_name) return wrong_shape(tensor, tensor);
        RIFTJIT_TRY(scales, sister(tensor.name, "_scale_inv", tensor, true));
        const uint64_t rows = tensor.shape[0], width = tensor.shape[1];
        std::array<uint64_t, 2> block = {rows, width};
        if (const Json* stated = folder::find(*settings_, "weight_block_size")) {
            const bool are_two = stated->is_array() && stated->size() == 2 && (*stated)[0].is_number_unsigned() &&
                                 (*stated)[1].is_number_unsigned() && (*stated)[0] != Json(0u) &&
                                 (*stated)[1] != Json(0u);
            if (!are_two)
                return fail(ErrorKind::Format, "{} has weight_block_size {}; expected are two lengths from 1 on",
                            config_.place(key_), shown(*stated));
            block = {(*stated)[0].get<uint64_t>(), (*stated)[1].get<uint64_t>()};
        }
        const auto blocks = [](uint64_t length, uint64_t size) { return length / size + (length % size != 0 ? 1 : 0); };
        const uint64_t block_rows = blocks(rows, block[0]), block_columns = blocks(width, block[1]);
        if (scales->rows() * scales->width() != block_rows * block_columns ||
            (block_rows * block_columns > 1 && (scales->shape.size() != 2 || scales->shape[0] != block_rows)))
            return wrong_shape(*scales, tensor);
        std::array<float, 256> values;
        for (size_t i = 0; i < values.size(); ++i) values[i] = fp8_value(static_cast<uint8_t>(i));
        add(tensor.name, tensor, scales->type, rows, width, [&](uint64_t row, uint64_t column) {
            return values[std::to_integer<uint8_t>(tensor.data[row * width + column])] *
                   float_at(*scales, row / block[0] * block_columns + column / block[1]);
        });
        return {};
    }

    // ---- GPTQ and AWQ: inputs are rows, eight codes of 4 bits in a word ----

    Result<void> take_packed(const StoredTensor& tensor, bool is_awq) {
        if (!tensor.name.ends_with(".qweight")) return {};
        const std::string base = tensor.name.substr(0, tensor.name.size() - 8);
        RIFTJIT_TRY(scales, sister(base, ".scales", tensor, true));
        RIFTJIT_TRY(zeros, sister(base, ".qzeros", tensor, false));
        const uint32_t per_word = 32 / bits_;
        if (tensor.type != StoredType::i32 || tensor.shape.size() != 2) return wrong_shape(tensor, tensor);
        if (scales->shape.size() != 2 || zeros->shape.size() != 2) return wrong_shape(*scales, tensor);
        const uint64_t inputs = tensor.shape[0] * (is_awq ? 1 : per_word);
        const uint64_t outputs = tensor.shape[1] * (is_awq ? per_word : 1);
        const uint64_t groups = scales->shape[0];
        if (scales->shape[1] != outputs) return wrong_shape(*scales, tensor);
        if (zeros->shape[0] != groups || zeros->shape[1] * per_word != outputs) return wrong_shape(*zeros, tensor);
        if (inputs % groups != 0) return wrong_shape(*scales, tensor);
        RIFTJIT_TRY(group_of, groups_of(base, tensor, inputs, groups));
        // AWQ's order of columns in a word.
        static constexpr std::array<uint32_t, 8> kPlaceOfColumn = {0, 4, 1, 5, 2, 6, 3, 7};
        const auto place = [&](uint64_t column) -> uint64_t {
            return is_awq ? column / 8 * 8 + kPlaceOfColumn[column % 8] : column;
        };
        const std::byte* const codes = tensor.data.data();
        add(base + ".weight", tensor, scales->type, outputs, inputs, [&](uint64_t output, uint64_t input) {
            const uint64_t group = group_of.empty() ? input / (inputs / groups) : group_of[input];
            const uint64_t word =
                is_awq ? input * (outputs / per_word) + output / per_word : input / per_word * outputs + output;
            const uint64_t in_word = is_awq ? place(output) % per_word : input % per_word;
            const auto code = static_cast<int>(field_at(codes + word * 4, in_word, bits_));
            const std::byte* const zero_row = zeros->data.data() + group * zeros->shape[1] * 4;
            const auto zero = static_cast<int>(field_at(zero_row, place(output), bits_)) + zero_offset_;
            return float_at(*scales, group * outputs + output) * static_cast<float>(code - zero);
        });
        return {};
    }

    // Which group an input belongs to, where inputs were reordered by their activations; empty: one after the other.
    Result<std::vector<uint32_t>> groups_of(const std::string& base, const StoredTensor& tensor, uint64_t inputs,
                                            uint64_t groups) {
        std::vector<uint32_t> result;
        const StoredTensor* const order = weights_.find(base + ".g_idx");
        if (order == nullptr) return result;
        if (order->type != StoredType::i32 || order->shape.size() != 1 || order->width() != inputs)
            return wrong_shape(*order, tensor);
        for (uint64_t i = 0; i < inputs; ++i) {
            int32_t group;
            std::memcpy(&group, order->data.data() + i * sizeof group, sizeof group);
            if (group < 0 || static_cast<uint64_t>(group) >= groups)
                return fail(ErrorKind::Format, "{}: input {} belongs to group {} of {}", order->place, i, group,
                            groups);
            result.push_back(static_cast<uint32_t>(group));
        }
        consumed_.insert(order->name);
        return result;
    }

    // ---- MLX: scale * code + bias, by groups of a row ----

    Result<void> take_affine(const StoredTensor& tensor) {
        if (!tensor.name.ends_with(".weight") || tensor.type != StoredType::u32) return {};
        const std::string base = tensor.name.substr(0, tensor.name.size() - 7);
        RIFTJIT_TRY(scales, sister(base, ".scales", tensor, true));
        RIFTJIT_TRY(biases, sister(base, ".biases", tensor, true));
        RIFTJIT_TRY(bits, affine_setting(base, "bits"));
        RIFTJIT_TRY(group, affine_setting(base, "group_size"));
        if (bits != 2 && bits != 3 && bits != 4 && bits != 5 && bits != 6 && bits != 8)
            return fail(ErrorKind::Unsupported, "{} has {} bits; supported are 2 to 6 and 8", config_.place(key_),
                        bits);
        if (tensor.shape.size() != 2 || scales->shape.size() != 2) return wrong_shape(*scales, tensor);
        const uint64_t rows = tensor.shape[0], words = tensor.shape[1], width = words * 32 / bits;
        if (scales->shape != biases->shape || scales->shape[0] != rows || words * 32 % bits != 0 ||
            scales->shape[1] * group != width)
            return wrong_shape(*scales, tensor);
        add(tensor.name, tensor, scales->type, rows, width, [&](uint64_t row, uint64_t column) {
            const uint32_t code = field_at(tensor.data.data() + row * words * 4, column, bits);
            const uint64_t at = row * scales->shape[1] + column / group;
            return float_at(*scales, at) * static_cast<float>(code) + float_at(*biases, at);
        });
        return {};
    }

    // A layer may have settings of its own.
    Result<uint64_t> affine_setting(const std::string& base, std::string_view key) const {
        const Json* const own = folder::find(*settings_, base);
        const Json* value = own != nullptr ? folder::find(*own, key) : nullptr;
        if (value == nullptr) value = folder::find(*settings_, key);
        if (value != nullptr && value->is_number_unsigned() && value->get<uint64_t>() >= 1 &&
            value->get<uint64_t>() <= 65536)
            return value->get<uint64_t>();
        return fail(ErrorKind::Format, "{} has {} {}; expected is a number from 1 to 65536", config_.place(key_), key,
                    value == nullptr ? "absent" : shown(*value));
    }

    const Config& config_;
    Weights& weights_;
    std::vector<std::unique_ptr<std::byte[]>>& owned_;
    const Json* settings_ = nullptr;
    std::string_view key_;
    uint32_t bits_ = 4;
    int zero_offset_ = 0;
    std::set<std::string> consumed_;
    std::vector<StoredTensor> made_;
};

}  // namespace

Result<void> dequantise(const Config& config, Weights& weights, std::vector<std::unique_ptr<std::byte[]>>& owned) {
    return Dequantiser(config, weights, owned).run();
}

}  // namespace riftjit::models::folder
