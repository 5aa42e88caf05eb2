// ernie 4.5 with a mixture of experts: softmax, a bias for the choice alone, weights divided by their sum, perhaps a
// shared expert.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_ernie4_5_moe(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(
                    file, {.architecture = "ernie4_5-moe", .pairing = RopePairing::adjacent, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_ernie4_5_moe(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kErnie45Moe = {"ernie4_5-moe", read_ernie4_5_moe, build_ernie4_5_moe};

}  // namespace riftjit::models
