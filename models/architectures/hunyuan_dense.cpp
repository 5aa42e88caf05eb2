// hunyuan (dense): llama's blocks with norms over each head of Q and K behind the rotation. hunyuan_vl is the same as
// far as texts go, whose tokens have one position where a picture's have more.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_hunyuan_dense(const Gguf& file) {
    return read_hyperparameters(file, {"hunyuan-dense", RopePairing::half});
}

Result<Hyperparameters> read_hunyuan_vl(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {"hunyuan_vl", RopePairing::half, "rope.dimension_sections rope.scaling.alpha"}));
    // Frequencies for longer contexts: the base times alpha^(d / (d - 2)).
    RIFTJIT_TRY(alpha, read_factor(file, "hunyuan_vl", "rope.scaling.alpha", 0));
    if (alpha > 0) {
        const double dim = result.head_dim;
        result.rope.base = static_cast<float>(result.rope.base * std::pow(double(alpha), dim / (dim - 2)));
        result.local_rope = result.rope;
    }
    return result;
}

Result<BuiltGraph> build_hunyuan_dense(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head_late});
}

}  // namespace

const Architecture kHunyuanDense = {"hunyuan-dense", read_hunyuan_dense, build_hunyuan_dense};
const Architecture kHunyuanVl = {"hunyuan_vl", read_hunyuan_vl, build_hunyuan_dense};

}  // namespace riftjit::models
