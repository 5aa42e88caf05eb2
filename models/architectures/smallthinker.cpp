// smallthinker: a mixture of experts with gated ReLU in every layer, whose router sees the block's input; where layers
// see windows, those that see everything are not rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_smallthinker(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "smallthinker",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    RIFTJIT_TRY(window, file.integer("smallthinker.attention.sliding_window", 0, INT32_MAX));
    if (window.value_or(0) != 0) {
        RIFTJIT_TRY_VOID(read_windows(file, {0, 4, 0, true}, result));
        for (LayerTraits& layer : result.layer) layer.rotates = layer.is_local;
    }
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_smallthinker(const Model& model) {
    return build_decoder(model, {.activation = Activation::relu, .routes_block_input = true});
}

}  // namespace

const Architecture kSmallthinker = {"smallthinker", read_smallthinker, build_smallthinker};

}  // namespace riftjit::models
