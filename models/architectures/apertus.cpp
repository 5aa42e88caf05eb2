// apertus: llama's blocks with head norms; the feed-forward block has no gate and xIELU, whose numbers are each layer's
// own.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

// xielu.SUFFIX, one number for all layers or one each.
Result<std::vector<double>> read_by_layer(const Gguf& file, std::string_view suffix, uint32_t layers) {
    const std::string key = fmt::format("xielu.{}", suffix);
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return missing_key(file, key);
    std::vector<double> values;
    if (const auto* array = std::get_if<GgufArray>(&entry->value)) {
        for (uint64_t i = 0; i < array->count && array->element_type != GgufType::string; ++i) {
            const GgufValue value = element(*array, i);
            if (const auto* number = std::get_if<double>(&value)) values.push_back(*number);
        }
    } else {
        RIFTJIT_TRY(number, file.number(key));
        values.assign(layers, number.value_or(0));
    }
    if (values.size() < layers)
        return fail(ErrorKind::Format, "{}: key {} has wrong array length; expected {} numbers, got {}",
                    file.place_of(*entry), key, layers, values.size());
    for (const double value : values)
        if (!std::isfinite(value) || std::abs(value) > 1e6)
            return fail(ErrorKind::Format, "{}: {} is among its numbers; allowed are -1000000 to 1000000",
                        file.place_of(*entry), value);
    return values;
}

// The file has alpha_p and alpha_n before softplus, and beta is part of what negative numbers are multiplied by.
Result<void> read_xielu(const Gguf& file, Hyperparameters& result) {
    RIFTJIT_TRY(positive, read_by_layer(file, "alpha_p", result.layers));
    RIFTJIT_TRY(negative, read_by_layer(file, "alpha_n", result.layers));
    RIFTJIT_TRY(linear, read_by_layer(file, "beta", result.layers));
    RIFTJIT_TRY(limit, read_by_layer(file, "eps", result.layers));
    const auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
    for (uint32_t i = 0; i < result.layers; ++i) {
        if (limit[i] > 0)
            return fail(ErrorKind::Format, "{}: {} is among its numbers; allowed are those up to 0",
                        file.place_of(*file.find("xielu.eps")), limit[i]);
        result.layer[i].xielu = {static_cast<float>(softplus(positive[i])),
                                 static_cast<float>(linear[i] + softplus(negative[i])), static_cast<float>(linear[i]),
                                 static_cast<float>(limit[i])};
    }
    return {};
}

Result<Hyperparameters> read_apertus(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"apertus", RopePairing::half}));
    RIFTJIT_TRY_VOID(read_xielu(file, result));
    return result;
}

Result<BuiltGraph> build_apertus(const Model& model) {
    return build_decoder(
        model, {.head_norms = DecoderTraits::HeadNorms::each_head, .activation = Activation::xielu, .is_gated = false});
}

}  // namespace

const Architecture kApertus = {"apertus", read_apertus, build_apertus};

}  // namespace riftjit::models
