// bloom: layer norms, also behind the lookup, GELU without a gate, linear biases in place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_bloom(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "bloom",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.max_alibi_bias",
                                                    .norm = Reading::Norm::layer,
                                                    .is_rotated = false}));
    RIFTJIT_TRY(bias, read_factor(file, "bloom", "attention.max_alibi_bias", 8));
    result.max_alibi_bias = bias;
    return result;
}

Result<BuiltGraph> build_bloom(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .activation = Activation::gelu_tanh,
                                 .is_gated = false,
                                 .has_embedding_norm = true});
}

}  // namespace

const Architecture kBloom = {"bloom", read_bloom, build_bloom};

}  // namespace riftjit::models
