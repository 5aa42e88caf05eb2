// hy_v3 (Hunyuan 3): norms over each head; dense layers first, then a mixture of experts with a bias for the choice,
// beside a shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_hy_v3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "hy_v3", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_hy_v3(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kHyV3 = {"hy_v3", read_hy_v3, build_hy_v3};

}  // namespace riftjit::models
