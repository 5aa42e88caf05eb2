#include "models/folder/keys.h"

#include <array>
#include <cmath>

namespace riftjit::models::folder {

namespace {

const Config::Names kLayers = {"n_layers", "num_hidden_layers", "n_layer", "num_layers"};
const Config::Names kWidth = {"hidden_size", "n_embd", "d_model", "n_embed"};
const Config::Names kHeads = {"num_attention_heads", "n_head", "n_heads"};

void fill(Json& object, std::string_view key, const Config::Found& found) {
    if (found && find(object, key) == nullptr) object[std::string(key)] = *found.value;
}

// Where several kinds of layers rotate differently, each has an object of its own.
bool is_divided(const Json& rope) { return rope.contains("full_attention") || rope.contains("sliding_attention"); }

Json merged_rope(const Config& config) {
    const Config::Found stated = config.find({"rope_parameters", "rope_scaling"});
    Json rope = stated && stated.value->is_object() ? *stated.value : Json::object();
    if (is_divided(rope)) return rope;
    const Config::Found local = config.find(
        {"local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta", "rope_local_base_freq"});
    if (local) rope["sliding_attention"] = {{"rope_theta", *local.value}};
    fill(rope, "rope_theta",
         config.find({"global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta", "rotary_emb_base"}));
    if (const Json* type = find(rope, "type")) fill(rope, "rope_type", {"type", type});
    fill(rope, "partial_rotary_factor",
         config.find({"partial_rotary_factor", "rope_pct", "rope_percent", "rotary_pct"}));
    fill(rope, "original_max_position_embeddings", config.find({"original_max_position_embeddings"}));
    return rope;
}

// Falcon's keys: the older models share one key and value, or have one for each head.
Result<std::optional<uint64_t>> falcon_kv_heads(const Config& config, uint64_t heads) {
    if (!config.find({"new_decoder_architecture", "parallel_attn"})) return std::nullopt;
    RIFTJIT_TRY(old_count, config.integer({"n_head_kv"}, 1, heads));
    if (old_count) return old_count;
    RIFTJIT_TRY(is_new, config.boolean({"new_decoder_architecture"}));
    RIFTJIT_TRY(is_shared, config.boolean({"multi_query"}));
    RIFTJIT_TRY(count, config.integer({"num_kv_heads"}, 1, heads));
    if (is_new.value_or(false)) return count.value_or(heads);
    return is_shared.value_or(true) ? 1 : heads;
}

Result<void> set_yarn(Keys& keys, const Json& rope) {
    struct Row {
        std::string_view theirs, ours;
    };
    static constexpr auto kRows = std::to_array<Row>({{"extrapolation_factor", "yarn_ext_factor"},
                                                      {"attention_factor", "yarn_attn_factor"},
                                                      {"attn_factor", "yarn_attn_factor"},
                                                      {"beta_fast", "yarn_beta_fast"},
                                                      {"beta_slow", "yarn_beta_slow"}});
    RIFTJIT_TRY(original, keys.rope_number(rope, "original_max_position_embeddings"));
    if (!original || *original < 1 || *original > UINT32_MAX)
        return fail(ErrorKind::Format, "{} has type yarn, but no original_max_position_embeddings from 1 on",
                    keys.config().place("rope_parameters"));
    keys.set("rope.scaling.original_context_length", static_cast<uint32_t>(*original), "rope_parameters");
    for (const Row& row : kRows) {
        RIFTJIT_TRY(value, keys.rope_number(rope, row.theirs));
        const std::string suffix = fmt::format("rope.scaling.{}", row.ours);
        if (value && !keys.has(suffix)) keys.set(suffix, static_cast<float>(*value), "rope_parameters");
    }
    return {};
}

Result<void> set_rope_scaling(Keys& keys, const Json& rope) {
    const Json* const stated = find(rope, "rope_type");
    if (stated == nullptr) return {};
    const std::string type = stated->is_string() ? stated->get<std::string>() : "";
    RIFTJIT_TRY(factor, keys.rope_number(rope, "factor"));
    if (type == "default" || type == "llama3") return {};  // llama3's factors are a tensor
    if ((type == "dynamic" || type == "xdrope") && keys.architecture().starts_with("hunyuan-")) return {};  // set by it
    if (type == "longrope" || type == "su") {
        keys.set_text("rope.scaling.type", "longrope", "rope_parameters");
        return {};
    }
    if (type != "linear" && type != "yarn")
        return fail(ErrorKind::Unsupported, "{} has rope_type {}; known are default, linear, yarn, llama3 and longrope",
                    keys.config().place("rope_parameters"), shown(*stated));
    if (!factor)
        return fail(ErrorKind::Format, "{} has rope_type {}, but no factor", keys.config().place("rope_parameters"),
                    type);
    keys.set_text("rope.scaling.type", type, "rope_parameters");
    keys.set("rope.scaling.factor", static_cast<float>(*factor), "rope_parameters");
    return type == "yarn" ? set_yarn(keys, rope) : Result<void>();
}

// Of mixtures of experts; of others the configurations have none of these.
Result<void> set_expert_keys(Keys& keys) {
    const Config& config = keys.config();
    const Config::Names count = {"num_local_experts", "num_experts", "n_routed_experts"};
    RIFTJIT_TRY(experts, config.integer(count));
    if (experts && keys.architecture() == "hunyuan-dense" && *experts <= 1) return {};
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_count", count));
    RIFTJIT_TRY_VOID(
        keys.copy_integer("expert_used_count", {"num_experts_per_tok", "num_experts_per_token", "top_k_experts"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_group_count", {"n_group"}));
    RIFTJIT_TRY_VOID(keys.copy_integer("expert_group_used_count", {"topk_group"}));
    const Config::Names scoring = {
        "score_function",     "scoring_func", "score_func", "moe_router_activation", "moe_router_activation_func",
        "expert_selection_fn"};
    const Config::Found found = config.find(scoring);
    if (!found) return {};
    RIFTJIT_TRY_VOID(keys.allow_only(scoring, {"softmax", "sigmoid"}));
    keys.set("expert_gating_func", *found.value == Json("sigmoid") ? 2u : 1u, found.key);
    return {};
}

}  // namespace

Keys::Keys(const Config& config, std::string_view architecture, GgufWriter& writer, Places& places)
    : config_(config), architecture_(architecture), writer_(writer), places_(places), rope_(merged_rope(config)) {}

const Json& Keys::global_rope() const {
    const Json* const full = folder::find(rope_, "full_attention");
    return full != nullptr && full->is_object() ? *full : rope_;
}

void Keys::note(std::string_view suffix, std::string_view from) {
    const std::string key = full(suffix);
    places_[key] = from.empty() ? fmt::format("{}: as key '{}'", config_.file(), key)
                                : fmt::format("{} (as {})", config_.place(from), key);
}
void Keys::set(std::string_view suffix, uint32_t value, std::string_view from) {
    note(suffix, from);
    writer_.set_u32(full(suffix), value);
}
void Keys::set(std::string_view suffix, float value, std::string_view from) {
    note(suffix, from);
    writer_.set_f32(full(suffix), value);
}
void Keys::set(std::string_view suffix, bool value, std::string_view from) {
    note(suffix, from);
    writer_.set_boolean(full(suffix), value);
}
void Keys::set_text(std::string_view suffix, std::string_view value, std::string_view from) {
    note(suffix, from);
    writer_.set_string(full(suffix), value);
}
void Keys::set_integers(std::string_view suffix, const std::vector<int32_t>& values, std::string_view from) {
    note(suffix, from);
    writer_.set_i32s(full(suffix), values);
}
void Keys::set_numbers(std::string_view suffix, const std::vector<float>& values, std::string_view from) {
    note(suffix, from);
    writer_.set_f32s(full(suffix), values);
}
void Keys::set_flags(std::string_view suffix, const std::vector<uint8_t>& values, std::string_view from) {
    note(suffix, from);
    writer_.set_booleans(full(suffix), values);
}

Result<void> Keys::copy_integer(std::string_view suffix, Config::Names names) {
    RIFTJIT_TRY(value, config_.integer(names));
    if (value) set(suffix, static_cast<uint32_t>(*value), config_.find(names).key);
    return {};
}
Result<void> Keys::copy_number(std::string_view suffix, Config::Names names) {
    RIFTJIT_TRY(value, config_.number(names));
    if (value) set(suffix, static_cast<float>(*value), config_.find(names).key);
    return {};
}
Result<void> Keys::require_integer(std::string_view suffix, Config::Names names) {
    RIFTJIT_TRY_VOID(config_.require_integer(names));
    return copy_integer(suffix, names);
}
Result<void> Keys::require_number(std::string_view suffix, Config::Names names) {
    RIFTJIT_TRY_VOID(config_.require_number(names));
    return copy_number(suffix, names);
}

Result<std::optional<double>> Keys::rope_number(const Json& rope, std::string_view key) const {
    const Json* const value = folder::find(rope, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || std::abs(value->get<double>()) > 1e30)
        return fail(ErrorKind::Format, "{}: {} is {}; allowed are numbers up to 1e30", config_.place("rope_parameters"),
                    key, shown(*value));
    return value->get<double>();
}

Result<void> Keys::allow_only(Config::Names names, std::initializer_list<Json> allowed) const {
    const Config::Found found = config_.find(names);
    if (!found) return {};
    std::string list;
    for (const Json& each : allowed) {
        if (*found.value == each) return {};
        list += (list.empty() ? "" : ", ") + shown(each);
    }
    return fail(ErrorKind::Unsupported, "{} is {}: unsupported for architecture {}; supported is {}",
                config_.place(found.key), shown(*found.value), architecture_, list);
}

Result<HeadSizes> read_head_sizes(const Config& config) {
    RIFTJIT_TRY(layers, config.require_integer(kLayers, 1, 4096));
    RIFTJIT_TRY(width, config.require_integer(kWidth, 1, 1u << 20));
    // Models of running states alone have no heads.
    const bool has_heads = config.find(kHeads) || !config.find({"state_size"});
    RIFTJIT_TRY(heads, has_heads ? config.require_integer(kHeads, 1, 1u << 16) : Result<uint64_t>(1));
    RIFTJIT_TRY(kv_heads, config.integer({"num_key_value_heads", "n_kv_heads"}, 1, 1u << 16));
    RIFTJIT_TRY(head_dim, config.integer({"head_dim"}, 1, 1024));
    RIFTJIT_TRY(falcons, falcon_kv_heads(config, heads));
    if (falcons) kv_heads = falcons;
    HeadSizes sizes{static_cast<uint32_t>(width), static_cast<uint32_t>(layers), static_cast<uint32_t>(heads),
                    static_cast<uint32_t>(kv_heads.value_or(heads)),
                    static_cast<uint32_t>(head_dim.value_or(width / heads))};
    if (sizes.head_dim == 0)
        return fail(ErrorKind::Format, "{} is {}, but there are {} heads", config.place(config.find(kWidth).key), width,
                    heads);
    return sizes;
}

Result<void> set_decoder_keys(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.require_integer("block_count", kLayers));
    RIFTJIT_TRY_VOID(keys.require_integer("context_length", {"max_position_embeddings", "n_ctx", "n_positions",
                                                             "max_length", "max_sequence_length", "model_max_length"}));
    RIFTJIT_TRY_VOID(keys.require_integer("embedding_length", {"hidden_size", "n_embd", "dim"}));
    // Of models whose every layer is a mixture some configurations tell the experts' alone.
    const Config::Names widths = {"intermediate_size", "n_inner", "hidden_dim"};
    RIFTJIT_TRY_VOID(keys.config().find({"moe_intermediate_size"})
                         ? keys.copy_integer("feed_forward_length", widths)
                         : keys.require_integer("feed_forward_length", widths));
    RIFTJIT_TRY_VOID(keys.require_integer("attention.head_count", kHeads));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.head_count_kv", {"num_key_value_heads", "n_kv_heads"}));
    RIFTJIT_TRY_VOID(keys.allow_only({"is_causal"}, {true}));
    RIFTJIT_TRY_VOID(set_rope_scaling(keys, keys.global_rope()));
    RIFTJIT_TRY(base, keys.rope_number(keys.global_rope(), "rope_theta"));
    if (base) keys.set("rope.freq_base", static_cast<float>(*base), "rope_theta");
    if (const Json* local = find(keys.rope(), "sliding_attention")) {
        RIFTJIT_TRY(local_base, keys.rope_number(*local, "rope_theta"));
        if (local_base) keys.set("rope.freq_base_swa", static_cast<float>(*local_base), "rope_parameters");
    }
    RIFTJIT_TRY_VOID(keys.copy_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps", "norm_eps"}));
    RIFTJIT_TRY_VOID(
        keys.copy_number("attention.layer_norm_epsilon", {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}));
    RIFTJIT_TRY_VOID(set_expert_keys(keys));
    RIFTJIT_TRY_VOID(keys.copy_integer("attention.key_length", {"head_dim"}));
    return keys.copy_integer("attention.value_length", {"head_dim"});
}

}  // namespace riftjit::models::folder
