// Source of names and values as in families.cpp.
#include "models/folder/mixtures.h"

#include <array>

#include "models/folder/decoders.h"
#include "models/folder/rewriting.h"

namespace riftjit::models::folder {

namespace {

// ---- what several families share ----

Result<void> stack_experts(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(rewriter.leave_out_drafts());
    return rewriter.stack_experts();
}

// ---- qwen ----

Result<void> set_qwen_moe(Keys& keys, bool norms_weights) {
    RIFTJIT_TRY_VOID(set_qwen(keys));
    // Files do not say whether weights are normed.
    RIFTJIT_TRY(is_normed, keys.config().boolean({"norm_topk_prob"}));
    if (is_normed.value_or(false) != norms_weights)
        return fail(ErrorKind::Unsupported, "{} is {}: unsupported for architecture {}; supported is {}",
                    keys.config().place("norm_topk_prob"), is_normed.value_or(false), keys.architecture(),
                    norms_weights);
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    return keys.copy_integer("expert_shared_feed_forward_length", {"shared_expert_intermediate_size"});
}
Result<void> set_qwen2moe(Keys& keys) { return set_qwen_moe(keys, false); }
Result<void> set_qwen3moe(Keys& keys) { return set_qwen_moe(keys, true); }

Result<void> set_olmoe(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"clip_qkv"}, {}));
    RIFTJIT_TRY_VOID(keys.allow_only({"norm_topk_prob"}, {false}));
    RIFTJIT_TRY_VOID(set_plain(keys));
    keys.set("attention.layer_norm_rms_epsilon", 1e-5f);  // the family's, whatever the configuration says
    return {};
}

// ---- mixtral and others that call a mixture a sparse block ----

constexpr auto kMixtralRules = std::to_array<NameRule>({
    {"layers.#.block_sparse_moe.gate", "blk.#.ffn_gate_inp"},
    {"layers.#.block_sparse_moe.e_score_correction_bias", "blk.#.exp_probs_b.bias", Change::whole_name},
    {"layers.#.block_sparse_moe.experts.w1", "blk.#.ffn_gate_exps"},
    {"layers.#.block_sparse_moe.experts.w2", "blk.#.ffn_down_exps"},
    {"layers.#.block_sparse_moe.experts.w3", "blk.#.ffn_up_exps"},
});

Result<void> set_minimax_m2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_feed_forward_length", {"intermediate_size"}));
    return keys.require_integer("rope.dimension_count", {"rotary_dim"});
}

Result<void> set_granite_moe(Keys& keys) {
    RIFTJIT_TRY_VOID(set_granite(keys));
    RIFTJIT_TRY(shared, keys.config().integer({"shared_intermediate_size"}));
    if (shared.value_or(0) != 0)
        keys.set("expert_shared_feed_forward_length", static_cast<uint32_t>(*shared), "shared_intermediate_size");
    return {};
}

Result<void> split_granite_moe(Rewriter& rewriter) {
    for (const char* part : {"block_sparse_moe.", "shared_mlp."})
        for (const std::string& stem : rewriter.stems_of(part + std::string("input_linear.weight"))) {
            const std::string name = stem + part;
            RIFTJIT_TRY_VOID(rewriter.split_halves(name + "input_linear.weight", name + "gate_linear.weight",
                                                   name + "up_linear.weight", Rewriter::Halves::in_order));
        }
    return {};
}

constexpr auto kGraniteRules = std::to_array<NameRule>({
    {"layers.#.block_sparse_moe.router.layer", "blk.#.ffn_gate_inp"},
    {"layers.#.block_sparse_moe.gate_linear", "blk.#.ffn_gate_exps"},
    {"layers.#.block_sparse_moe.up_linear", "blk.#.ffn_up_exps"},
    {"layers.#.block_sparse_moe.output_linear", "blk.#.ffn_down_exps"},
    {"layers.#.shared_mlp.gate_linear", "blk.#.ffn_gate_shexp"},
    {"layers.#.shared_mlp.up_linear", "blk.#.ffn_up_shexp"},
    {"layers.#.shared_mlp.output_linear", "blk.#.ffn_down_shexp"},
});

// ---- gpt-oss ----

