// gpt-oss: sinks, a window in every other layer, YaRN, and a mixture of experts with biases: softmax over the chosen,
// and a clamped SwiGLU.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_gpt_oss(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "gpt-oss",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {128, 2, 0}, result));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::softmax_of_chosen}, result));
    return result;
}

Result<BuiltGraph> build_gpt_oss(const Model& model) {
    return build_decoder(
        model, {.activation = Activation::clamped_silu, .has_sinks = true, .ffn_norm = "post_attention_norm"});
}

}  // namespace

const Architecture kGptOss = {"gpt-oss", read_gpt_oss, build_gpt_oss};

}  // namespace riftjit::models
