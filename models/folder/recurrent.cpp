// Source of names and values as in families.cpp.
#include "models/folder/recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "host/half.h"
#include "models/folder/decoders.h"
#include "models/folder/rewriting.h"

namespace riftjit::models::folder {

namespace {

// ---- what several families share ----

// One text for each layer.
Result<std::vector<std::string>> layer_types(const Config& config) {
    RIFTJIT_TRY(layers, config.require_integer({"num_hidden_layers"}, 1, 4096));
    const Config::Found found = config.find({"layer_types"});
    std::vector<std::string> types;
    if (found && found.value->is_array())
        for (const Json& type : *found.value) types.push_back(type.is_string() ? type.get<std::string>() : "");
    if (types.size() != layers)
        return fail(ErrorKind::Format, "{} is {}; expected is one text for each of {} layers",
                    config.place("layer_types"), found ? shown(*found.value) : "absent", layers);
    return types;
}

float negative_exponential(float value) { return -static_cast<float>(std::exp(double(value))); }

// Of a layer's Mamba block: the decays from their logarithms, convolutions as matrices of taps.
Result<void> rewrite_state_space(Rewriter& rewriter) {
    for (StoredTensor& tensor : rewriter.tensors()) {
        const auto ends = [&](std::string_view part) { return tensor.name.ends_with(part); };
        if (ends(".A_log"))
            RIFTJIT_TRY_VOID(
                rewriter.change_numbers(tensor, [](float value, uint64_t) { return negative_exponential(value); }));
        if (ends(".dt_bias")) tensor.name.replace(tensor.name.size() - 8, 8, ".dt_proj.bias");
        if (ends("conv1d.weight")) RIFTJIT_TRY_VOID(Rewriter::squeeze(tensor));
    }
    rewriter.index_again();
    return {};
}

// Of Mamba 2, whose heads have one decay and one factor each; norms go by groups.
Result<void> rewrite_mamba2(Rewriter& rewriter, Config::Names group_names) {
    RIFTJIT_TRY_VOID(rewrite_state_space(rewriter));
    RIFTJIT_TRY(groups, rewriter.config().integer(group_names, 1, 1u << 16));
    for (StoredTensor& tensor : rewriter.tensors()) {
        const auto ends = [&](std::string_view part) { return tensor.name.ends_with(part); };
        const uint64_t count = tensor.rows() * tensor.width();
        if (ends(".A_log") || ends("mixer.D") || ends("mamba.D"))
            RIFTJIT_TRY_VOID(Rewriter::reshape(tensor, {count, 1}));
        if (ends("mixer.norm.weight") || ends("mamba.norm.weight"))
            RIFTJIT_TRY_VOID(Rewriter::reshape(tensor, {groups.value_or(1), count / groups.value_or(1)}));
    }
    return {};
}

// ---- mamba ----

Result<void> set_mamba(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    const Config& config = keys.config();
    RIFTJIT_TRY(width, config.require_integer({"hidden_size", "d_model"}, 1, 1u << 20));
    RIFTJIT_TRY(inner, config.integer({"intermediate_size", "d_inner"}, 1, 1u << 21));
    const auto set_usual = [&](std::string_view suffix, Config::Names names, uint32_t usual) {
        keys.set(suffix, usual);
        return keys.copy_integer(suffix, names);
    };
    if (inner.value_or(2 * width) != 2 * width)
        return fail(ErrorKind::Unsupported, "{} is {}: unsupported; supported is twice the width",
                    config.place("intermediate_size"), *inner);
    keys.set("context_length", 1u << 20);  // there is no limit
    keys.set("embedding_length", static_cast<uint32_t>(width), "hidden_size");
    keys.set("feed_forward_length", 0u);
    keys.set("attention.head_count", 0u);
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"n_layers", "num_hidden_layers", "n_layer", "num_layers"}));
    RIFTJIT_TRY_VOID(set_usual("ssm.conv_kernel", {"conv_kernel", "d_conv"}, 4));
    keys.set("ssm.inner_size", static_cast<uint32_t>(2 * width), "intermediate_size");
    RIFTJIT_TRY_VOID(set_usual("ssm.state_size", {"state_size", "d_state"}, 16));
    RIFTJIT_TRY_VOID(
        set_usual("ssm.time_step_rank", {"time_step_rank", "dt_rank"}, static_cast<uint32_t>((width + 15) / 16)));
    keys.set("attention.layer_norm_rms_epsilon", 1e-5f);
    RIFTJIT_TRY_VOID(keys.copy_number("attention.layer_norm_rms_epsilon", {"layer_norm_epsilon", "rms_norm_eps"}));
    RIFTJIT_TRY(type, config.string({"model_type"}));
    keys.set("ssm.dt_b_c_rms", type == "falcon_mamba", "model_type");
    return {};
}

