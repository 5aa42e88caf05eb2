// hunyuan (dense): llama's blocks with norms over each head of Q and K behind the rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_hunyuan_dense(const Gguf& file) {
    return read_hyperparameters(file, {"hunyuan-dense", RopePairing::half});
}

Result<BuiltGraph> build_hunyuan_dense(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head_late});
}

}  // namespace

const Architecture kHunyuanDense = {"hunyuan-dense", read_hunyuan_dense, build_hunyuan_dense};

}  // namespace riftjit::models
