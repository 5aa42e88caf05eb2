// phi2: both branches from one layer norm; GELU without a gate; part of a head is rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_phi2(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "phi2",
                                       .pairing = RopePairing::half,
                                       .norm = Reading::Norm::layer,
                                       .is_partly_rotated = true});
}

Result<BuiltGraph> build_phi2(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .branches = DecoderTraits::Branches::parallel,
                                 .activation = Activation::gelu_tanh,
                                 .is_gated = false});
}

}  // namespace

const Architecture kPhi2 = {"phi2", read_phi2, build_phi2};

}  // namespace riftjit::models