constexpr auto kMambaRules = std::to_array<NameRule>({
    {"embeddings", "token_embd"},
    {"embedding", "token_embd"},
    {"norm_f", "output_norm"},
    {"layers.#.norm", "blk.#.attn_norm"},
    {"layers.#.mixer.in_proj", "blk.#.ssm_in"},
    {"layers.#.mixer.conv1d", "blk.#.ssm_conv1d"},
    {"layers.#.mixer.x_proj", "blk.#.ssm_x"},
    {"layers.#.mixer.dt_proj", "blk.#.ssm_dt"},
    {"layers.#.mixer.A_log", "blk.#.ssm_a", Change::whole_name},
    {"layers.#.mixer.D", "blk.#.ssm_d", Change::whole_name},
    {"layers.#.mixer.norm", "blk.#.ssm_norm"},
    {"layers.#.mixer.out_proj", "blk.#.ssm_out"},
});

Result<void> set_mamba2(Keys& keys) {
    RIFTJIT_TRY_VOID(require_silu(keys));
    const Config& config = keys.config();
    RIFTJIT_TRY(width, config.require_integer({"hidden_size", "d_model", "dim"}, 1, 1u << 20));
    RIFTJIT_TRY(expand, config.integer({"mamba_expand", "expand"}, 1, 16));
    RIFTJIT_TRY(head_dim, config.integer({"mamba_d_head", "head_dim"}, 1, 1u << 16));
    RIFTJIT_TRY(stated, config.integer({"mamba_d_ssm", "intermediate_size", "d_inner"}));
    const uint64_t inner = expand.value_or(2) * width, each = head_dim.value_or(64);
    if (stated.value_or(inner) != inner)
        return fail(ErrorKind::Unsupported, "{} is {}: unsupported; supported is {} times the width",
                    config.place("intermediate_size"), *stated, expand.value_or(2));
    if (inner % each != 0)
        return fail(ErrorKind::Format, "{} is {}, which does not divide {} channels", config.place("head_dim"), each,
                    inner);
    keys.set("context_length", 1u << 20);
    keys.set("embedding_length", static_cast<uint32_t>(width), "hidden_size");
    keys.set("feed_forward_length", 0u);
    keys.set("attention.head_count", 0u);
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"n_layers", "num_hidden_layers", "n_layer", "num_layers"}));
    keys.set("ssm.conv_kernel", 4u);
    RIFTJIT_TRY_VOID(keys.copy_integer("ssm.conv_kernel", {"conv_kernel", "d_conv"}));
    keys.set("ssm.inner_size", static_cast<uint32_t>(inner), "expand");
    keys.set("ssm.state_size", 128u);
    RIFTJIT_TRY_VOID(keys.copy_integer("ssm.state_size", {"state_size", "d_state"}));
    keys.set("ssm.time_step_rank", static_cast<uint32_t>(inner / each), "head_dim");
    keys.set("ssm.group_count", 1u);
    RIFTJIT_TRY_VOID(keys.copy_integer("ssm.group_count", {"n_groups"}));
    keys.set("attention.layer_norm_rms_epsilon", 1e-5f);
    return keys.copy_number("attention.layer_norm_rms_epsilon", {"layer_norm_epsilon", "rms_norm_eps"});
}

Result<void> rewrite_plain_mamba2(Rewriter& rewriter) { return rewrite_mamba2(rewriter, {"n_groups"}); }

// ---- lfm2 ----

Result<void> set_lfm2_layers(Keys& keys) {
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY(types, layer_types(keys.config()));
    RIFTJIT_TRY(kv_heads, keys.config().require_integer({"num_key_value_heads"}, 1, 1u << 16));
    std::vector<int32_t> counts;
    for (const std::string& type : types) {
        if (type != "conv" && type != "full_attention")
            return fail(ErrorKind::Unsupported, "{} has '{}'; known are conv and full_attention",
                        keys.config().place("layer_types"), type);
        counts.push_back(type == "conv" ? 0 : static_cast<int32_t>(kv_heads));
    }
    keys.set_integers("attention.head_count_kv", counts, "num_key_value_heads");
    RIFTJIT_TRY_VOID(keys.allow_only({"conv_bias"}, {false}));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    return keys.require_integer("shortconv.l_cache", {"conv_L_cache"});
}

