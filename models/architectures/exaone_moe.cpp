// exaone-moe (K-EXAONE): norms over each head; most layers see a window and are rotated, the others are not; dense
// layers first, then a mixture of experts with a bias for the choice, beside a shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_exaone_moe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "exaone-moe",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {128, 4, 0}, result));
    for (LayerTraits& layer : result.layer) layer.rotates = layer.is_local;
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_exaone_moe(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kExaoneMoe = {"exaone-moe", read_exaone_moe, build_exaone_moe};

}  // namespace riftjit::models
