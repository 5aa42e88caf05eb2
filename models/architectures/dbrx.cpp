// dbrx: layer norms without biases, Q, K and V kept within bounds, a mixture of experts in every layer.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_dbrx(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "dbrx",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.clamp_kqv",
                                                    .norm = Reading::Norm::layer,
                                                    .has_experts = true}));
    RIFTJIT_TRY(limit, read_factor(file, "dbrx", "attention.clamp_kqv", 0));
    result.qkv_limit = limit;
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_dbrx(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer, .ffn_norm = "attn_output_norm"});
}

}  // namespace

const Architecture kDbrx = {"dbrx", read_dbrx, build_dbrx};

}  // namespace riftjit::models