Result<void> set_lfm2(Keys& keys) {
    RIFTJIT_TRY_VOID(set_lfm2_layers(keys));
    const Config& config = keys.config();
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_rms_epsilon", {"norm_eps"}));
    RIFTJIT_TRY(inner, config.require_integer({"block_ff_dim", "intermediate_size"}, 1, 1u << 24));
    RIFTJIT_TRY(adjusts, config.boolean({"block_auto_adjust_ff_dim"}));
    if (adjusts.value_or(false)) {
        RIFTJIT_TRY(multiple, config.require_integer({"block_multiple_of"}, 1, 1u << 20));
        RIFTJIT_TRY(factor, config.number({"block_ffn_dim_multiplier"}));
        inner = 2 * inner / 3;
        if (factor && (*factor <= 0 || *factor > 64))
            return fail(ErrorKind::Format, "{} is {}; allowed are numbers above 0, up to 64",
                        config.place("block_ffn_dim_multiplier"), *factor);
        if (factor) inner = static_cast<uint64_t>(*factor * double(inner));
        inner = multiple * ((inner + multiple - 1) / multiple);
    }
    keys.set("feed_forward_length", static_cast<uint32_t>(inner), "block_ff_dim");
    return {};
}

Result<void> set_lfm2moe(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"norm_topk_prob"}, {true}));
    RIFTJIT_TRY_VOID(set_lfm2_layers(keys));
    RIFTJIT_TRY_VOID(keys.require_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("leading_dense_block_count", {"num_dense_layers"}));
    keys.set("expert_gating_func", 2u);  // sigmoid
    return {};
}

Result<void> rewrite_lfm2(Rewriter& rewriter) {
    for (StoredTensor& tensor : rewriter.tensors())
        if (tensor.name.ends_with(".conv.conv.weight")) RIFTJIT_TRY_VOID(Rewriter::squeeze(tensor));
    return rewriter.stack_experts();
}

constexpr auto kLfm2Rules = std::to_array<NameRule>({
    {"embedding_norm", "token_embd_norm"},
    {"layers.#.operator_norm", "blk.#.attn_norm"},
    {"layers.#.ffn_norm", "blk.#.ffn_norm"},
    {"layers.#.self_attn.q_layernorm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.k_layernorm", "blk.#.attn_k_norm"},
    {"layers.#.self_attn.out_proj", "blk.#.attn_output"},
    {"layers.#.conv.in_proj", "blk.#.shortconv.in_proj"},
    {"layers.#.conv.conv", "blk.#.shortconv.conv"},
    {"layers.#.conv.out_proj", "blk.#.shortconv.out_proj"},
    {"layers.#.feed_forward.w1", "blk.#.ffn_gate"},
    {"layers.#.feed_forward.w2", "blk.#.ffn_down"},
    {"layers.#.feed_forward.w3", "blk.#.ffn_up"},
    {"layers.#.feed_forward.gate", "blk.#.ffn_gate_inp"},
    {"layers.#.feed_forward.expert_bias", "blk.#.exp_probs_b.bias", Change::whole_name},
    {"layers.#.feed_forward.experts.w1", "blk.#.ffn_gate_exps"},
    {"layers.#.feed_forward.experts.w2", "blk.#.ffn_down_exps"},
    {"layers.#.feed_forward.experts.w3", "blk.#.ffn_up_exps"},
});

// ---- granite and bamba: Mamba 2 and attention by turns ----

Result<std::vector<bool>> attention_layers(const Config& config) {
    RIFTJIT_TRY(layers, config.require_integer({"num_hidden_layers"}, 1, 4096));
    std::vector<bool> attends(layers, false);
    if (config.find({"layer_types"})) {
        RIFTJIT_TRY(types, layer_types(config));
        for (size_t i = 0; i < types.size(); ++i) attends[i] = types[i] == "attention" || types[i] == "full_attention";
        return attends;
    }
    if (const Config::Found indexes = config.find({"attn_layer_indices"});
        indexes && indexes.value->is_array() && !indexes.value->empty()) {
        for (const Json& index : *indexes.value) {
            if (!index.is_number_unsigned() || index.get<uint64_t>() >= layers)
                return fail(ErrorKind::Format, "{} has {}; allowed are numbers of {} layers",
                            config.place("attn_layer_indices"), shown(index), layers);
            attends[index.get<uint64_t>()] = true;
        }
        return attends;
    }
    RIFTJIT_TRY(period, config.require_integer({"attn_layer_period"}, 1, 4096));
    RIFTJIT_TRY(offset, config.require_integer({"attn_layer_offset"}, 0, 4096));
    for (size_t i = 0; i < layers; ++i) attends[i] = i % period == offset;
    return attends;
}

