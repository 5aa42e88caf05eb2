// qwen3next and qwen35, as far as texts go: qwen3's blocks, some with gated attention, most with a gated delta net in
// its place; with a mixture of experts beside a gated shared one, or without. Texts have one position where pictures
// have three, so that the sections of a rotation do not matter.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_delta_net(const Gguf& file, std::string_view architecture, bool has_experts) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::half,
                                                    .implemented = "full_attention_interval rope.dimension_sections",
                                                    .is_partly_rotated = true,
                                                    .has_experts = has_experts}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    RIFTJIT_TRY_VOID(read_recurrent_layers(file, result));
    if (has_experts) RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<Hyperparameters> read_qwen3_5(const Gguf& file) { return read_delta_net(file, "qwen35", false); }
Result<Hyperparameters> read_qwen3_5_moe(const Gguf& file) { return read_delta_net(file, "qwen35moe", true); }
Result<Hyperparameters> read_qwen3_next(const Gguf& file) { return read_delta_net(file, "qwen3next", true); }

Result<BuiltGraph> build_qwen3_5(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head,
                                 .has_query_gates = true,
                                 .ffn_norm = "post_attention_norm"});
}

}  // namespace

const Architecture kQwen35 = {"qwen35", read_qwen3_5, build_qwen3_5};
const Architecture kQwen35Moe = {"qwen35moe", read_qwen3_5_moe, build_qwen3_5};
const Architecture kQwen3Next = {"qwen3next", read_qwen3_next, build_qwen3_5};

}  // namespace riftjit::models
