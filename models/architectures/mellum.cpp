// mellum (2): qwen3moe's blocks, most of which see a window and rotate without YaRN.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_mellum(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "mellum",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 4, result.rope.base}, result));
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<BuiltGraph> build_mellum(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kMellum = {"mellum", read_mellum, build_mellum};

}  // namespace riftjit::models