Result<void> set_gpt_oss(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"swiglu_limit"}, {7.0, 7}));
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.sliding_window", {"sliding_window"}));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY(flags, windowed_layers(keys));
    for (size_t i = 0; i < flags.size(); ++i)
        if (flags[i] != (i % 2 == 0))
            return fail(ErrorKind::Unsupported, "{}: layer {} {}; every other layer sees a window, from the first on",
                        keys.config().place("layer_types"), i, flags[i] ? "sees one" : "sees everything");
    return {};
}

// Gate and up stand row by row in turns, as MXFP4's blocks or as matrices with inputs as rows.
Result<void> rewrite_gpt_oss(Rewriter& rewriter) {
    for (const std::string& name : rewriter.stems_of("gate_up_proj_bias")) {
        RIFTJIT_TRY_VOID(rewriter.split_halves(name + "gate_up_proj_bias", name + "gate_proj.bias",
                                               name + "up_proj.bias", Rewriter::Halves::by_turns));
    }
    for (const std::string& name : rewriter.stems_of("gate_up_proj")) {
        RIFTJIT_TRY_VOID(rewriter.transpose(*rewriter.find(name + "gate_up_proj")));
        RIFTJIT_TRY_VOID(rewriter.split_halves(name + "gate_up_proj", name + "gate_proj.weight",
                                               name + "up_proj.weight", Rewriter::Halves::by_turns));
    }
    std::vector<StoredTensor> result;
    for (StoredTensor& tensor : rewriter.tensors()) {
        const auto ends = [&](std::string_view part) { return tensor.name.ends_with(part); };
        const bool is_down = ends(".down_proj_blocks"), is_both = ends(".gate_up_proj_blocks");
        if (ends("proj_scales")) continue;
        if (ends(".down_proj_bias")) tensor.name.replace(tensor.name.size() - 5, 5, ".bias");
        if (ends(".sinks")) tensor.name += ".weight";
        if (ends(".down_proj") && tensor.shape.size() == 3) {
            RIFTJIT_TRY_VOID(rewriter.transpose(tensor));
            tensor.name += ".weight";
        }
        if (!is_down && !is_both) {
            result.push_back(std::move(tensor));
            continue;
        }
        const std::string stem = tensor.name.substr(0, tensor.name.rfind('.') + 1);
        const StoredTensor* const scales = rewriter.find(stem + (is_down ? "down_proj_scales" : "gate_up_proj_scales"));
        if (scales == nullptr) return fail(ErrorKind::Format, "{}: there are no scales beside it", tensor.place);
        const uint64_t rows = tensor.shape.size() == 4 ? tensor.shape[1] : 0;
        if (is_down) {
            RIFTJIT_TRY(down, rewriter.mxfp4(tensor, *scales, stem + "down_proj.weight", rows,
                                             [](uint64_t row) { return row; }));
            result.push_back(std::move(down));
            continue;
        }
        for (const uint64_t part : {0, 1}) {
            RIFTJIT_TRY(half,
                        rewriter.mxfp4(tensor, *scales, stem + (part == 0 ? "gate_proj.weight" : "up_proj.weight"),
                                       rows / 2, [&](uint64_t row) { return 2 * row + part; }));
            result.push_back(std::move(half));
        }
    }
    rewriter.tensors() = std::move(result);
    rewriter.index_again();
    return {};
}

constexpr auto kGptOssRules = std::to_array<NameRule>({
    {"layers.#.self_attn.sinks", "blk.#.attn_sinks"},
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.mlp.router", "blk.#.ffn_gate_inp"},
});

// ---- deepseek ----

