// minicpm3: latent attention whose two tables are one, minicpm's factors. plm: the same attention, a feed-forward block
// with squared ReLU.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_minicpm3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "minicpm3",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.q_lora_rank attention.kv_lora_rank",
                                                    .is_partly_rotated = true,
                                                    .is_latent = true}));
    RIFTJIT_TRY_VOID(read_expanded_latent(file, result));
    // No keys say so.
    result.embedding_scale = 12;
    result.residual_scale = 1.4f / std::sqrt(static_cast<float>(result.layers));
    result.logit_scale = 256.0f / static_cast<float>(result.width);
    return result;
}

Result<Hyperparameters> read_plm(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "plm",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.kv_lora_rank",
                                                    .is_partly_rotated = true,
                                                    .is_latent = true}));
    RIFTJIT_TRY_VOID(read_expanded_latent(file, result));
    return result;
}

Result<BuiltGraph> build_minicpm3(const Model& model) { return build_decoder(model, {}); }

Result<BuiltGraph> build_plm(const Model& model) {
    return build_decoder(model, {.activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kMinicpm3 = {"minicpm3", read_minicpm3, build_minicpm3};
const Architecture kPlm = {"plm", read_plm, build_plm};

}  // namespace riftjit::models
