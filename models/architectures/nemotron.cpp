// nemotron: layer norms whose gains include their 1, squared ReLU without a gate, part of a head rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_nemotron(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "nemotron",
                                       .pairing = RopePairing::half,
                                       .norm = Reading::Norm::layer,
                                       .is_partly_rotated = true});
}

Result<BuiltGraph> build_nemotron(const Model& model) {
    return build_decoder(
        model, {.norm = DecoderTraits::Norm::layer, .activation = Activation::relu_squared, .is_gated = false});
}

}  // namespace

const Architecture kNemotron = {"nemotron", read_nemotron, build_nemotron};

}  // namespace riftjit::models
