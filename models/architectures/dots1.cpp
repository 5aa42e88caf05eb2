// dots1: qwen3's attention; dense layers first, then a mixture of experts with a bias for the choice and a shared
// expert.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_dots1(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "dots1", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid}, result));
    return result;
}

Result<BuiltGraph> build_dots1(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kDots1 = {"dots1", read_dots1, build_dots1};

}  // namespace riftjit::models