// A model without Mamba layers is a plain granite of the same class.
Result<std::string_view> granite_architecture(const Config& config) {
    RIFTJIT_TRY(attends, attention_layers(config));
    if (std::ranges::find(attends, false) != attends.end()) return std::string_view("granitehybrid");
    RIFTJIT_TRY(used, config.integer({"num_experts_per_tok", "num_experts_per_token"}));
    return std::string_view(used.value_or(0) != 0 ? "granitemoe" : "granite");
}

Result<void> set_granite_hybrid(Keys& keys) {
    const Config& config = keys.config();
    RIFTJIT_TRY_VOID(set_granite(keys));
    RIFTJIT_TRY(shared, config.integer({"shared_intermediate_size"}));
    if (shared.value_or(0) != 0)
        keys.set("expert_shared_feed_forward_length", static_cast<uint32_t>(*shared), "shared_intermediate_size");
    RIFTJIT_TRY(attends, attention_layers(config));
    const bool is_hybrid = keys.architecture() == "granitehybrid";
    RIFTJIT_TRY(expand, config.require_integer({"mamba_expand"}, 1, 16));
    RIFTJIT_TRY(width, config.require_integer({"hidden_size"}, 1, 1u << 20));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.conv_kernel", {"mamba_d_conv"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.state_size", {"mamba_d_state"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.group_count", {"mamba_n_groups"}));
    keys.set("ssm.inner_size", static_cast<uint32_t>(expand * width), "mamba_expand");
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.time_step_rank", {"mamba_n_heads"}));
    RIFTJIT_TRY(kv_heads, config.require_integer({"num_key_value_heads"}, 1, 1u << 16));
    std::vector<int32_t> counts;
    for (const bool is_attention : attends) counts.push_back(is_attention ? static_cast<int32_t>(kv_heads) : 0);
    RIFTJIT_TRY_VOID(keys.copy_integer("rope.dimension_count", {"attn_rotary_emb"}));
    keys.set_integers("attention.head_count_kv", counts, "num_key_value_heads");
    const Config::Found classes = config.find({"architectures"});
    const bool rotates = !is_hybrid || (*classes.value)[0] == Json("BambaForCausalLM");
    keys.set("rope.scaling.finetuned", rotates);
    if (!rotates) keys.set("context_length", 1u << 20);
    return {};
}

Result<void> rewrite_granite_hybrid(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(rewrite_mamba2(rewriter, {"mamba_n_groups"}));
    RIFTJIT_TRY(experts, rewriter.config().integer({"num_local_experts"}));
    for (const char* part : {"block_sparse_moe.", "shared_mlp."})
        for (const std::string& stem : rewriter.stems_of(part + std::string("input_linear.weight"))) {
            const std::string name = stem + part;
            RIFTJIT_TRY_VOID(rewriter.split_halves(name + "input_linear.weight", name + "gate_linear.weight",
                                                   name + "up_linear.weight", Rewriter::Halves::in_order));
        }
    if (experts.value_or(0) != 0) return {};
    for (StoredTensor& tensor : rewriter.tensors())  // the shared expert is the whole block
        if (const size_t at = tensor.name.find(".shared_mlp."); at != std::string::npos)
            tensor.name.replace(at, 12, ".dense_mlp.");
    rewriter.index_again();
    return {};
}

template <Change kNorm>
constexpr auto kHybridRules = std::to_array<NameRule>({
    {"final_layernorm", "output_norm"},
    {"layers.#.pre_ff_layernorm", "blk.#.ffn_norm", kNorm},
    {"layers.#.feed_forward.gate_proj", "blk.#.ffn_gate"},
    {"layers.#.feed_forward.up_proj", "blk.#.ffn_up"},
    {"layers.#.feed_forward.down_proj", "blk.#.ffn_down"},
    {"layers.#.mamba.in_proj", "blk.#.ssm_in"},
    {"layers.#.mamba.conv1d", "blk.#.ssm_conv1d"},
    {"layers.#.mamba.dt_proj", "blk.#.ssm_dt"},
    {"layers.#.mamba.A_log", "blk.#.ssm_a", Change::whole_name},
    {"layers.#.mamba.D", "blk.#.ssm_d", Change::whole_name},
    {"layers.#.mamba.norm", "blk.#.ssm_norm"},
    {"layers.#.mamba.out_proj", "blk.#.ssm_out"},
    {"layers.#.block_sparse_moe.router.layer", "blk.#.ffn_gate_inp"},
    {"layers.#.block_sparse_moe.gate_linear", "blk.#.ffn_gate_exps"},
    {"layers.#.block_sparse_moe.up_linear", "blk.#.ffn_up_exps"},
    {"layers.#.block_sparse_moe.output_linear", "blk.#.ffn_down_exps"},
    {"layers.#.shared_mlp.gate_linear", "blk.#.ffn_gate_shexp"},
    {"layers.#.shared_mlp.up_linear", "blk.#.ffn_up_shexp"},
    {"layers.#.shared_mlp.output_linear", "blk.#.ffn_down_shexp"},
    {"layers.#.dense_mlp.gate_linear", "blk.#.ffn_gate"},
    {"layers.#.dense_mlp.up_linear", "blk.#.ffn_up"},
    {"layers.#.dense_mlp.output_linear", "blk.#.ffn_down"},
});

// ---- falcon-h1: both side by side; factors become part of weights ----

Result<void> set_falcon_h1(Keys& keys) {
    const Config& config = keys.config();
    RIFTJIT_TRY_VOID(require_silu(keys));
    RIFTJIT_TRY_VOID(refuse_rope_scaling(keys));
    RIFTJIT_TRY_VOID(keys.allow_only({"mamba_norm_before_gate"}, {false}));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_position_embeddings"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("feed_forward_length", {"intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", {"num_attention_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count_kv", {"num_key_value_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.key_length", {"head_dim"}));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.value_length", {"head_dim"}));
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", {"num_hidden_layers"}));
    RIFTJIT_TRY_VOID(keys.require_integer("vocab_size", {"vocab_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.conv_kernel", {"mamba_d_conv"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.inner_size", {"mamba_d_ssm"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.state_size", {"mamba_d_state"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.group_count", {"mamba_n_groups"}));
    RIFTJIT_TRY(inner, config.require_integer({"mamba_d_ssm"}, 1, 1u << 21));
    RIFTJIT_TRY(each, config.require_integer({"mamba_d_head"}, 1, 1u << 16));
    keys.set("ssm.time_step_rank", static_cast<uint32_t>(inner / each), "mamba_d_head");
    RIFTJIT_TRY_VOID(keys.require_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps"}));
    RIFTJIT_TRY(base, keys.rope_number(keys.global_rope(), "rope_theta"));
    keys.set("rope.freq_base", static_cast<float>(base.value_or(10000.0)), "rope_theta");
    return {};
}

Result<std::vector<float>> factors(const Config& config, std::string_view key, size_t count) {
    const Config::Found found = config.find({key});
    std::vector<float> result;
    if (found && found.value->is_array())
        for (const Json& each : *found.value)
            if (each.is_number()) result.push_back(each.get<float>());
    if (result.size() != count)
        return fail(ErrorKind::Format, "{} is {}; expected are {} numbers", config.place(key),
                    found ? shown(*found.value) : "absent", count);
    return result;
}

Result<void> rewrite_falcon_h1(Rewriter& rewriter) {
    const Config& config = rewriter.config();
    RIFTJIT_TRY_VOID(rewrite_mamba2(rewriter, {"mamba_n_groups"}));
    for (StoredTensor& tensor : rewriter.tensors())  // which has no end in files of this family
        if (tensor.name.ends_with(".pre_ff_layernorm.weight")) tensor.name.resize(tensor.name.size() - 7);
    rewriter.index_again();
    RIFTJIT_TRY(of_mlp, factors(config, "mlp_multipliers", 2));
    RIFTJIT_TRY(of_parts, factors(config, "ssm_multipliers", 5));
    const auto number = [&](std::string_view key) -> Result<float> {
        RIFTJIT_TRY(value, config.require_number({key}));
        return static_cast<float>(value);
    };
    RIFTJIT_TRY(attention_in, number("attention_in_multiplier"));
    RIFTJIT_TRY(attention_out, number("attention_out_multiplier"));
    RIFTJIT_TRY(key, number("key_multiplier"));
    RIFTJIT_TRY(ssm_in, number("ssm_in_multiplier"));
    RIFTJIT_TRY(ssm_out, number("ssm_out_multiplier"));
    RIFTJIT_TRY(embedding, number("embedding_multiplier"));
    RIFTJIT_TRY(head, number("lm_head_multiplier"));
    RIFTJIT_TRY(inner, config.require_integer({"mamba_d_ssm"}, 1, 1u << 21));
    RIFTJIT_TRY(groups, config.require_integer({"mamba_n_groups"}, 1, 1u << 16));
    RIFTJIT_TRY(states, config.require_integer({"mamba_d_state"}, 1, 1u << 16));
    struct Row {
        std::string_view part;
        std::vector<float> by;  // one after the other
    };
    const std::array rows = {Row{"down_proj.weight", {of_mlp[1]}},      Row{"gate_proj.weight", {of_mlp[0]}},
                             Row{"k_proj.weight", {key, attention_in}}, Row{"q_proj.weight", {attention_in}},
                             Row{"v_proj.weight", {attention_in}},      Row{"o_proj.weight", {attention_out}},
                             Row{"mamba.out_proj.weight", {ssm_out}},   Row{"lm_head.weight", {head}},
                             Row{"embed_tokens.weight", {embedding}}};
    for (StoredTensor& tensor : rewriter.tensors()) {
        for (const Row& row : rows)
            if (tensor.name.ends_with(row.part))
                for (const float factor : row.by)
                    RIFTJIT_TRY_VOID(
                        rewriter.change_matrix(tensor, [&](float value, uint64_t) { return value * factor; }));
        if (!tensor.name.ends_with("mamba.in_proj.weight")) continue;
        // z, x, B, C and times.
        const uint64_t shared = groups * states, width = tensor.width();
        const std::array<uint64_t, 4> ends = {inner, 2 * inner, 2 * inner + shared, 2 * inner + 2 * shared};
        const bool is_half = tensor.type == StoredType::f16;
        RIFTJIT_TRY_VOID(rewriter.change_matrix(tensor, [&](float value, uint64_t i) {
            const auto part = std::ranges::upper_bound(ends, i / width) - ends.begin();
            return (is_half ? half_to_float(float_to_half(value * ssm_in)) : value * ssm_in) * of_parts[size_t(part)];
        }));
    }
    return {};
}

// ---- qwen3next, qwen35 ----

Result<void> set_qwen3next(Keys& keys) {
    const Config& config = keys.config();
    RIFTJIT_TRY_VOID(keys.allow_only({"norm_topk_prob"}, {true}));
    RIFTJIT_TRY_VOID(set_plain(keys));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_feed_forward_length", {"moe_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_shared_feed_forward_length", {"shared_expert_intermediate_size"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.conv_kernel", {"linear_conv_kernel_dim"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.state_size", {"linear_key_head_dim"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.group_count", {"linear_num_key_heads"}));
    RIFTJIT_TRY_VOID(keys.require_integer("ssm.time_step_rank", {"linear_num_value_heads"}));
    RIFTJIT_TRY(heads, config.require_integer({"linear_num_value_heads"}, 1, 1u << 16));
    RIFTJIT_TRY(each, config.require_integer({"linear_value_head_dim"}, 1, 1u << 16));
    keys.set("ssm.inner_size", static_cast<uint32_t>(heads * each), "linear_value_head_dim");
    if (config.find({"layer_types"})) {
        RIFTJIT_TRY(types, layer_types(config));
        std::vector<uint8_t> is_linear;
        for (const std::string& type : types) is_linear.push_back(type == "linear_attention" ? 1 : 0);
        keys.set_flags("attention.recurrent_layers", is_linear, "layer_types");
    }
    keys.set("full_attention_interval", 4u);
    RIFTJIT_TRY_VOID(keys.copy_integer("full_attention_interval", {"full_attention_interval"}));
    RIFTJIT_TRY(dims, rotary_dims(keys, 0.25));
    keys.set("rope.dimension_count", dims);
    return {};
}

// Sections of a rotation in three dimensions, which texts do not have.
Result<void> set_qwen35(Keys& keys) {
    RIFTJIT_TRY_VOID(set_qwen3next(keys));
    std::vector<int32_t> sections = {11, 11, 10};
    if (const Json* const stated = find(keys.rope(), "mrope_section"); stated != nullptr && stated->is_array()) {
        sections.clear();
        for (const Json& section : *stated)
            sections.push_back(section.is_number_unsigned() ? static_cast<int32_t>(section.get<uint32_t>()) : 0);
    }
    sections.resize(4);
    keys.set_integers("rope.dimension_sections", sections, "rope_parameters");
    return {};
}

struct DeltaNetSizes {
    uint64_t key_heads, value_heads, key_dim, value_dim;
};
Result<DeltaNetSizes> delta_net_sizes(const Config& config) {
    RIFTJIT_TRY(key_heads, config.require_integer({"linear_num_key_heads"}, 1, 1u << 16));
    RIFTJIT_TRY(value_heads, config.require_integer({"linear_num_value_heads"}, 1, 1u << 16));
    RIFTJIT_TRY(key_dim, config.require_integer({"linear_key_head_dim"}, 1, 1u << 16));
    RIFTJIT_TRY(value_dim, config.require_integer({"linear_value_head_dim"}, 1, 1u << 16));
    if (value_heads % key_heads != 0)
        return fail(ErrorKind::Format, "{} is {}, which does not divide {} value heads",
                    config.place("linear_num_key_heads"), key_heads, value_heads);
    return DeltaNetSizes{key_heads, value_heads, key_dim, value_dim};
}

// What qwen3next and qwen35 share.
Result<void> rewrite_delta_net(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(rewriter.leave_out_drafts());
    RIFTJIT_TRY_VOID(rewriter.stack_experts());
    RIFTJIT_TRY_VOID(rewrite_state_space(rewriter));
    for (StoredTensor& tensor : rewriter.tensors())
        if (tensor.name.ends_with("norm.weight") && !tensor.name.ends_with("linear_attn.norm.weight"))
            RIFTJIT_TRY_VOID(rewriter.change_numbers(tensor, [](float value, uint64_t) { return value + 1; }));
    return {};
}

// Value heads stand key head by key head; in files the first of each key head come first.
Result<void> rewrite_qwen35(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(rewrite_delta_net(rewriter));
    RIFTJIT_TRY(sizes, delta_net_sizes(rewriter.config()));
    const uint64_t keys = 2 * sizes.key_heads * sizes.key_dim, shared = sizes.value_heads / sizes.key_heads;
    const auto value_order = [&](uint64_t first, uint64_t dim) {
        std::vector<uint64_t> order(first);
        std::iota(order.begin(), order.end(), uint64_t{0});
        for (uint64_t within = 0; within < shared; ++within)
            for (uint64_t head = 0; head < sizes.key_heads; ++head)
                for (uint64_t i = 0; i < dim; ++i) order.push_back(first + (head * shared + within) * dim + i);
        return order;
    };
    for (StoredTensor& tensor : rewriter.tensors()) {
        const auto ends = [&](std::string_view part) { return tensor.name.ends_with(part); };
        if (!tensor.name.contains(".linear_attn.") || ends("linear_attn.norm.weight")) continue;
        const bool is_of_heads =
            ends("in_proj_a.weight") || ends("in_proj_b.weight") || ends("A_log") || ends("dt_proj.bias");
        const bool has_keys = ends("in_proj_qkv.weight") || ends("conv1d.weight");
        const std::vector<uint64_t> order = value_order(has_keys ? keys : 0, is_of_heads ? 1 : sizes.value_dim);
        const bool by_column = ends("out_proj.weight");
        const uint64_t extent = tensor.shape.empty() ? 0 : by_column ? tensor.shape.back() : tensor.shape.front();
        if (extent != order.size() || (by_column && tensor.shape.size() != 2))
            return fail(ErrorKind::Format, "{}: shape [{}]; expected are {} {}", tensor.place,
                        fmt::join(tensor.shape, ", "), order.size(), by_column ? "columns" : "rows");
        if (!by_column) {
            tensor = rewriter.rows_of(tensor, tensor.name, order);
            continue;
        }
        tensor = rewriter.gathered(tensor, tensor.name, tensor.shape,
                                   [&](uint64_t i) { return i - i % extent + order[i % extent]; });
    }
    rewriter.index_again();
    return {};
}

// The rows of q, k, v and z stand key head by key head.
Result<void> rewrite_qwen3next(Rewriter& rewriter) {
    RIFTJIT_TRY_VOID(rewrite_delta_net(rewriter));
    RIFTJIT_TRY(sizes, delta_net_sizes(rewriter.config()));
    const auto& [key_heads, value_heads, key_dim, value_dim] = sizes;
    const uint64_t values = value_heads / key_heads * value_dim, stride = 2 * key_dim + 2 * values;
    std::vector<StoredTensor> result;
    for (StoredTensor& tensor : rewriter.tensors()) {
        const auto ends = [&](std::string_view part) { return tensor.name.ends_with(part); };
        if (!ends("linear_attn.in_proj_qkvz.weight")) {
            result.push_back(std::move(tensor));
            continue;
        }
        if (tensor.shape.size() != 2 || tensor.shape[0] != key_heads * stride)
            return fail(ErrorKind::Format, "{}: shape [{}]; expected are {} rows: of each of {} heads {}", tensor.place,
                        fmt::join(tensor.shape, ", "), key_heads * stride, key_heads, stride);
        std::vector<uint64_t> qkv, z;
        const auto append = [&](std::vector<uint64_t>& order, uint64_t first, uint64_t count) {
            for (uint64_t head = 0; head < key_heads; ++head)
                for (uint64_t i = 0; i < count; ++i) order.push_back(head * stride + first + i);
        };
        append(qkv, 0, key_dim);
        append(qkv, key_dim, key_dim);
        append(qkv, 2 * key_dim, values);
        append(z, 2 * key_dim + values, values);
        const std::string stem = tensor.name.substr(0, tensor.name.size() - 11);  // "qkvz.weight"
        result.push_back(rewriter.rows_of(tensor, stem + "qkv.weight", qkv));
        result.push_back(rewriter.rows_of(tensor, stem + "z.weight", z));
    }
    rewriter.tensors() = std::move(result);
    rewriter.index_again();
    return {};
}

constexpr auto kQwen3NextRules = std::to_array<NameRule>({
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.linear_attn.in_proj_qkv", "blk.#.attn_qkv"},
    {"layers.#.linear_attn.in_proj_z", "blk.#.attn_gate"},
    {"layers.#.linear_attn.in_proj_ba", "blk.#.ssm_ba"},
    {"layers.#.linear_attn.in_proj_a", "blk.#.ssm_alpha"},
    {"layers.#.linear_attn.in_proj_b", "blk.#.ssm_beta"},
    {"layers.#.linear_attn.conv1d", "blk.#.ssm_conv1d"},
    {"layers.#.linear_attn.dt_proj", "blk.#.ssm_dt"},
    {"layers.#.linear_attn.A_log", "blk.#.ssm_a", Change::whole_name},
    {"layers.#.linear_attn.norm", "blk.#.ssm_norm"},
    {"layers.#.linear_attn.out_proj", "blk.#.ssm_out"},
});

const std::array kRecurrent = {
    Family{"MambaForCausalLM FalconMambaForCausalLM", "mamba", set_mamba, kMambaRules, kAsStored, kAsStored,
           rewrite_state_space},
    Family{"Mamba2ForCausalLM", "mamba2", set_mamba2, kMambaRules, kAsStored, kAsStored, rewrite_plain_mamba2},
    Family{"Lfm2ForCausalLM", "lfm2", set_lfm2, kLfm2Rules, kAsStored, kAsStored, rewrite_lfm2},
    Family{"Lfm2MoeForCausalLM", "lfm2moe", set_lfm2moe, kLfm2Rules, kAsStored, kAsStored, rewrite_lfm2},
    Family{"GraniteMoeHybridForCausalLM BambaForCausalLM", "granitehybrid", set_granite_hybrid,
           kHybridRules<Change::none>, kPairsHeads, kAsStored, rewrite_granite_hybrid, granite_architecture},
    Family{"FalconH1ForCausalLM", "falcon-h1", set_falcon_h1, kHybridRules<Change::whole_name>, kAsStored, kAsStored,
           rewrite_falcon_h1},
    Family{"Qwen3NextForCausalLM", "qwen3next", set_qwen3next, kQwen3NextRules, kAsStored, kAsStored,
           rewrite_qwen3next},
    Family{"Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration", "qwen35", set_qwen35, kQwen3NextRules, kAsStored,
           kAsStored, rewrite_qwen35},
    Family{"Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration", "qwen35moe", set_qwen35, kQwen3NextRules,
           kAsStored, kAsStored, rewrite_qwen35},
};

}  // namespace

std::span<const Family> recurrent_families() { return kRecurrent; }

}  // namespace riftjit::models::folder
