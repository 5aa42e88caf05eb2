// Source of names and values: transformers' models, and for what GGUF files have of them llama.cpp's converter
// (conversion/*.py, gguf-py/gguf/tensor_mapping.py).
#include "models/folder/families.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/folder/decoders.h"
#include "models/folder/encoders.h"
#include "models/folder/mixtures.h"
#include "models/folder/recurrent.h"
#include "models/folder/rewriting.h"

namespace riftjit::models::folder {

// ---- what several families share ----

Result<uint32_t> rotary_dims(const Keys& keys, double usual) {
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(part, keys.rope_number(keys.global_rope(), "partial_rotary_factor"));
    const double factor = part.value_or(usual);
    if (factor <= 0 || factor > 1)
        return fail(ErrorKind::Format, "{} is {}; allowed are numbers above 0, up to 1",
                    keys.config().place("partial_rotary_factor"), factor);
    return static_cast<uint32_t>(factor * sizes.head_dim);
}

Result<void> refuse_rope_scaling(const Keys& keys) {
    const Json* const type = find(keys.global_rope(), "rope_type");
    if (type == nullptr || *type == Json("default")) return {};
    return fail(ErrorKind::Unsupported, "{} has rope_type {}: unsupported for this family",
                keys.config().place("rope_parameters"), shown(*type));
}

Result<std::vector<uint8_t>> windowed_layers(const Keys& keys) {
    std::vector<uint8_t> flags;
    const Config::Found types = keys.config().find({"layer_types"});
    if (!types) return flags;
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    if (!types.value->is_array() || types.value->size() != sizes.layers)
        return fail(ErrorKind::Format, "{} is {}; expected is one text for each of {} layers",
                    keys.config().place("layer_types"), shown(*types.value), sizes.layers);
    for (const Json& type : *types.value) {
        if (type != Json("sliding_attention") && type != Json("full_attention"))
            return fail(ErrorKind::Unsupported, "{} has {}; known are full_attention and sliding_attention",
                        keys.config().place("layer_types"), shown(type));
        flags.push_back(type == Json("sliding_attention") ? 1 : 0);
    }
    return flags;
}

Result<void> set_unusual_windows(Keys& keys, size_t period) {
    RIFTJIT_TRY(flags, windowed_layers(keys));
    for (size_t i = 0; i < flags.size(); ++i)
        if (flags[i] != (i % period < period - 1)) {
            keys.set_flags("attention.sliding_window_pattern", flags, "layer_types");
            break;
        }
    return {};
}

Result<void> require_silu(const Keys& keys) {
    return keys.allow_only({"hidden_act", "hidden_activation", "activation_function"}, {"silu", "swish"});
}

namespace {

constexpr auto kShared = std::to_array<NameRule>({
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"lm_head", "output"},
    {"layers.#.input_layernorm", "blk.#.attn_norm"},
    {"layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"layers.#.mlp.gate", "blk.#.ffn_gate_inp"},
    {"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias", Change::whole_name},
    {"layers.#.mlp.experts.gate_proj", "blk.#.ffn_gate_exps"},
    {"layers.#.mlp.experts.up_proj", "blk.#.ffn_up_exps"},
    {"layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps"},
    {"layers.#.mlp.shared_experts.gate_proj", "blk.#.ffn_gate_shexp"},
    {"layers.#.mlp.shared_experts.up_proj", "blk.#.ffn_up_shexp"},
    {"layers.#.mlp.shared_experts.down_proj", "blk.#.ffn_down_shexp"},
    {"layers.#.mlp.shared_expert_gate", "blk.#.ffn_gate_inp_shexp"},
    {"layers.#.mlp.shared_expert.gate_proj", "blk.#.ffn_gate_shexp"},
    {"layers.#.mlp.shared_expert.up_proj", "blk.#.ffn_up_shexp"},
    {"layers.#.mlp.shared_expert.down_proj", "blk.#.ffn_down_shexp"},
});

// The converter leaves the base out for some families, which rotate by the usual one.
Result<void> set_unusual_base(Keys& keys) {
    RIFTJIT_TRY(base, keys.rope_number(keys.global_rope(), "rope_theta"));
    if (base && *base != 10000.0) keys.set("rope.freq_base", static_cast<float>(*base), "rope_theta");
    return {};
}

// ---- llama and its kin ----

Result<void> set_llama_like(Keys& keys) {
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    keys.set("rope.dimension_count", sizes.head_dim);
    return {};
}

}  // namespace

Result<void> set_llama(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(set_llama_like(keys));
    // Mistral's first release; 0 and absent are alike.
    return keys.copy_integer("attention.sliding_window", {"sliding_window"});
}

namespace {

Result<void> set_arcee(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"relu2"}));
    return set_llama_like(keys);
}

