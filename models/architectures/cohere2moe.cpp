// cohere2moe: cohere2's blocks, dense layers first, then the mean of a mixture of experts and a shared one. Layers that
// see everything are not rotated, but for the dense ones.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_cohere2moe(const Gguf& file) {
    const bool is_rms = file.find("cohere2moe.attention.layer_norm_epsilon") == nullptr;
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "cohere2moe",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.sliding_window logit_scale",
                                                    .norm = is_rms ? Reading::Norm::rms : Reading::Norm::layer,
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 4, 0, true}, result));
    RIFTJIT_TRY(dense, file.integer("cohere2moe.leading_dense_block_count", 0, result.layers));
    for (uint32_t i = 0; i < result.layers; ++i)
        result.layer[i].rotates = result.layer[i].is_local || i < dense.value_or(0);
    RIFTJIT_TRY(scale, read_scale(file, "cohere2moe", "logit_scale", 1));
    result.logit_scale = scale;
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    result.experts.averages_shared = true;
    return result;
}

Result<BuiltGraph> build_cohere2moe(const Model& model) {
    const bool is_rms = model.file.find("cohere2moe.attention.layer_norm_epsilon") == nullptr;
    return build_decoder(model, {.norm = is_rms ? DecoderTraits::Norm::rms : DecoderTraits::Norm::layer,
                                 .branches = DecoderTraits::Branches::parallel});
}

}  // namespace

const Architecture kCohere2moe = {"cohere2moe", read_cohere2moe, build_cohere2moe};

}  // namespace riftjit::models
