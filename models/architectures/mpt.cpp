// mpt: layer norms, GELU without a gate, linear biases in place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_mpt(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "mpt",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.max_alibi_bias attention.clamp_kqv",
                                                    .norm = Reading::Norm::layer,
                                                    .is_rotated = false}));
    RIFTJIT_TRY(bias, read_factor(file, "mpt", "attention.max_alibi_bias", 0));
    result.max_alibi_bias = bias;
    RIFTJIT_TRY(limit, read_factor(file, "mpt", "attention.clamp_kqv", 0));
    result.qkv_limit = limit;
    return result;
}

Result<BuiltGraph> build_mpt(const Model& model) {
    return build_decoder(model,
                         {.norm = DecoderTraits::Norm::layer, .activation = Activation::gelu_erf, .is_gated = false});
}

}  // namespace

const Architecture kMpt = {"mpt", read_mpt, build_mpt};

}  // namespace riftjit::models