Result<void> set_smollm3(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(keys.allow_only({"no_rope_layer_interval"}, {4}));
    RIFTJIT_TRY_VOID(keys.allow_only({"use_sliding_window"}, {false}));
    if (const Config::Found layers = keys.config().find({"no_rope_layers"}); layers && layers.value->is_array())
        for (size_t i = 0; i < layers.value->size(); ++i)
            if ((*layers.value)[i] != Json(i % 4 == 3 ? 0 : 1))
                return fail(ErrorKind::Unsupported, "{}: element {} is {}; every fourth layer alone does not rotate",
                            keys.config().place("no_rope_layers"), i, shown((*layers.value)[i]));
    return set_llama_like(keys);
}

}  // namespace

Result<void> set_granite(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(set_llama_like(keys));
    RIFTJIT_TRY_VOID(keys.copy_number("attention.scale", {"attention_multiplier"}));
    RIFTJIT_TRY_VOID(keys.copy_number("embedding_scale", {"embedding_multiplier"}));
    RIFTJIT_TRY_VOID(keys.copy_number("residual_scale", {"residual_multiplier"}));
    return keys.copy_number("logit_scale", {"logits_scaling"});
}

namespace {

Result<void> set_mistral3(Keys& keys) {
    RIFTJIT_TRY_VOID(set_llama(keys));
    if (keys.config().find({"model_type"}).value == nullptr) return {};
    RIFTJIT_TRY(type, keys.config().string({"model_type"}));
    if (*type != "ministral3") return {};
    RIFTJIT_TRY(log, keys.rope_number(keys.rope(), "mscale_all_dim"));
    RIFTJIT_TRY(temperature, keys.rope_number(keys.rope(), "llama_4_scaling_beta"));
    if (!log || !temperature)
        return fail(ErrorKind::Format, "{}: a ministral3 has mscale_all_dim and llama_4_scaling_beta",
                    keys.config().place("rope_parameters"));
    keys.set("rope.scaling.yarn_log_multiplier", static_cast<float>(*log), "rope_parameters");
    keys.set("attention.temperature_scale", static_cast<float>(*temperature), "rope_parameters");
    return {};
}

Result<void> set_minicpm(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(embedding, keys.config().require_number({"scale_emb"}));
    RIFTJIT_TRY(depth, keys.config().require_number({"scale_depth"}));
    RIFTJIT_TRY(base, keys.config().require_number({"dim_model_base"}));
    keys.set("embedding_scale", static_cast<float>(embedding), "scale_emb");
    keys.set("residual_scale", static_cast<float>(depth / std::sqrt(double(sizes.layers))), "scale_depth");
    keys.set("logit_scale", static_cast<float>(base == 0 ? 0 : sizes.width / base), "dim_model_base");
    return {};
}

Result<void> set_xverse(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    keys.set_text("tensor_data_layout", "Meta AI original pth");
    keys.set("rope.dimension_count", sizes.width / sizes.heads);
    return {};
}

}  // namespace

Result<void> set_plain(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    return set_decoder_keys(keys);
}

namespace {

Result<void> set_internlm2(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    return set_decoder_keys(keys);
}

// Its first max_window_layers layers see everything. The family's reader refuses a window that hides anything.
}  // namespace

Result<void> set_qwen(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(uses_window, keys.config().boolean({"use_sliding_window"}));
    if (!uses_window.value_or(false)) return {};
    return keys.copy_integer("attention.sliding_window", {"sliding_window"});
}

