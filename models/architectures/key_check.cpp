#include "models/architectures/key_check.h"

#include <algorithm>
#include <array>

#include "models/architectures/word_list.h"

namespace riftjit::models {

namespace {

// A key whose effect is not implemented, with the values at which it has none.
struct NeutralKey {
    std::string_view suffix;
    std::array<double, 2> neutral;
};
constexpr auto kNeutralKeys = std::to_array<NeutralKey>({
    {"attention.max_alibi_bias", {0, 0}},
    {"attention.clamp_kqv", {0, 0}},
    {"attention.scale", {0, 0}},
    {"attention.temperature_scale", {0, 0}},
    {"attention.output_scale", {0, 0}},
    {"router_logit_softcapping", {0, 0}},
    {"attention.causal", {1, 1}},
    {"attention.chunk_size", {0, 0}},
    {"attention.shared_kv_layers", {0, 0}},
    {"attention.q_lora_rank", {0, 0}},
    {"attention.kv_lora_rank", {0, 0}},
    {"attn_logit_softcapping", {0, 0}},
    {"final_logit_softcapping", {0, 0}},
    {"logit_scale", {0, 1}},
    {"residual_scale", {0, 1}},
    {"embedding_scale", {0, 1}},
    {"embedding_length_per_layer_input", {0, 0}},
    {"use_parallel_residual", {0, 0}},
    {"full_attention_interval", {0, 0}},
    {"expert_count", {0, 0}},
    {"expert_used_count", {0, 0}},
    {"expert_shared_count", {0, 0}},
    {"rope.scaling.alpha", {0, 0}},
    {"rope.dimension_sections", {0, 0}},
});

// Read elsewhere, or without effect on the computation of these architectures.
constexpr std::string_view kInertKeys =
    "context_length embedding_length block_count nextn_predict_layers feed_forward_length vocab_size "
    "attention.head_count attention.head_count_kv attention.key_length attention.value_length "
    "attention.layer_norm_rms_epsilon attention.layer_norm_epsilon attention.sliding_window "
    "attention.sliding_window_pattern pooling_type "
    "rope.dimension_count rope.freq_base rope.freq_base_swa rope.scale_linear rope.scaling.type rope.scaling.factor "
    "rope.scaling.original_context_length rope.scaling.finetuned rope.scaling.yarn_beta_fast "
    "rope.scaling.yarn_beta_slow rope.scaling.yarn_log_multiplier rope.scaling.yarn_ext_factor "
    "rope.scaling.yarn_attn_factor rope.scaling.attn_factor tensor_data_layout shortconv.l_cache ssm.conv_kernel "
    "ssm.inner_size ssm.state_size ssm.time_step_rank ssm.group_count ssm.dt_b_c_rms attention.recurrent_layers "
    "expert_feed_forward_length expert_shared_feed_forward_length expert_gating_func expert_weights_norm "
    "classifier.output_labels classifier.pooling_type moe_every_n_layers hidden_act "
    "attention.temperature_length attention.key_length_swa attention.value_length_swa rope.dimension_count_swa "
    "expert_weights_scale expert_group_count expert_group_used_count leading_dense_block_count "
    "altup.active_idx altup.num_inputs activation_sparsity_scale moe_latent_size "
    "wkv.head_size token_shift_count time_mix_extra_dim time_decay_extra_dim rescale_every_n_layers "
    "attention.decay_lora_rank attention.iclr_lora_rank attention.value_residual_mix_lora_rank "
    "attention.gate_lora_rank dense_2_feat_in dense_2_feat_out dense_3_feat_in dense_3_feat_out "
    "interleave_moe_layer_step attention.key_length_mla attention.value_length_mla";

std::string full_key(std::string_view architecture, std::string_view suffix) {
    return fmt::format("{}.{}", architecture, suffix);
}

std::optional<double> as_number(const GgufValue& value) {
    if (const auto* number = std::get_if<uint64_t>(&value)) return static_cast<double>(*number);
    if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
    return std::nullopt;
}

// The first value of the entry (a scalar, or an array of them) that is not neutral, as text.
std::optional<std::string> first_effect(const GgufEntry& entry, const NeutralKey& key) {
    const auto effect = [&](const GgufValue& value) -> std::optional<std::string> {
        const std::optional<double> number = as_number(value);
        if (!number) return std::string("no number");
        if (*number == key.neutral[0] || *number == key.neutral[1]) return std::nullopt;
        return fmt::to_string(*number);
    };
    const auto* array = std::get_if<GgufArray>(&entry.value);
    if (array == nullptr) return effect(entry.value);
    if (array->element_type == GgufType::string) return std::string("an array of strings");
    for (uint64_t i = 0; i < array->count; ++i)
        if (auto found = effect(element(*array, i))) return found;
    return std::nullopt;
}

// Relations among the expert keys are checked before the keys are refused as unsupported: a file whose keys contradict
// each other is broken, whoever reads it.
Result<void> check_experts(const Gguf& file, std::string_view architecture) {
    const std::string count_key = full_key(architecture, "expert_count");
    const std::string used_key = full_key(architecture, "expert_used_count");
    RIFTJIT_TRY(count, file.integer(count_key, 0, 1u << 20));
    if (count.value_or(0) == 0) return {};
    const GgufEntry* used_entry = file.find(used_key);
    if (used_entry == nullptr || used_entry->type != GgufType::array) {
        RIFTJIT_TRY(used, file.integer(used_key, 0, UINT32_MAX));
        if (used.value_or(0) == 0 || *used > *count)
            return fail(ErrorKind::Format, "{} is {} but {} is {}; allowed are 1 to {}",
                        file.place_of(*file.find(count_key)), *count, used_key, used.value_or(0), *count);
    }
    for (const GgufTensor& tensor : file.tensors()) {
        if (!tensor.name.ends_with("_exps.weight") || tensor.name.ends_with("norm_exps.weight") ||
            (tensor.ne.size() == 3 && tensor.ne[2] == *count))
            continue;
        return fail(ErrorKind::Format, "{}: tensor '{}' has wrong shape; expected [*, *, {}] ({}), got [{}]",
                    file.place_of(tensor), printable(tensor.name), *count, count_key, fmt::join(tensor.ne, ", "));
    }
    return {};
}

// A window at least as long as the context never hides anything.
Result<void> check_sliding_window(const Gguf& file, const Hyperparameters& hyperparameters) {
    const std::string key = full_key(hyperparameters.architecture, "attention.sliding_window");
    RIFTJIT_TRY(window, file.integer(key, 0, UINT32_MAX));
    if (window.value_or(0) == 0 || *window >= hyperparameters.context_length) return {};
    return fail(ErrorKind::Unsupported,
                "{} is {}: unsupported for architecture {}; supported are 0 and at least the context length {}",
                file.place_of(*file.find(key)), *window, hyperparameters.architecture, hyperparameters.context_length);
}

}  // namespace

Result<void> check_keys(const Gguf& file, const Hyperparameters& hyperparameters, std::string_view implemented) {
    const std::string& architecture = hyperparameters.architecture;
    RIFTJIT_TRY_VOID(check_experts(file, architecture));
    if (!lists(implemented, "attention.sliding_window")) RIFTJIT_TRY_VOID(check_sliding_window(file, hyperparameters));
    for (const NeutralKey& key : kNeutralKeys) {
        const GgufEntry* entry = file.find(full_key(architecture, key.suffix));
        if (entry == nullptr || lists(implemented, key.suffix)) continue;
        if (const auto effect = first_effect(*entry, key))
            return fail(ErrorKind::Unsupported, "{} is {}: unsupported for architecture {}; supported is only {}",
                        file.place_of(*entry), *effect, architecture, key.neutral[1]);
    }
    return {};
}

std::vector<std::string> key_warnings(const Gguf& file, std::string_view architecture, GraphOutput output) {
    std::vector<std::string> warnings;
    const std::string prefix = full_key(architecture, "");
    for (const GgufEntry& entry : file.entries()) {
        if (!entry.key.starts_with(prefix)) continue;
        const std::string_view suffix = entry.key.substr(prefix.size());
        const bool is_known = lists(kInertKeys, suffix) ||
                              std::ranges::find(kNeutralKeys, suffix, &NeutralKey::suffix) != kNeutralKeys.end();
        if (!is_known) warnings.push_back(file.place_of(entry) + " is unknown to this build and ignored");
        if (suffix == "pooling_type" && as_number(entry.value).value_or(0) != 0 && output == GraphOutput::logits)
            warnings.push_back(file.place_of(entry) +
                               " marks a model for embeddings or ranking; it is run as a text generator");
    }
    return warnings;
}

}  // namespace riftjit::models
