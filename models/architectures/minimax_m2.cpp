// minimax-m2: norms over whole rows of Q and K, part of a head rotated, a mixture of experts: sigmoid, a bias for the
// choice alone, weights divided by their sum.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_minimax_m2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "minimax-m2",
                                                    .pairing = RopePairing::half,
                                                    .is_partly_rotated = true,
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid, .is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_minimax_m2(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::whole_row});
}

}  // namespace

const Architecture kMinimaxM2 = {"minimax-m2", read_minimax_m2, build_minimax_m2};

}  // namespace riftjit::models
