// qwen (the first): llama's blocks with a fused QKV that has a bias; files count the widths of gate and up together.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"qwen", RopePairing::half}));
    result.ffn_width /= 2;
    for (LayerTraits& layer : result.layer) layer.ffn_width /= 2;
    return result;
}

Result<BuiltGraph> build_qwen(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kQwen = {"qwen", read_qwen, build_qwen};

}  // namespace riftjit::models