// Latent attention: one head of keys, whose row is what the cache keeps.
Result<void> set_deepseek2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    keys.set("attention.head_count_kv", 1u);
    const Config& config = keys.config();
    if (!keys.has("attention.layer_norm_rms_epsilon")) keys.set("attention.layer_norm_rms_epsilon", 1e-6f);
    RIFTJIT_TRY(layers, config.require_integer({"num_hidden_layers"}));
    RIFTJIT_TRY(experts, config.integer({"n_routed_experts"}));
    keys.set("leading_dense_block_count", static_cast<uint32_t>(experts ? 0 : layers));
    RIFTJIT_TRY_VOID(keys.copy_integer("leading_dense_block_count", {"first_k_dense_replace"}));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.q_lora_rank", {"q_lora_rank"}));
    RIFTJIT_TRY(rank, config.integer({"kv_lora_rank"}, 1, 1u << 20));
    RIFTJIT_TRY(plain, config.require_integer({"qk_nope_head_dim"}, 1, 1024));
    RIFTJIT_TRY(rotated, config.require_integer({"qk_rope_head_dim"}, 1, 1024));
    const auto latent = static_cast<uint32_t>(rank.value_or(512));
    keys.set("attention.kv_lora_rank", latent, "kv_lora_rank");
    keys.set("attention.key_length", latent + static_cast<uint32_t>(rotated), "kv_lora_rank");
    keys.set("attention.value_length", latent, "kv_lora_rank");
    keys.set("attention.key_length_mla", static_cast<uint32_t>(plain + rotated), "qk_nope_head_dim");
    RIFTJIT_TRY_VOID(keys.require_integer("attention.value_length_mla", {"v_head_dim"}));
    RIFTJIT_TRY_VOID(
        keys.require_integer("expert_feed_forward_length", {"moe_intermediate_size", "intermediate_size"}));
    keys.set("expert_shared_count", 0u);
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_shared_count", {"n_shared_experts"}));
    RIFTJIT_TRY_VOID(keys.copy_number("expert_weights_scale", {"routed_scaling_factor"}));
    RIFTJIT_TRY(is_normed, config.boolean({"norm_topk_prob"}));
    if (is_normed.value_or(false)) keys.set("expert_weights_norm", true, "norm_topk_prob");
    keys.set("rope.dimension_count", static_cast<uint32_t>(rotated), "qk_rope_head_dim");
    RIFTJIT_TRY(log, keys.rope_number(keys.rope(), "mscale_all_dim"));
    if (log) keys.set("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * *log), "rope_parameters");
    return {};
}

// Keys and values of all heads from the latent row: of keys a matrix that queries are multiplied by, so transposed.
Result<void> rewrite_deepseek2(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(stack_experts(rewriter));
    const Config& config = rewriter.config();
    RIFTJIT_TRY(heads, config.require_integer({"num_attention_heads"}, 1, 1u << 16));
    RIFTJIT_TRY(plain, config.require_integer({"qk_nope_head_dim"}, 1, 1024));
    RIFTJIT_TRY(values, config.require_integer({"v_head_dim"}, 1, 1024));
    const uint64_t each = plain + values;
    std::vector<StoredTensor> result;
    for (StoredTensor& tensor : rewriter.tensors()) {
        if (!tensor.name.ends_with(".kv_b_proj.weight")) {
            result.push_back(std::move(tensor));
            continue;
        }
        if (tensor.shape.size() != 2 || tensor.shape[0] != heads * each)
            return fail(ErrorKind::Format, "{}: shape [{}]; expected are {} rows: {} heads of {} and {}", tensor.place,
                        fmt::join(tensor.shape, ", "), heads * each, heads, plain, values);
        const uint64_t rank = tensor.shape[1];
        const std::string stem = tensor.name.substr(0, tensor.name.size() - 16);
        result.push_back(rewriter.gathered(tensor, stem + "k_b_proj.weight", {heads, rank, plain}, [&](uint64_t i) {
            const uint64_t column = i % plain, row = i / plain % rank, head = i / plain / rank;
            return (head * each + column) * rank + row;
        }));
        result.push_back(rewriter.gathered(tensor, stem + "v_b_proj.weight", {heads, values, rank}, [&](uint64_t i) {
            const uint64_t column = i % rank, row = i / rank % values, head = i / rank / values;
            return (head * each + plain + row) * rank + column;
        }));
    }
    rewriter.tensors() = std::move(result);
    rewriter.index_again();
    return {};
}

constexpr auto kDeepseek2Rules = std::to_array<NameRule>({
    {"layers.#.self_attn.q_a_proj", "blk.#.attn_q_a"},
    {"layers.#.self_attn.q_a_layernorm", "blk.#.attn_q_a_norm"},
    {"layers.#.self_attn.q_b_proj", "blk.#.attn_q_b"},
    {"layers.#.self_attn.kv_a_proj_with_mqa", "blk.#.attn_kv_a_mqa"},
    {"layers.#.self_attn.kv_a_layernorm", "blk.#.attn_kv_a_norm"},
    {"layers.#.self_attn.k_b_proj", "blk.#.attn_k_b"},
    {"layers.#.self_attn.v_b_proj", "blk.#.attn_v_b"},
});

// ---- dense layers first, then experts beside shared ones ----

