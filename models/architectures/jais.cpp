// jais: gpt2's blocks with SwiGLU, and linear biases in place of positions; scores are divided by the head size.
// jais2: layer norms, a rotation, squared ReLU.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_jais(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "jais",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.max_alibi_bias",
                                                    .norm = Reading::Norm::layer,
                                                    .is_rotated = false}));
    RIFTJIT_TRY(bias, read_factor(file, "jais", "attention.max_alibi_bias", 0));
    result.max_alibi_bias = bias;
    result.attention_scale = 1.0f / static_cast<float>(result.head_dim);
    return result;
}

Result<Hyperparameters> read_jais2(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "jais2", .pairing = RopePairing::half, .norm = Reading::Norm::layer});
}

Result<BuiltGraph> build_jais(const Model& model) { return build_decoder(model, {.norm = DecoderTraits::Norm::layer}); }

Result<BuiltGraph> build_jais2(const Model& model) {
    return build_decoder(
        model, {.norm = DecoderTraits::Norm::layer, .activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kJais = {"jais", read_jais, build_jais};
const Architecture kJais2 = {"jais2", read_jais2, build_jais2};

}  // namespace riftjit::models
