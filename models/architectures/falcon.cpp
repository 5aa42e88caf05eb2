// falcon: both branches in parallel, from one layer norm, or from one each (the larger models); GELU without a gate.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_falcon(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "falcon", .pairing = RopePairing::half, .norm = Reading::Norm::layer});
}

Result<BuiltGraph> build_falcon(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .branches = DecoderTraits::Branches::parallel,
                                 .activation = Activation::gelu_erf,
                                 .is_gated = false});
}

}  // namespace

const Architecture kFalcon = {"falcon", read_falcon, build_falcon};

}  // namespace riftjit::models
