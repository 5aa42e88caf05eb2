// nemotron_h: layers of one branch, which is Mamba 2, attention without a rotation, or a feed-forward block with
// squared ReLU; nemotron_h_moe has mixtures of experts in their place, which may work on rows of fewer elements.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_nemotron(const Gguf& file, std::string_view architecture, bool has_experts) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::half,
                                                    .norm = Reading::Norm::layer,  // by the key's name alone
                                                    .is_partly_rotated = true,
                                                    .is_rotated = false,
                                                    .has_experts = has_experts,
                                                    .other_mixer = LayerTraits::Mixer::mamba2}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    for (LayerTraits& layer : result.layer)
        if (layer.mixer == LayerTraits::Mixer::mamba2 && layer.has_feed_forward) layer.mixer = LayerTraits::Mixer::none;
    if (has_experts) RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid, .is_normed = true}, result));
    return result;
}

Result<Hyperparameters> read_nemotron_h(const Gguf& file) { return read_nemotron(file, "nemotron_h", false); }
Result<Hyperparameters> read_nemotron_h_moe(const Gguf& file) { return read_nemotron(file, "nemotron_h_moe", true); }

Result<BuiltGraph> build_nemotron_h(const Model& model) {
    return build_decoder(model, {.activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kNemotronH = {"nemotron_h", read_nemotron_h, build_nemotron_h};
const Architecture kNemotronHMoe = {"nemotron_h_moe", read_nemotron_h_moe, build_nemotron_h};

}  // namespace riftjit::models
