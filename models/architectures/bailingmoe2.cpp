// bailingmoe2 (Ling 2): norms over each head of Q and K, part of a head rotated; dense layers first, then a mixture of
// experts in groups with a bias for the choice, beside a shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_bailingmoe2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "bailingmoe2",
                                                    .pairing = RopePairing::half,
                                                    .is_partly_rotated = true,
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_bailingmoe2(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kBailingmoe2 = {"bailingmoe2", read_bailingmoe2, build_bailingmoe2};

}  // namespace riftjit::models
