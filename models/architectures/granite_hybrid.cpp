// granitehybrid (Granite 4, Bamba): granite's blocks, most of which have Mamba 2 in attention's place; perhaps a
// mixture of experts.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_granite_hybrid(const Gguf& file) {
    RIFTJIT_TRY(result,
                read_hyperparameters(file, {.architecture = "granitehybrid",
                                            .pairing = RopePairing::adjacent,
                                            .implemented = "embedding_scale residual_scale logit_scale attention.scale",
                                            .has_experts = true,
                                            .other_mixer = LayerTraits::Mixer::mamba2}));
    RIFTJIT_TRY_VOID(read_granite_factors(file, result));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    RIFTJIT_TRY(experts, file.integer("granitehybrid.expert_count", 0, kMaxExperts));
    if (experts.value_or(0) != 0) RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_granite_hybrid(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kGraniteHybrid = {"granitehybrid", read_granite_hybrid, build_granite_hybrid};

}  // namespace riftjit::models
