// olmoe: norms over whole rows of Q and K, and a mixture of experts whose weights stay as softmax has them.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_olmoe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "olmoe", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<BuiltGraph> build_olmoe(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::whole_row});
}

}  // namespace

const Architecture kOlmoe = {"olmoe", read_olmoe, build_olmoe};

}  // namespace riftjit::models
