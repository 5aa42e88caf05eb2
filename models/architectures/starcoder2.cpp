// starcoder2: layer norms, biases, GELU without a gate.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_starcoder2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "starcoder2",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .norm = Reading::Norm::layer}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    return result;
}

Result<BuiltGraph> build_starcoder2(const Model& model) {
    return build_decoder(model,
                         {.norm = DecoderTraits::Norm::layer, .activation = Activation::gelu_tanh, .is_gated = false});
}

}  // namespace

const Architecture kStarcoder2 = {"starcoder2", read_starcoder2, build_starcoder2};

}  // namespace riftjit::models