Result<void> set_glm4moe(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.5));
    keys.set("rope.dimension_count", dims);
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_shared_count", {"n_shared_experts"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("leading_dense_block_count", {"first_k_dense_replace"}));
    keys.set("expert_gating_func", 2u);  // sigmoid
    RIFTJIT_TRY_VOID(keys.copy_number("expert_weights_scale", {"routed_scaling_factor"}));
    RIFTJIT_TRY(is_normed, keys.config().boolean({"norm_topk_prob"}));
    if (is_normed) keys.set("expert_weights_norm", *is_normed, "norm_topk_prob");
    return {};
}

constexpr auto kGlm4MoeRules = std::to_array<NameRule>({
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
});

Result<void> set_dots1(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("leading_dense_block_count", {"first_k_dense_replace"}));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_shared_count", {"n_shared_experts"}));
    RIFTJIT_TRY_VOID(keys.require_number("expert_weights_scale", {"routed_scaling_factor"}));
    RIFTJIT_TRY(is_normed, keys.config().boolean({"norm_topk_prob"}));
    keys.set("expert_weights_norm", is_normed.value_or(false), "norm_topk_prob");
    return {};
}

Result<void> set_ernie_moe(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_count", {"moe_num_experts"}));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_used_count", {"moe_k"}));
    RIFTJIT_TRY_VOID(keys.require_integer("interleave_moe_layer_step", {"moe_layer_interval"}));
    RIFTJIT_TRY_VOID(keys.require_integer("leading_dense_block_count", {"moe_layer_start_index"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_shared_count", {"moe_num_shared_experts"}));
    RIFTJIT_TRY(shared, keys.config().integer({"moe_num_shared_experts"}));
    RIFTJIT_TRY(inner, keys.config().integer({"intermediate_size"}));
    RIFTJIT_TRY(kv_heads, keys.config().integer({"num_key_value_heads"}, 1));
    if (shared.value_or(0) > 0 && inner && kv_heads)  // no more than the converter's guess; nothing depends on it
        keys.set("expert_shared_feed_forward_length", static_cast<uint32_t>(*inner / *kv_heads), "intermediate_size");
    return {};
}

constexpr auto kErnieMoeRules = std::to_array<NameRule>({
    {"layers.#.mlp.moe_statics.e_score_correction_bias", "blk.#.exp_probs_b.bias", Change::whole_name},
});

const std::array kMixtures = {
    Family{"MixtralForCausalLM", "llama", set_llama, kMixtralRules, kPairsHeads, kAsStored, stack_experts},
    Family{"Qwen2MoeForCausalLM", "qwen2moe", set_qwen2moe, std::span<const NameRule>(), kAsStored, kAsStored,
           stack_experts},
    Family{"Qwen3MoeForCausalLM", "qwen3moe", set_qwen3moe, std::span<const NameRule>(), kAsStored, kAsStored,
           stack_experts},
    Family{"OlmoeForCausalLM", "olmoe", set_olmoe, std::span<const NameRule>(), kAsStored, kAsStored, stack_experts},
    Family{"GptOssForCausalLM", "gpt-oss", set_gpt_oss, kGptOssRules, kAsStored, kAsStored, rewrite_gpt_oss},
    Family{"GraniteMoeForCausalLM GraniteMoeSharedForCausalLM", "granitemoe", set_granite_moe, kGraniteRules,
           kPairsHeads, kAsStored, split_granite_moe},
    Family{"DeepseekV2ForCausalLM DeepseekV3ForCausalLM", "deepseek2", set_deepseek2, kDeepseek2Rules, kAsStored,
           kAsStored, rewrite_deepseek2},
    Family{"Glm4MoeForCausalLM", "glm4moe", set_glm4moe, kGlm4MoeRules, kAsStored, kAsStored, stack_experts},
    Family{"Dots1ForCausalLM", "dots1", set_dots1, std::span<const NameRule>(), kAsStored, kAsStored, stack_experts},
    Family{"MiniMaxM2ForCausalLM", "minimax-m2", set_minimax_m2, kMixtralRules, kAsStored, kAsStored, stack_experts},
    Family{"Ernie4_5_MoeForCausalLM", "ernie4_5-moe", set_ernie_moe, kErnieMoeRules, kAsStored, kAsStored,
           stack_experts},
};

}  // namespace

std::span<const Family> mixture_families() { return kMixtures; }

}  // namespace riftjit::models::folder
