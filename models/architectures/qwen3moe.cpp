// qwen3moe: qwen3's blocks with a mixture of experts: softmax, the weights of the chosen divided by their sum.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen3moe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "qwen3moe", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_qwen3moe(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kQwen3moe = {"qwen3moe", read_qwen3moe, build_qwen3moe};

}  // namespace riftjit::models
