// codeshell: gpt2's blocks with grouped queries and a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_codeshell(const Gguf& file) {
    return read_hyperparameters(
        file, {.architecture = "codeshell", .pairing = RopePairing::half, .norm = Reading::Norm::layer});
}

Result<BuiltGraph> build_codeshell(const Model& model) {
    return build_decoder(model,
                         {.norm = DecoderTraits::Norm::layer, .activation = Activation::gelu_tanh, .is_gated = false});
}

}  // namespace

const Architecture kCodeshell = {"codeshell", read_codeshell, build_codeshell};

}  // namespace riftjit::models
