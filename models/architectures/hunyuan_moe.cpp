// hunyuan with a mixture of experts beside a shared one; norms over each head of Q and K behind the rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_hunyuan_moe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "hunyuan-moe", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_hunyuan_moe(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head_late});
}

}  // namespace

const Architecture kHunyuanMoe = {"hunyuan-moe", read_hunyuan_moe, build_hunyuan_moe};

}  // namespace riftjit::models