namespace {

constexpr auto kInternlm2Rules = std::to_array<NameRule>({
    {"tok_embeddings", "token_embd"},
    {"output", "output"},
    {"layers.#.attention_norm", "blk.#.attn_norm"},
    {"layers.#.attention.wqkv", "blk.#.attn_qkv", Change::split_groups},
    {"layers.#.attention.wo", "blk.#.attn_output"},
    {"layers.#.ffn_norm", "blk.#.ffn_norm"},
    {"layers.#.feed_forward.w1", "blk.#.ffn_gate"},
    {"layers.#.feed_forward.w3", "blk.#.ffn_up"},
    {"layers.#.feed_forward.w2", "blk.#.ffn_down"},
});

constexpr auto kSeedRules =
    std::to_array<NameRule>({{"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"}});

constexpr auto kErnieRules = std::to_array<NameRule>({
    {"layers.#.self_attn.qkv_proj", "blk.#.attn_qkv", Change::split_qkv},
    {"layers.#.mlp.up_gate_proj", "blk.#.ffn_gate_up", Change::split_gate_up},
});

// ---- gemma ----

// The scores' scale follows from the size of a head, but in the two models of 27 B from the width.
Result<void> check_query_scale(const Keys& keys, uint32_t layers_of_27b) {
    RIFTJIT_TRY(scalar, keys.config().number({"query_pre_attn_scalar"}));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    const uint32_t expected = sizes.layers == layers_of_27b ? sizes.width / sizes.heads : sizes.head_dim;
    if (!scalar || *scalar == expected) return {};
    return fail(ErrorKind::Unsupported, "{} is {}: unsupported for this family; supported is {}",
                keys.config().place("query_pre_attn_scalar"), *scalar, expected);
}

Result<void> set_gemma_sizes(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_activation", "hidden_act"}, {"gelu_pytorch_tanh", "gelu"}));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count_kv", {"num_key_value_heads", "num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.key_length", {"head_dim"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.value_length", {"head_dim"}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    return set_unusual_base(keys);
}

Result<void> set_gemma(Keys& keys) { return set_gemma_sizes(keys); }

Result<void> set_gemma2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_gemma_sizes(keys));
    RIFTJIT_TRY_VOID(check_query_scale(keys, 46));
    RIFTJIT_TRY_VOID(keys.require_number("attn_logit_softcapping", {"attn_logit_softcapping"}));
    RIFTJIT_TRY_VOID(keys.require_number("final_logit_softcapping", {"final_logit_softcapping"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.sliding_window", {"sliding_window"}));
    return set_unusual_windows(keys, 2);
}

}  // namespace

Result<void> set_gemma3(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_activation", "hidden_act"}, {"gelu_pytorch_tanh"}));
    // Configurations of the larger models leave out what is their class's own.
    const Config& config = keys.config();
    if (!config.find({"max_position_embeddings"})) keys.set("context_length", 131072u);
    if (!config.find({"num_attention_heads"})) keys.set("attention.head_count", 8u);
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("context_length", {"max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.head_count", {"num_attention_heads"}));
    keys.set("attention.head_count_kv", 4u);
    keys.set("attention.layer_norm_rms_epsilon", 1e-6f);
    keys.set("attention.key_length", 256u);
    keys.set("attention.value_length", 256u);
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.head_count_kv", {"num_key_value_heads"}));
    RIFTJIT_TRY_VOID(keys.copy_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.key_length", {"head_dim"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.value_length", {"head_dim"}));
    RIFTJIT_TRY(base, keys.rope_number(keys.global_rope(), "rope_theta"));
    keys.set("rope.freq_base", static_cast<float>(base.value_or(1'000'000.0)), "rope_theta");
    if (const Json* local = find(keys.rope(), "sliding_attention")) {
        RIFTJIT_TRY(local_base, keys.rope_number(*local, "rope_theta"));
        if (local_base) keys.set("rope.freq_base_swa", static_cast<float>(*local_base), "rope_parameters");
    }
    RIFTJIT_TRY(factor, keys.rope_number(keys.global_rope(), "factor"));
    if (const Json* type = find(keys.global_rope(), "rope_type"); type != nullptr && *type != Json("default")) {
        if (*type != Json("linear") || !factor)
            return fail(ErrorKind::Unsupported, "{} has rope_type {}; known are default, and linear with a factor",
                        config.place("rope_parameters"), shown(*type));
        keys.set_text("rope.scaling.type", "linear", "rope_parameters");
        keys.set("rope.scaling.factor", static_cast<float>(*factor), "rope_parameters");
    }
    RIFTJIT_TRY_VOID(keys.allow_only({"attn_logit_softcapping"}, {}));
    RIFTJIT_TRY_VOID(keys.copy_number("final_logit_softcapping", {"final_logit_softcapping"}));
    if (config.find({"query_pre_attn_scalar"}) && config.find({"num_attention_heads"}) && config.find({"head_dim"}))
        RIFTJIT_TRY_VOID(check_query_scale(keys, 62));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.sliding_window", {"sliding_window"}));
    return config.find({"num_attention_heads"}) ? set_unusual_windows(keys, 6) : Result<void>();
}

namespace {

constexpr auto kSandwichRules = std::to_array<NameRule>({
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.pre_feedforward_layernorm", "blk.#.ffn_norm"},
    {"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm"},
});

// ---- phi ----

// Scores are sharper where the context is longer than the one of training (LongRoPE, Ding et al. 2024).
Result<void> set_long_rope(Keys& keys) {
    const Json* const type = find(keys.rope(), "rope_type");
    if (type == nullptr || *type == Json("default")) return {};
    if (*type != Json("longrope") && *type != Json("su"))
        return fail(ErrorKind::Unsupported, "{} has rope_type {}; known are default and longrope",
                    keys.config().place("rope_parameters"), shown(*type));
    RIFTJIT_TRY(original, keys.rope_number(keys.rope(), "original_max_position_embeddings"));
    RIFTJIT_TRY(context, keys.config().require_number({"n_positions", "max_position_embeddings"}));
    if (original.value_or(0) < 2)
        return fail(ErrorKind::Format, "{} has type longrope, but no original_max_position_embeddings from 2 on",
                    keys.config().place("rope_parameters"));
    const double scale = context / *original;
    const double factor = scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(*original)) : 1.0;
    keys.set("rope.scaling.attn_factor", static_cast<float>(factor), "rope_parameters");
    return {};
}

Result<void> set_phi3(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(dims, rotary_dims(keys, 1.0));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"n_positions", "max_position_embeddings"}));
    RIFTJIT_TRY(original, keys.rope_number(keys.rope(), "original_max_position_embeddings"));
    if (original && *original >= 1 && *original <= INT32_MAX)
        keys.set("rope.scaling.original_context_length", static_cast<uint32_t>(*original),
                 "original_max_position_embeddings");
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    keys.set("attention.head_count_kv", sizes.kv_heads, "num_key_value_heads");
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps"}));
    keys.set("rope.dimension_count", dims);
    RIFTJIT_TRY(base, keys.rope_number(keys.global_rope(), "rope_theta"));
    keys.set("rope.freq_base", static_cast<float>(base.value_or(10000.0)), "rope_theta");
    RIFTJIT_TRY_VOID(set_long_rope(keys));
    keys.set("attention.sliding_window", 0u, "sliding_window");  // 0 and absent are not alike to other readers
    return keys.copy_integer("attention.sliding_window", {"sliding_window"});
}

