// orion: layer norms, SwiGLU.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_orion(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "orion", .pairing = RopePairing::half, .norm = Reading::Norm::layer});
}

Result<BuiltGraph> build_orion(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer});
}

}  // namespace

const Architecture kOrion = {"orion", read_orion, build_orion};

}  // namespace riftjit::models
