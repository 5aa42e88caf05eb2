// bailingmoe (Ling): a mixture of experts beside a shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_bailingmoe(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(
                    file, {.architecture = "bailingmoe", .pairing = RopePairing::adjacent, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<BuiltGraph> build_bailingmoe(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kBailingmoe = {"bailingmoe", read_bailingmoe, build_bailingmoe};

}  // namespace riftjit::models