constexpr auto kFusedRules = std::to_array<NameRule>({
    {"layers.#.self_attn.qkv_proj", "blk.#.attn_qkv"},
    {"layers.#.mlp.gate_up_proj", "blk.#.ffn_up"},
});

// Four times the width, unless the configuration says otherwise.
Result<void> set_ffn_length(Keys& keys, Config::Names names) {
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    keys.set("feed_forward_length", 4 * sizes.width);
    return keys.copy_integer("feed_forward_length", names);
}

Result<void> set_phi2(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"gelu_new", "gelu_pytorch_tanh"}));
    RIFTJIT_TRY_VOID(keys.allow_only({"qk_layernorm"}, {false}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.5));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"n_positions", "max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size", "n_embd"}));
    RIFTJIT_TRY_VOID(set_ffn_length(keys, {"intermediate_size"}));
    keys.set("block_count", sizes.layers, "num_hidden_layers");
    keys.set("attention.head_count", sizes.heads, "num_attention_heads");
    keys.set("attention.head_count_kv", sizes.kv_heads, "num_key_value_heads");
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon", {"layer_norm_epsilon", "layer_norm_eps"}));
    keys.set("rope.dimension_count", dims);
    return set_unusual_base(keys);
}

constexpr auto kPhi2Rules = std::to_array<NameRule>({
    {"layers.#.self_attn.dense", "blk.#.attn_output"},
    {"layers.#.mlp.fc1", "blk.#.ffn_up"},
    {"layers.#.mlp.fc2", "blk.#.ffn_down"},
    {"final_layernorm", "output_norm"},
});

// ---- norms behind the branches ----

Result<void> set_olmo2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(window, keys.config().integer({"sliding_window"}));
    if (!window) return {};
    keys.set("attention.sliding_window", static_cast<uint32_t>(*window), "sliding_window");
    RIFTJIT_TRY(flags, windowed_layers(keys));
    for (uint32_t i = 0; flags.size() < sizes.layers; ++i) flags.push_back((i + 1) % 4 != 0);
    keys.set_flags("attention.sliding_window_pattern", flags, "layer_types");
    return {};
}

Result<void> set_exaone4(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(window, keys.config().integer({"sliding_window"}));
    if (!window) return {};
    keys.set("attention.sliding_window", static_cast<uint32_t>(*window), "sliding_window");
    RIFTJIT_TRY(flags, windowed_layers(keys));
    if (const Config::Found pattern = keys.config().find({"sliding_window_pattern"}); flags.empty() && pattern) {
        const std::string letters = pattern.value->is_string() ? pattern.value->get<std::string>() : "";
        const uint64_t period = pattern.value->is_number_unsigned() ? pattern.value->get<uint64_t>() : 0;
        for (uint32_t i = 0; i < sizes.layers; ++i) {
            if (!letters.empty()) flags.push_back(letters[i % letters.size()] == 'L');
            if (period > 0) flags.push_back((i + 1) % period != 0);
        }
    }
    if (!flags.empty()) keys.set_flags("attention.sliding_window_pattern", flags, "layer_types");
    return {};
}

constexpr auto kNormedAfterRules = std::to_array<NameRule>({
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm"},
});

Result<void> set_glm4(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    if (keys.rope().contains("mrope_section"))
        return fail(ErrorKind::Unsupported, "{}: mrope_section is unsupported", keys.config().place("rope_parameters"));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.5));
    keys.set("rope.dimension_count", dims);
    return {};
}

constexpr auto kGlm4Rules = std::to_array<NameRule>({
    {"layers.#.post_self_attn_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.post_mlp_layernorm", "blk.#.post_ffw_norm"},
    {"layers.#.mlp.gate_up_proj", "blk.#.ffn_up"},
});

Result<void> set_exaone(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(dims, rotary_dims(keys, 1.0));
    keys.set("rope.dimension_count", dims);
    return {};
}

constexpr auto kExaoneRules = std::to_array<NameRule>({
    {"wte", "token_embd"},
    {"ln_f", "output_norm"},
    {"h.#.ln_1", "blk.#.attn_norm"},
    {"h.#.attn.attention.q_proj", "blk.#.attn_q"},
    {"h.#.attn.attention.k_proj", "blk.#.attn_k"},
    {"h.#.attn.attention.v_proj", "blk.#.attn_v"},
    {"h.#.attn.attention.out_proj", "blk.#.attn_output"},
    {"h.#.ln_2", "blk.#.ffn_norm"},
    {"h.#.mlp.c_fc_0", "blk.#.ffn_gate"},
    {"h.#.mlp.c_fc_1", "blk.#.ffn_up"},
    {"h.#.mlp.c_proj", "blk.#.ffn_down"},
});

