// granite: llama's blocks with factors on embeddings, scores, branches and logits. granitemoe has a mixture of experts,
// perhaps beside a shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_granite(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"granite", RopePairing::adjacent,
                                                    "embedding_scale residual_scale logit_scale attention.scale"}));
    RIFTJIT_TRY_VOID(read_granite_factors(file, result));
    return result;
}

Result<Hyperparameters> read_granitemoe(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(file, {.architecture = "granitemoe",
                                            .pairing = RopePairing::adjacent,
                                            .implemented = "embedding_scale residual_scale logit_scale attention.scale",
                                            .has_experts = true}));
    RIFTJIT_TRY_VOID(read_granite_factors(file, result));
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_granite(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kGranite = {"granite", read_granite, build_granite};
const Architecture kGraniteMoe = {"granitemoe", read_granitemoe, build_granite};

}  // namespace riftjit::models
