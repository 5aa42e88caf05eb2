// cohere2: as command-r; three of four layers see a window, and only they rotate.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_cohere2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "cohere2",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "logit_scale attention.sliding_window",
                                                    .norm = Reading::Norm::layer}));
    RIFTJIT_TRY(logit, read_scale(file, "cohere2", "logit_scale", 1));
    result.logit_scale = logit;
    RIFTJIT_TRY_VOID(read_windows(file, {0, 4, 0}, result));
    for (LayerTraits& layer : result.layer) layer.rotates = layer.is_local;
    return result;
}

Result<BuiltGraph> build_cohere2(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer, .branches = DecoderTraits::Branches::parallel});
}

}  // namespace

const Architecture kCohere2 = {"cohere2", read_cohere2, build_cohere2};

}  // namespace riftjit::models
