// phimoe (Phi-3.5-MoE): llama's blocks with layer norms and biases, and a mixture of experts whose router is a sparse
// mixer: each of the two weighs what it is among its near rivals, so that most weights are 1. As published; llama.cpp
// norms without the mean and has the two weights add up to 1.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_phimoe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "phimoe",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sparse_mixer}, result));
    return result;
}

Result<BuiltGraph> build_phimoe(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer});
}

}  // namespace

const Architecture kPhimoe = {"phimoe", read_phimoe, build_phimoe};

}  // namespace riftjit::models
