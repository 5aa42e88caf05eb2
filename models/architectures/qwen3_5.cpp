// qwen35 without experts, as far as texts go: qwen3's blocks, some with gated attention, most with a gated delta net in
// its place. Texts have one position where pictures have three, so that the sections of a rotation do not matter.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen3_5(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "qwen35",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "full_attention_interval rope.dimension_sections",
                                                    .is_partly_rotated = true}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    RIFTJIT_TRY_VOID(read_recurrent_layers(file, result));
    return result;
}

Result<BuiltGraph> build_qwen3_5(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head,
                                 .has_query_gates = true,
                                 .ffn_norm = "post_attention_norm"});
}

}  // namespace

const Architecture kQwen35 = {"qwen35", read_qwen3_5, build_qwen3_5};

}  // namespace riftjit::models
