#include "models/architectures/tensor_check.h"

#include <charconv>
#include <optional>

#include "models/architectures/word_list.h"

namespace riftjit::models {

namespace {

// Names that GGUF gives to parts of a block's or a model's computation (gguf-py: constants.py). A block that has one of
// them and an architecture that does not use it mean that the file is not what its architecture key says.
constexpr std::string_view kBlockParts =
    "attn_norm attn_norm_2 attn_q attn_k attn_v attn_qkv attn_output attn_q_norm attn_k_norm attn_gate attn_sinks "
    "attn_sub_norm post_attention_norm ffn_norm ffn_gate ffn_up ffn_down ffn_sub_norm post_ffw_norm ffn_gate_inp "
    "ffn_gate_exps ffn_up_exps ffn_down_exps ffn_gate_up_exps ffn_gate_shexp ffn_up_shexp ffn_down_shexp "
    "ffn_gate_inp_shexp exp_probs_b layer_output_norm ssm_in ssm_conv1d ssm_dt ssm_a ssm_d ssm_ba ssm_alpha "
    "ssm_beta ssm_x ssm_dt_norm ssm_b_norm ssm_c_norm ssm_norm ssm_out shortconv post_ffw_norm_1 pre_ffw_norm_2 "
    "post_ffw_norm_2 layer_output_scale "
    "altup_correct_coef altup_correct_scale altup_predict_coef altup_router altup_router_norm laurel_l laurel_r "
    "laurel_post_norm ffn_latent_down ffn_latent_up ffn_norm_exps attn_output_norm attn_v_norm "
    "inp_gate proj post_norm attn_q_a attn_q_a_norm attn_q_b attn_kv_a_mqa attn_kv_a_norm attn_kv_b attn_k_b "
    "attn_v_b rope_factors_long rope_factors_short rope_freqs";
constexpr std::string_view kModelParts =
    "token_embd token_embd_norm token_types position_embd output_norm output rope_freqs rope_factors_long "
    "rope_factors_short per_layer_token_embd per_layer_model_proj per_layer_proj_norm "
    "altup_proj altup_unembd_proj";

std::string_view up_to_dot(std::string_view text) { return text.substr(0, text.find('.')); }

struct BlockTensor {
    uint32_t layer;
    std::string_view part;
};

// "blk.3.attn_q.weight" -> {3, "attn_q"}
std::optional<BlockTensor> parse_block_name(std::string_view name) {
    if (!name.starts_with("blk.")) return std::nullopt;
    name.remove_prefix(4);
    uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    const auto digits = static_cast<size_t>(end - name.data());
    if (error != std::errc() || digits == name.size() || name[digits] != '.') return std::nullopt;
    return BlockTensor{layer, up_to_dot(name.substr(digits + 1))};
}

bool belongs_to_computation(std::string_view name, uint32_t layers) {
    // Only hardware that multiplies in 4 bits reads these.
    if (name.ends_with(".input_scale")) return false;
    if (const auto block = parse_block_name(name)) return block->layer < layers && lists(kBlockParts, block->part);
    return lists(kModelParts, up_to_dot(name));
}

}  // namespace

Result<std::vector<std::string>> unused_tensors(const Gguf& file, const Hyperparameters& hyperparameters,
                                                const std::unordered_set<std::string_view>& used) {
    std::vector<std::string> unused;
    for (const GgufTensor& tensor : file.tensors()) {
        if (used.contains(tensor.name)) continue;
        if (tensor.size_bytes > 0 && belongs_to_computation(tensor.name, hyperparameters.layers))
            return fail(
                ErrorKind::Unsupported,
                "{}: unsupported for architecture {}: the tensor belongs to the computation, and leaving it out "
                "would change the output",
                file.place_of(tensor), hyperparameters.architecture);
        unused.emplace_back(tensor.name);
    }
    return unused;
}

}  // namespace riftjit::models
