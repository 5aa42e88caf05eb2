// qwen2moe: qwen2's blocks with a mixture of experts, whose weights stay as softmax has them, and a shared expert
// behind a gate of its own.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen2moe(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "qwen2moe", .pairing = RopePairing::half, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<BuiltGraph> build_qwen2moe(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kQwen2moe = {"qwen2moe", read_qwen2moe, build_qwen2moe};

}  // namespace riftjit::models
