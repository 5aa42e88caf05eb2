// nemotron_h: layers of one branch, which is Mamba 2, attention without a rotation, or a feed-forward block with
// squared ReLU.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_nemotron_h(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "nemotron_h",
                                                    .pairing = RopePairing::half,
                                                    .norm = Reading::Norm::layer,  // by the key's name alone
                                                    .is_partly_rotated = true,
                                                    .is_rotated = false,
                                                    .other_mixer = LayerTraits::Mixer::mamba2}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    for (LayerTraits& layer : result.layer)
        if (layer.mixer == LayerTraits::Mixer::mamba2 && layer.has_feed_forward) layer.mixer = LayerTraits::Mixer::none;
    return result;
}

Result<BuiltGraph> build_nemotron_h(const Model& model) {
    return build_decoder(model, {.activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kNemotronH = {"nemotron_h", read_nemotron_h, build_nemotron_h};

}  // namespace riftjit::models
