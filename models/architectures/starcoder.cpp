// starcoder: gpt2's blocks with one key and value head.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_starcoder(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(
                    file, {.architecture = "starcoder", .pairing = RopePairing::half, .norm = Reading::Norm::layer}));
    for (LayerTraits& layer : result.layer) layer.rotates = false;
    return result;
}

Result<BuiltGraph> build_starcoder(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .activation = Activation::gelu_tanh,
                                 .is_gated = false,
                                 .has_position_table = true});
}

}  // namespace

const Architecture kStarcoder = {"starcoder", read_starcoder, build_starcoder};

}  // namespace riftjit::models
