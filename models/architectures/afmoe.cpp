// afmoe (Trinity): norms on both sides of each branch and over each head, gates on what attention adds up; most layers
// see a window and are rotated, the others are not; dense layers first, then a mixture of experts beside a shared one.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_afmoe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "afmoe",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    result.embedding_scale = std::sqrt(static_cast<float>(result.width));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 4, 0}, result));
    for (LayerTraits& layer : result.layer) layer.rotates = layer.is_local;
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_afmoe(const Model& model) {
    return build_decoder(model, {.branches = DecoderTraits::Branches::normed_both,
                                 .head_norms = DecoderTraits::HeadNorms::each_head,
                                 .has_attention_gates = true});
}

}  // namespace

const Architecture kAfmoe = {"afmoe", read_afmoe, build_afmoe};

}  // namespace riftjit::models