// They raise the base by alpha to the power of d / (d - 2) (NTK-aware scaling).
Result<void> set_hunyuan_rope(Keys& keys, double usual_alpha, uint32_t dim) {
    const Json* const type = find(keys.rope(), "rope_type");
    if (type == nullptr || (*type != Json("dynamic") && *type != Json("xdrope"))) return {};
    RIFTJIT_TRY(alpha, keys.rope_number(keys.rope(), "alpha"));
    RIFTJIT_TRY(base, keys.rope_number(keys.rope(), "rope_theta"));
    if (dim <= 2 || alpha.value_or(usual_alpha) <= 0)
        return fail(ErrorKind::Format, "{} has alpha {} for heads of {}", keys.config().place("rope_parameters"),
                    alpha.value_or(usual_alpha), dim);
    const double power = double(dim) / (dim - 2);
    const double scaled = base.value_or(10000) * std::pow(alpha.value_or(usual_alpha), power);
    if (!(std::abs(scaled) <= 1e30))
        return fail(ErrorKind::Format, "{} has alpha {} and rope_theta {}, which give a base of {}",
                    keys.config().place("rope_parameters"), alpha.value_or(usual_alpha), base.value_or(10000), scaled);
    keys.set("rope.freq_base", static_cast<float>(scaled), "rope_parameters");
    keys.set_text("rope.scaling.type", "none", "rope_parameters");
    keys.set("rope.scaling.factor", 1.0f, "rope_parameters");
    if (*type == Json("dynamic")) {  // what it was trained for; the configuration tells less
        keys.set("rope.scaling.original_context_length", 256u * 1024, "rope_parameters");
        keys.set("context_length", 256u * 1024, "max_position_embeddings");
    }
    return {};
}

Result<void> set_hunyuan(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    return set_hunyuan_rope(keys, 50, sizes.head_dim);
}

// Lists of one entry for each layer, which are all the same.
Result<void> copy_first(Keys& keys, std::string_view suffix, std::string_view name) {
    const Config::Found found = keys.config().find({name});
    const Json* const first =
        found && found.value->is_array() && !found.value->empty() ? &(*found.value)[0] : found.value;
    if (first == nullptr || !first->is_number_unsigned() || first->get<uint64_t>() > UINT32_MAX)
        return fail(ErrorKind::Format, "{} is {}; expected is a number, or a list of them", keys.config().place(name),
                    found ? shown(*found.value) : "absent");
    if (found.value->is_array())
        for (const Json& each : *found.value)
            if (each != *first)
                return fail(ErrorKind::Unsupported, "{} has {} and {}: layers that differ are unsupported",
                            keys.config().place(name), shown(*first), shown(each));
    keys.set(suffix, first->get<uint32_t>(), name);
    return {};
}

Result<void> set_hunyuan_moe(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY_VOID(set_hunyuan_rope(keys, 1000, sizes.width / sizes.heads));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_shared_feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(copy_first(keys, "expert_feed_forward_length", "moe_intermediate_size"));
    RIFTJIT_TRY_VOID(copy_first(keys, "expert_used_count", "moe_topk"));
    return copy_first(keys, "expert_shared_count", "num_shared_expert");
}

Result<void> stack_hunyuan(Rewriter& rewriter) { return rewriter.stack_experts(); }

constexpr auto kHunyuanMoeRules = std::to_array<NameRule>({
    {"layers.#.self_attn.query_layernorm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.key_layernorm", "blk.#.attn_k_norm"},
    {"layers.#.mlp.gate.wg", "blk.#.ffn_gate_inp"},
    {"layers.#.mlp.shared_mlp.gate_proj", "blk.#.ffn_gate_shexp"},
    {"layers.#.mlp.shared_mlp.up_proj", "blk.#.ffn_up_shexp"},
    {"layers.#.mlp.shared_mlp.down_proj", "blk.#.ffn_down_shexp"},
});

constexpr auto kHunyuanRules = std::to_array<NameRule>({
    {"layers.#.self_attn.query_layernorm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.key_layernorm", "blk.#.attn_k_norm"},
});

// ---- both branches in parallel ----

