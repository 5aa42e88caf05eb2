// arctic: llama's blocks, each with a mixture of experts beside it that sees the block's input.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_arctic(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "arctic", .pairing = RopePairing::adjacent, .has_experts = true}));
    for (LayerTraits& layer : result.layer) layer.ffn_width = result.width;  // the key's is that of experts
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_arctic(const Model& model) { return build_decoder(model, {.has_parallel_experts = true}); }

}  // namespace

const Architecture kArctic = {"arctic", read_arctic, build_arctic};

}  // namespace riftjit::models
