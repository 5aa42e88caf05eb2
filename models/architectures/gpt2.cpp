// gpt2: layer norms, GELU without a gate, a table of positions in place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_gpt2(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(
                    file, {.architecture = "gpt2", .pairing = RopePairing::half, .norm = Reading::Norm::layer}));
    for (LayerTraits& layer : result.layer) layer.rotates = false;
    return result;
}

Result<BuiltGraph> build_gpt2(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .activation = Activation::gelu_tanh,
                                 .is_gated = false,
                                 .has_position_table = true});
}

}  // namespace

const Architecture kGpt2 = {"gpt2", read_gpt2, build_gpt2};

}  // namespace riftjit::models