Result<void> set_command_r(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.copy_integer("context_length", {"model_max_length"}));
    RIFTJIT_TRY_VOID(keys.require_number("logit_scale", {"logit_scale"}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    keys.set_text("rope.scaling.type", "none");
    return {};
}

Result<void> set_cohere2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY(dims, rotary_dims(keys, 1.0));
    RIFTJIT_TRY_VOID(keys.require_number("logit_scale", {"logit_scale"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.sliding_window", {"sliding_window"}));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    keys.set("rope.dimension_count", dims);
    keys.set_text("rope.scaling.type", "none");
    return set_unusual_windows(keys, 4);
}

Result<void> set_falcon(Keys& keys) {
    const Config& config = keys.config();
    RIFTJIT_TRY_VOID(keys.allow_only({"alibi"}, {false}));
    RIFTJIT_TRY_VOID(keys.allow_only({"activation"}, {"gelu"}));
    RIFTJIT_TRY(is_new, config.boolean({"new_decoder_architecture"}));
    if (!is_new.value_or(false)) RIFTJIT_TRY_VOID(keys.allow_only({"parallel_attn"}, {true}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(config));
    keys.set("context_length", 2048u);  // the configuration does not tell it
    keys.set_text("tensor_data_layout", "jploski");
    keys.set("embedding_length", sizes.width, "hidden_size");
    RIFTJIT_TRY_VOID(set_ffn_length(keys, {"ffn_hidden_size"}));
    keys.set("block_count", sizes.layers, "num_hidden_layers");
    keys.set("attention.head_count", sizes.heads, "num_attention_heads");
    keys.set("attention.head_count_kv", sizes.kv_heads, "num_kv_heads");
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon", {"layer_norm_epsilon"}));
    return set_unusual_base(keys);
}

constexpr auto kFalconRules = std::to_array<NameRule>({
    {"word_embeddings", "token_embd"},
    {"ln_f", "output_norm"},
    {"h.#.input_layernorm", "blk.#.attn_norm"},
    {"h.#.ln_mlp", "blk.#.attn_norm"},
    {"h.#.ln_attn", "blk.#.attn_norm_2"},
    {"h.#.self_attention.query_key_value", "blk.#.attn_qkv", Change::by_group},
    {"h.#.self_attention.dense", "blk.#.attn_output"},
    {"h.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"h.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
});

Result<void> set_gptneox(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"gelu"}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.25));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon", {"layer_norm_eps"}));
    RIFTJIT_TRY(is_parallel, keys.config().boolean({"use_parallel_residual"}));
    keys.set("rope.dimension_count", dims);
    keys.set("use_parallel_residual", is_parallel.value_or(true), "use_parallel_residual");
    return set_unusual_base(keys);
}

constexpr auto kGptneoxRules = std::to_array<NameRule>({
    {"embed_in", "token_embd"},
    {"embed_out", "output"},
    {"final_layer_norm", "output_norm"},
    {"layers.#.attention.query_key_value", "blk.#.attn_qkv", Change::by_head},
    {"layers.#.attention.dense", "blk.#.attn_output"},
    {"layers.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"layers.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
});

Result<void> set_stablelm(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(keys.allow_only({"qk_layernorm"}, {false}));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.25));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count_kv", {"num_key_value_heads", "num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon", {"layer_norm_eps", "norm_eps"}));
    RIFTJIT_TRY(is_parallel, keys.config().boolean({"use_parallel_residual"}));
    keys.set("rope.dimension_count", dims);
    keys.set("use_parallel_residual", is_parallel.value_or(true), "use_parallel_residual");
    return set_unusual_base(keys);
}

// ---- without a gate ----

Result<void> set_starcoder2(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"gelu_pytorch_tanh", "gelu_new"}));
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    return keys.copy_integer("attention.sliding_window", {"sliding_window"});
}

constexpr auto kStarcoder2Rules = std::to_array<NameRule>({
    {"layers.#.mlp.c_fc", "blk.#.ffn_up"},
    {"layers.#.mlp.c_proj", "blk.#.ffn_down"},
});

Result<void> set_nemotron(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"relu2"}));
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY(part, keys.rope_number(keys.rope(), "partial_rotary_factor"));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon",
                                         {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"}));
    const double factor = part.value_or(0.5);
    if (factor <= 0 || factor > 1)
        return fail(ErrorKind::Format, "{} is {}; allowed are numbers above 0, up to 1",
                    keys.config().place("partial_rotary_factor"), factor);
    keys.set("rope.dimension_count", static_cast<uint32_t>(factor * sizes.width) / sizes.heads);
    if (!keys.has("rope.scaling.type")) keys.set_text("rope.scaling.type", "none");
    return {};
}

