// command-r: both branches from one layer norm without a bias; logits times a factor.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_command_r(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "command-r",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "logit_scale",
                                                    .norm = Reading::Norm::layer}));
    RIFTJIT_TRY(logit, read_scale(file, "command-r", "logit_scale", 1));
    result.logit_scale = logit;
    return result;
}

Result<BuiltGraph> build_command_r(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer, .branches = DecoderTraits::Branches::parallel});
}

}  // namespace

const Architecture kCommandR = {"command-r", read_command_r, build_command_r};

}  // namespace riftjit::models
