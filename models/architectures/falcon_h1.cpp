// falcon-h1: every layer has attention and Mamba 2 side by side. Its factors are part of the file's weights.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_falcon_h1(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"falcon-h1", RopePairing::half}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    for (LayerTraits& layer : result.layer) layer.mixer = LayerTraits::Mixer::attention_and_mamba2;
    return result;
}

Result<BuiltGraph> build_falcon_h1(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kFalconH1 = {"falcon-h1", read_falcon_h1, build_falcon_h1};

}  // namespace riftjit::models
