// deepseek (the first): dense layers first, then a mixture of experts, whose weights stay as softmax has them, beside a
// shared one.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_deepseek(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "deepseek", .pairing = RopePairing::adjacent, .has_experts = true}));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<BuiltGraph> build_deepseek(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kDeepseek = {"deepseek", read_deepseek, build_deepseek};

}  // namespace riftjit::models
