// llama4: llama's blocks, some with a mixture of experts whose weights scale what experts see, beside a shared one.
// Most layers see the chunk of positions that they stand in, and norm each head behind the rotation; the others see
// everything, are not rotated, and scale queries up far behind.
#include <bit>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

// Published files have no keys for what they all share: chunks and temperatures over 8192 positions.
Result<void> read_chunks(const Gguf& file, Hyperparameters& result) {
    constexpr uint32_t kPositions = 8192;
    RIFTJIT_TRY_VOID(read_windows(file, {kPositions, 4, 0}, result));
    RIFTJIT_TRY(size, file.integer("llama4.attention.chunk_size", 1, 1u << 30));
    const auto chunk = static_cast<uint32_t>(size.value_or(kPositions));
    if (!std::has_single_bit(chunk))
        return fail(ErrorKind::Unsupported, "{} is {}; supported are powers of two",
                    file.place_of(*file.find("llama4.attention.chunk_size")), chunk);
    for (LayerTraits& layer : result.layer) {
        layer.window = 0;
        layer.chunk = layer.is_local ? chunk : 0;
        layer.rotates = layer.is_local;
        layer.is_tempered = !layer.is_local;
    }
    RIFTJIT_TRY_VOID(read_query_temperature(file, result));
    QueryTemperature& temperature = result.query_temperature;
    if (file.find("llama4.attention.temperature_scale") == nullptr) temperature.factor = 0.1f;
    if (file.find("llama4.attention.temperature_length") == nullptr) temperature.length = kPositions;
    temperature.offset = 1;
    return {};
}

constexpr uint32_t kExpertsWithoutHeadNorms = 128;  // no key says so

Result<Hyperparameters> read_llama4(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "llama4",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.sliding_window attention.chunk_size "
                                                                   "attention.temperature_scale",
                                                    .has_experts = true}));
    RIFTJIT_TRY(window, file.integer("llama4.attention.sliding_window", 0, INT32_MAX));
    if (window.value_or(1) != 0) RIFTJIT_TRY_VOID(read_chunks(file, result));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid, .weighs_inputs = true}, result));
    return result;
}

Result<BuiltGraph> build_llama4(const Model& model) {
    const bool has_norms = model.hyperparameters.experts.count != kExpertsWithoutHeadNorms;
    return build_decoder(model, {.head_norms = has_norms ? DecoderTraits::HeadNorms::late_without_gain
                                                         : DecoderTraits::HeadNorms::none});
}

}  // namespace

const Architecture kLlama4 = {"llama4", read_llama4, build_llama4};

}  // namespace riftjit::models
