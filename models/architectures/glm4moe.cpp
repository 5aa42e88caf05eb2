// glm4moe: dense layers first, then a mixture of experts: sigmoid, a bias for the choice alone, a shared expert. Half
// of a head is rotated; large ones have norms over each head of Q and K.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_glm4moe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "glm4moe",
                                                    .pairing = RopePairing::half,
                                                    .is_partly_rotated = true,
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_glm4moe(const Model& model) {
    return build_decoder(
        model, {.head_norms = DecoderTraits::HeadNorms::each_head_if_there, .ffn_norm = "post_attention_norm"});
}

}  // namespace

const Architecture kGlm4moe = {"glm4moe", read_glm4moe, build_glm4moe};

}  // namespace riftjit::models
