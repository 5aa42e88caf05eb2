// jamba: llama's blocks, some with attention that does not rotate, most with Mamba 1 in its place; some may have a
// mixture of experts, whose weights stay as softmax has them.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_jamba(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "jamba",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "expert_count expert_used_count",
                                                    .is_rotated = false,
                                                    .other_mixer = LayerTraits::Mixer::mamba}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    RIFTJIT_TRY(experts, file.integer("jamba.expert_count", 0, kMaxExperts));
    if (experts.value_or(0) > 1) RIFTJIT_TRY_VOID(read_experts(file, {}, result));  // 1: dense
    return result;
}

Result<BuiltGraph> build_jamba(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kJamba = {"jamba", read_jamba, build_jamba};

}  // namespace riftjit::models