Result<void> set_orion(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    keys.set_text("tensor_data_layout", "Meta AI original pth");
    RIFTJIT_TRY_VOID(
        keys.require_integer("context_length", {"max_sequence_length", "max_position_embeddings", "model_max_length"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count_kv", {"num_key_value_heads", "num_attention_heads"}));
    // Named as if it were of RMS norms, but it is of layer norms.
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_epsilon", {"rms_norm_eps"}));
    return set_unusual_base(keys);
}

Result<void> set_bloom(Keys& keys) {
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    RIFTJIT_TRY_VOID(keys.allow_only({"apply_residual_connection_post_layernorm"}, {false}));
    keys.set("context_length", sizes.width);  // its converter's choice where none is told: there is no limit
    RIFTJIT_TRY_VOID(keys.copy_integer("context_length", {"seq_length"}));
    keys.set("embedding_length", sizes.width, "hidden_size");
    keys.set("feed_forward_length", 4 * sizes.width, "hidden_size");
    keys.set("block_count", sizes.layers, "n_layer");
    keys.set("attention.head_count", sizes.heads, "n_head");
    keys.set("attention.head_count_kv", sizes.heads, "n_head");
    return keys.require_number("attention.layer_norm_epsilon", {"layer_norm_epsilon"});
}

constexpr auto kBloomRules = std::to_array<NameRule>({
    {"word_embeddings", "token_embd"},
    {"word_embeddings_layernorm", "token_embd_norm"},
    {"ln_f", "output_norm"},
    {"h.#.input_layernorm", "blk.#.attn_norm"},
    {"h.#.self_attention.query_key_value", "blk.#.attn_qkv", Change::by_head},
    {"h.#.self_attention.dense", "blk.#.attn_output"},
    {"h.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"h.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"h.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
});

Result<void> set_mpt(Keys& keys) {
    const Config& config = keys.config();
    RIFTJIT_TRY(sizes, read_head_sizes(config));
    const Config::Found attention = config.find({"attn_config"});
    if (!attention || !attention.value->is_object())
        return fail(ErrorKind::Format, "{}: missing key 'attn_config', an object", config.file());
    const Config inner(config.file(), *attention.value);
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_seq_len"}));
    keys.set("embedding_length", sizes.width, "d_model");
    keys.set("block_count", sizes.layers, "n_layers");
    keys.set("feed_forward_length", 4 * sizes.width, "d_model");
    keys.set("attention.head_count", sizes.heads, "n_heads");
    RIFTJIT_TRY(kv_heads, inner.integer({"kv_n_heads"}, 1));
    if (kv_heads) keys.set("attention.head_count_kv", static_cast<uint32_t>(*kv_heads), "attn_config");
    keys.set("attention.layer_norm_epsilon", 1e-5f);
    RIFTJIT_TRY(clamp, inner.number({"clip_qkv"}));
    if (clamp) keys.set("attention.clamp_kqv", static_cast<float>(*clamp), "attn_config");
    RIFTJIT_TRY(has_bias, inner.boolean({"alibi"}));
    RIFTJIT_TRY(bias, inner.number({"alibi_bias_max"}));
    keys.set("attention.max_alibi_bias", has_bias.value_or(false) ? static_cast<float>(bias.value_or(8)) : 0.0f,
             "attn_config");
    return {};
}

constexpr auto kMptRules = std::to_array<NameRule>({
    {"wte", "token_embd"},
    {"norm_f", "output_norm"},
    {"blocks.#.norm_1", "blk.#.attn_norm"},
    {"blocks.#.attn.Wqkv", "blk.#.attn_qkv"},
    {"blocks.#.attn.out_proj", "blk.#.attn_output"},
    {"blocks.#.norm_2", "blk.#.ffn_norm"},
    {"blocks.#.ffn.up_proj", "blk.#.ffn_up"},
    {"blocks.#.ffn.down_proj", "blk.#.ffn_down"},
});

Result<void> set_gpt2_like(Keys& keys, Config::Names context) {
    RIFTJIT_TRY_VOID(
        keys.allow_only({"activation_function"}, {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"}));
    RIFTJIT_TRY_VOID(keys.allow_only({"scale_attn_by_inverse_layer_idx"}, {false}));
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    keys.set("block_count", sizes.layers, "n_layer");
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", context));
    keys.set("embedding_length", sizes.width, "n_embd");
    RIFTJIT_TRY_VOID(set_ffn_length(keys, {"n_inner"}));
    keys.set("attention.head_count", sizes.heads, "n_head");
    return keys.require_number("attention.layer_norm_epsilon", {"layer_norm_epsilon"});
}

Result<void> set_gpt2(Keys& keys) { return set_gpt2_like(keys, {"n_ctx", "n_positions"}); }

Result<void> set_starcoder(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"multi_query"}, {true}));
    RIFTJIT_TRY_VOID(set_gpt2_like(keys, {"n_positions"}));
    keys.set("attention.head_count_kv", 1u, "multi_query");
    return {};
}

// GPT-2's linear layers are stored with inputs as rows.
template <Change kChange>
constexpr auto kGpt2Rules = std::to_array<NameRule>({
    {"wte", "token_embd"},
    {"wpe", "position_embd"},
    {"ln_f", "output_norm"},
    {"h.#.ln_1", "blk.#.attn_norm"},
    {"h.#.attn.c_attn", "blk.#.attn_qkv", kChange},
    {"h.#.attn.c_proj", "blk.#.attn_output", kChange},
    {"h.#.ln_2", "blk.#.ffn_norm"},
    {"h.#.mlp.c_fc", "blk.#.ffn_up", kChange},
    {"h.#.mlp.c_proj", "blk.#.ffn_down", kChange},
});

constexpr std::span<const NameRule> kNoRules;

const std::array kFamilies = {
    Family{"LlamaForCausalLM LLaMAForCausalLM MistralForCausalLM", "llama", set_llama, kNoRules, kPairsHeads},
    Family{"Qwen2ForCausalLM", "qwen2", set_qwen, kNoRules},
    Family{"Qwen3ForCausalLM", "qwen3", set_qwen, kNoRules},
    Family{"GemmaForCausalLM", "gemma", set_gemma, kNoRules, kAsStored, kAddsOne},
    Family{"Gemma2ForCausalLM", "gemma2", set_gemma2, kSandwichRules, kAsStored, kAddsOne},
    Family{"Gemma3ForCausalLM Gemma3ForConditionalGeneration", "gemma3", set_gemma3, kSandwichRules, kAsStored,
           kAddsOne},
    Family{"Phi3ForCausalLM", "phi3", set_phi3, kFusedRules},
    Family{"ArceeForCausalLM", "arcee", set_arcee, kNoRules, kPairsHeads},
    Family{"SeedOssForCausalLM", "seed_oss", set_plain, kSeedRules},
    Family{"InternLM2ForCausalLM", "internlm2", set_internlm2, kInternlm2Rules},
    Family{"XverseForCausalLM", "xverse", set_xverse, kNoRules, kPairsHeads},
    Family{"ExaoneForCausalLM", "exaone", set_exaone, kExaoneRules},
    Family{"Ernie4_5ForCausalLM Ernie4_5_ForCausalLM", "ernie4_5", set_plain, kErnieRules},
    Family{"SmolLM3ForCausalLM", "smollm3", set_smollm3, kNoRules, kPairsHeads},
    Family{"GraniteForCausalLM", "granite", set_granite, kNoRules, kPairsHeads},
    Family{"MiniCPMForCausalLM", "minicpm", set_minicpm, kNoRules, kPairsHeads},
    Family{"Olmo2ForCausalLM Olmo3ForCausalLM", "olmo2", set_olmo2, kNormedAfterRules},
    Family{"Glm4ForCausalLM", "glm4", set_glm4, kGlm4Rules},
    Family{"Exaone4ForCausalLM", "exaone4", set_exaone4, kNormedAfterRules},
    Family{"HunYuanDenseV1ForCausalLM", "hunyuan-dense", set_hunyuan, kHunyuanRules},
    Family{"HunYuanMoEV1ForCausalLM", "hunyuan-moe", set_hunyuan_moe, kHunyuanMoeRules, kAsStored, kAsStored,
           stack_hunyuan},
    Family{"CohereForCausalLM", "command-r", set_command_r, kNoRules},
    Family{"Cohere2ForCausalLM", "cohere2", set_cohere2, kNoRules},
    Family{"PhiForCausalLM", "phi2", set_phi2, kPhi2Rules},
    Family{"FalconForCausalLM RWForCausalLM", "falcon", set_falcon, kFalconRules},
    Family{"GPTNeoXForCausalLM", "gptneox", set_gptneox, kGptneoxRules},
    Family{"StableLmForCausalLM StableLMEpochForCausalLM", "stablelm", set_stablelm, kNoRules},
    Family{"Starcoder2ForCausalLM", "starcoder2", set_starcoder2, kStarcoder2Rules},
    Family{"NemotronForCausalLM", "nemotron", set_nemotron, kNoRules, kAsStored, kAddsOne},
    Family{"OrionForCausalLM", "orion", set_orion, kNoRules},
    Family{"Ministral3ForCausalLM Mistral3ForConditionalGeneration", "mistral3", set_mistral3, kNoRules, kPairsHeads},
    Family{"BloomForCausalLM BloomModel", "bloom", set_bloom, kBloomRules},
    Family{"MPTForCausalLM MptForCausalLM", "mpt", set_mpt, kMptRules},
    Family{"GPT2LMHeadModel", "gpt2", set_gpt2, kGpt2Rules<Change::transposed>},
    Family{"GPTBigCodeForCausalLM", "starcoder", set_starcoder, kGpt2Rules<Change::none>},
    Family{"BertModel", "bert", set_bert, kBertRules},
};

// Of all kinds, those of files of their own behind.
const std::vector<Family>& all_families() {
    static const std::vector<Family> all = [] {
        std::vector<Family> families(kFamilies.begin(), kFamilies.end());
        for (const std::span<const Family> more : {mixture_families(), recurrent_families()})
            families.insert(families.end(), more.begin(), more.end());
        return families;
    }();
    return all;
}

bool has_word(std::string_view words, std::string_view word) {
    return !word.empty() && (" " + std::string(words) + " ").contains(" " + std::string(word) + " ");
}

}  // namespace

std::span<const Family> families() { return all_families(); }
std::span<const NameRule> shared_rules() { return kShared; }

const Family* find_family(std::string_view model_class) {
    const auto found = std::ranges::find_if(
        all_families(), [&](const Family& family) { return has_word(family.classes, model_class); });
    return found == all_families().end() ? nullptr : &*found;
}

}  // namespace riftjit::models::folder
