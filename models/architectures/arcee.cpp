// arcee: llama's blocks with a feed-forward of squared ReLU without a gate.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_arcee(const Gguf& file) {
    return read_hyperparameters(file, {"arcee", RopePairing::adjacent});
}

Result<BuiltGraph> build_arcee(const Model& model) {
    return build_decoder(model, {.activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kArcee = {"arcee", read_arcee, build_arcee};

}  // namespace riftjit::models
