#include "models/architectures/hyperparameters.h"

#include <array>
#include <cmath>
#include <limits>

#include "models/architectures/key_check.h"
#include "models/architectures/word_list.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

constexpr uint64_t kMaxLayers = 4096;
constexpr uint64_t kMaxHeads = 1u << 16;
// Published models go up to 576, in multiples of 8.
constexpr uint64_t kMaxHeadDim = 1024;
constexpr uint64_t kHeadDimMultiple = 8;

class HyperparameterReader {
public:
    HyperparameterReader(const Gguf& file, const Reading& reading) : file_(file), reading_(reading) {
        result_.architecture = reading.architecture;
        result_.pairing = reading.pairing;
    }

    Result<Hyperparameters> run() {
        RIFTJIT_TRY_VOID(read_sizes());
        result_.layer.assign(result_.layers, {.rotates = reading_.is_rotated});
        RIFTJIT_TRY_VOID(read_feed_forward());
        RIFTJIT_TRY_VOID(read_heads());
        if (result_.heads != 0) RIFTJIT_TRY_VOID(read_head_dim());
        const bool is_rms = reading_.norm == Reading::Norm::rms;
        RIFTJIT_TRY(epsilon,
                    positive_number(is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
                                    std::nullopt, 1.0));
        result_.norm_epsilon = epsilon;
        if (result_.heads != 0) result_.attention_scale = 1.0f / std::sqrt(static_cast<float>(result_.head_dim));
        for (LayerTraits& layer : result_.layer) layer.head_dim = result_.head_dim;
        set_mixers();
        if (result_.heads != 0) RIFTJIT_TRY_VOID(read_rope());
        RIFTJIT_TRY_VOID(read_vocabulary());
        RIFTJIT_TRY_VOID(read_purpose());
        return result_;
    }

private:
    std::string key(std::string_view suffix) const { return fmt::format("{}.{}", result_.architecture, suffix); }
    std::string place(std::string_view suffix) const { return file_.place_of(*file_.find(key(suffix))); }

    Result<void> read_sizes() {
        RIFTJIT_TRY(name, file_.string("general.name"));
        result_.name = name.value_or("");
        RIFTJIT_TRY(context_length, file_.require_integer(key("context_length"), 1, INT32_MAX));
        RIFTJIT_TRY(width, file_.require_integer(key("embedding_length"), 1, kMaxWidth));
        RIFTJIT_TRY(blocks, file_.require_integer(key("block_count"), 1, kMaxLayers));
        // Draft blocks for multi-token prediction stand at the end and do not belong to the trunk.
        RIFTJIT_TRY(draft_blocks, file_.integer(key("nextn_predict_layers"), 0, blocks - 1));
        blocks_ = static_cast<uint32_t>(blocks);
        result_.context_length = static_cast<uint32_t>(context_length);
        result_.width = static_cast<uint32_t>(width);
        result_.layers = static_cast<uint32_t>(blocks - draft_blocks.value_or(0));
        return {};
    }

    Result<void> read_feed_forward() {
        // Files of models whose every layer is a mixture may tell the experts' alone.
        const bool tells_experts = reading_.has_experts && file_.find(key("feed_forward_length")) == nullptr;
        RIFTJIT_TRY(widths, per_layer(tells_experts ? "expert_feed_forward_length" : "feed_forward_length", kMaxWidth));
        if (!widths) return missing_key(file_, key("feed_forward_length"));
        result_.ffn_width = std::ranges::max(*widths);
        for (uint32_t i = 0; i < result_.layers; ++i) {
            result_.layer[i].ffn_width = (*widths)[i];
            result_.layer[i].has_feed_forward = (*widths)[i] != 0;
        }
        return {};
    }

    bool has_other_mixers() const { return reading_.other_mixer != LayerTraits::Mixer::attention; }

    // One entry per block, from a scalar or an array; nothing where there is no key. Where layers may be without what
    // the key counts, it may be 0.
    Result<std::optional<std::vector<uint32_t>>> per_layer(std::string_view suffix, uint64_t high) const {
        const GgufEntry* entry = file_.find(key(suffix));
        if (entry == nullptr) return std::nullopt;
        const bool may_lack = has_other_mixers() || reading_.layers_differ;
        if (entry->type != GgufType::array) {
            RIFTJIT_TRY(value, file_.require_integer(key(suffix), may_lack ? 0 : 1, high));
            return std::vector(blocks_, static_cast<uint32_t>(value));
        }
        RIFTJIT_TRY(values, file_.integers(key(suffix)));
        if (values->size() != blocks_)
            return fail(ErrorKind::Format, "{}: key {} has wrong array length; expected {}, got {}", place(suffix),
                        key(suffix), blocks_, values->size());
        std::vector<uint32_t> result;
        std::optional<size_t> first;
        for (size_t i = 0; i < values->size(); ++i) {
            const int64_t value = (*values)[i];
            result.push_back(static_cast<uint32_t>(value));
            if (value == 0 && may_lack) continue;
            if (value < 1 || static_cast<uint64_t>(value) > high)
                return fail(ErrorKind::Format, "{}: element {} is {}; allowed are 1 to {}", place(suffix), i, value,
                            high);
            if (!first) first = i;
            if (value != (*values)[*first] && !reading_.layers_differ)
                return fail(ErrorKind::Unsupported,
                            "{}: element {} is {} but element {} is {}: layers of different shapes are unsupported",
                            place(suffix), i, value, *first, (*values)[*first]);
        }
        return result;
    }

    Result<void> read_heads() {
        RIFTJIT_TRY(heads, per_layer("attention.head_count", kMaxHeads));
        if (!heads) return missing_key(file_, key("attention.head_count"));
        RIFTJIT_TRY(found_kv_heads, per_layer("attention.head_count_kv", kMaxHeads));
        const std::vector<uint32_t>& kv_heads = found_kv_heads ? *found_kv_heads : *heads;
        result_.kv_heads = std::ranges::max(kv_heads);
        result_.heads = result_.kv_heads == 0 ? 0 : std::ranges::max(*heads);
        for (uint32_t i = 0; i < result_.layers; ++i) {
            result_.layer[i].heads = (*heads)[i];
            result_.layer[i].kv_heads = kv_heads[i];
            if (kv_heads[i] != 0 && ((*heads)[i] == 0 || (*heads)[i] % kv_heads[i] != 0))
                return fail(ErrorKind::Format, "{} is {}, which does not divide {} = {}",
                            place("attention.head_count_kv"), kv_heads[i], key("attention.head_count"), (*heads)[i]);
        }
        return {};
    }

    void set_mixers() {
        for (LayerTraits& layer : result_.layer) {
            if (layer.kv_heads != 0) continue;
            if (has_other_mixers())
                layer.mixer = reading_.other_mixer;
            else
                layer.mixer = layer.heads == 0 ? LayerTraits::Mixer::none : LayerTraits::Mixer::linear;
        }
    }

    Result<void> read_head_dim() {
        RIFTJIT_TRY(key_length, file_.integer(key("attention.key_length"), 1, kMaxHeadDim));
        if (!key_length && result_.width % result_.heads != 0)
            return fail(ErrorKind::Format, "{} is {}, which does not divide {} = {}, and there is no {}",
                        place("attention.head_count"), result_.heads, key("embedding_length"), result_.width,
                        key("attention.key_length"));
        result_.head_dim = static_cast<uint32_t>(key_length.value_or(result_.width / result_.heads));
        if (result_.head_dim % kHeadDimMultiple != 0 || result_.head_dim > kMaxHeadDim)
            return fail(ErrorKind::Unsupported,
                        "{}: a head size of {} ({}) is unsupported: it must be a multiple of {} and at most {}",
                        place(key_length ? "attention.key_length" : "attention.head_count"), result_.head_dim,
                        key_length ? key("attention.key_length")
                                   : fmt::format("{} / {}", key("embedding_length"), key("attention.head_count")),
                        kHeadDimMultiple, kMaxHeadDim);
        RIFTJIT_TRY(value_length, file_.integer(key("attention.value_length"), 1, kMaxHeadDim));
        if (!reading_.is_latent && value_length.value_or(result_.head_dim) != result_.head_dim)
            return fail(ErrorKind::Unsupported,
                        "{} is {}, but keys have a head size of {}: different sizes are unsupported",
                        place("attention.value_length"), *value_length, result_.head_dim);
        return {};
    }

    // In (0, high], as a float.
    Result<float> positive_number(std::string_view suffix, std::optional<double> fallback, double high) const {
        RIFTJIT_TRY(number, file_.number(key(suffix)));
        if (!number && fallback) return static_cast<float>(*fallback);
        if (!number) return missing_key(file_, key(suffix));
        const auto value = static_cast<float>(*number);
        if (!(value > 0) || !std::isfinite(value) || value > high)
            return fail(ErrorKind::Format, "{} is {}; allowed are numbers above 0, up to {}", place(suffix), *number,
                        high);
        return value;
    }

    Result<void> read_rope() {
        RIFTJIT_TRY(rotary_dims, file_.integer(key("rope.dimension_count"), 0, UINT32_MAX));
        const auto dims = static_cast<uint32_t>(rotary_dims.value_or(result_.head_dim));
        const bool is_partial = reading_.is_partly_rotated && dims % 2 == 0 && dims <= result_.head_dim;
        if (dims != result_.head_dim && !is_partial)
            return fail(ErrorKind::Unsupported, "{}: invalid n_rot: {}, expected {} (the head size)",
                        place("rope.dimension_count"), *rotary_dims, result_.head_dim);
        RIFTJIT_TRY(base, positive_number("rope.freq_base", 10000.0, std::numeric_limits<float>::max()));
        result_.rope = {dims, base};
        RIFTJIT_TRY_VOID(read_rope_scaling());
        result_.local_rope = result_.rope;
        return {};
    }

    Result<void> read_rope_scaling() {
        graph::RopeAngles& rope = result_.rope;
        RIFTJIT_TRY(type, file_.string(key("rope.scaling.type")));
        if (type && *type != "none" && *type != "linear" && *type != "yarn" && *type != "longrope")
            return fail(ErrorKind::Format, "{} is '{}'; allowed are 'none', 'linear', 'yarn' and 'longrope'",
                        place("rope.scaling.type"), printable(*type));
        const std::string_view suffix =
            file_.find(key("rope.scaling.factor")) != nullptr ? "rope.scaling.factor" : "rope.scale_linear";
        RIFTJIT_TRY(factor, positive_number(suffix, 1.0, std::numeric_limits<float>::max()));
        RIFTJIT_TRY(original, file_.integer(key("rope.scaling.original_context_length"), 1, INT32_MAX));
        RIFTJIT_TRY(magnitude, positive_number("rope.scaling.attn_factor", 1.0, 1e3));
        rope.original_context = static_cast<uint32_t>(original.value_or(result_.context_length));
        rope.magnitude = magnitude;
        // The factors of longrope (Ding et al. 2024) stand in tensors.
        rope.scale = type == "none" || type == "longrope" ? 1.0f : 1.0f / factor;
        result_.needs_rope_factors = type == "longrope";
        if (type == "yarn") return read_yarn(factor);
        return {};
    }

    // Magnitude: 0.1 m ln(factor) + 1 of m = 1, divided by that of m = yarn_log_multiplier, if there is one
    // (DeepSeek-V2, arXiv 2405.04434, whose softmax scale takes the rest).
    Result<void> read_yarn(float factor) {
        graph::RopeAngles& rope = result_.rope;
        const double most = std::numeric_limits<float>::max();
        RIFTJIT_TRY(fast, positive_number("rope.scaling.yarn_beta_fast", 32.0, most));
        RIFTJIT_TRY(slow, positive_number("rope.scaling.yarn_beta_slow", 1.0, most));
        RIFTJIT_TRY(log_multiplier, file_.number(key("rope.scaling.yarn_log_multiplier")));
        const auto magnitude_of = [&](double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1; };
        rope.yarn = true;
        rope.beta_fast = fast;
        rope.beta_slow = slow;
        double magnitude = magnitude_of(1);
        if (log_multiplier.value_or(0) != 0) magnitude /= magnitude_of(*log_multiplier);
        rope.magnitude *= static_cast<float>(magnitude);
        return {};
    }

    // Embeddings of texts, or logits of what follows them.
    Result<void> read_purpose() {
        RIFTJIT_TRY(pooling, file_.integer(key("pooling_type"), 0, uint64_t(Pooling::rank)));
        result_.pooling = static_cast<Pooling>(pooling.value_or(0));
        if (!reading_.is_encoder && !lists(reading_.implemented, "attention.causal")) return {};
        RIFTJIT_TRY(is_causal, file_.boolean(key("attention.causal")));
        result_.is_encoder = !is_causal.value_or(!reading_.is_encoder);
        if (reading_.is_encoder && !result_.is_encoder)
            return fail(ErrorKind::Unsupported, "{} is true: unsupported for architecture {}; supported is only false",
                        place("attention.causal"), result_.architecture);
        return {};
    }

    Result<void> read_vocabulary() {
        const GgufTensor* table = file_.find_tensor("token_embd.weight");
        if (table == nullptr)
            return fail(ErrorKind::Format, "{}: missing tensor 'token_embd.weight': architecture {} needs it",
                        printable_path(file_.path()), result_.architecture);
        if (table->rows() < 1 || table->rows() > INT32_MAX)
            return fail(ErrorKind::Format, "{}: {} rows; allowed are 1 to {}", file_.place_of(*table), table->rows(),
                        INT32_MAX);
        result_.vocabulary = static_cast<uint32_t>(table->rows());
        result_.tied_output = file_.find_tensor("output.weight") == nullptr;
        RIFTJIT_TRY(vocabulary, file_.integer(key("vocab_size"), 1, UINT32_MAX));
        if (vocabulary.value_or(0) > result_.vocabulary)
            return fail(ErrorKind::Format, "{} is {}, but token_embd.weight has only {} rows", place("vocab_size"),
                        *vocabulary, result_.vocabulary);
        // Rows without a token are padding; a token without a row could not be embedded.
        const GgufEntry* tokens = file_.find("tokenizer.ggml.tokens");
        const GgufArray* array = tokens ? std::get_if<GgufArray>(&tokens->value) : nullptr;
        if (array != nullptr && array->count > result_.vocabulary)
            return fail(ErrorKind::Format, "{} has {} tokens, but token_embd.weight has only {} rows",
                        file_.place_of(*tokens), array->count, result_.vocabulary);
        return {};
    }

    const Gguf& file_;
    const Reading& reading_;
    uint32_t blocks_ = 0;  // with draft blocks
    Hyperparameters result_ = {};
};

}  // namespace

Result<Hyperparameters> read_hyperparameters(const Gguf& file, const Reading& reading) {
    RIFTJIT_TRY(result, HyperparameterReader(file, reading).run());
    std::string implemented(reading.implemented);
    if (reading.is_encoder) implemented += " attention.causal";
    if (reading.has_experts) implemented += " expert_count expert_used_count expert_shared_count";
    RIFTJIT_TRY_VOID(check_keys(file, result, implemented));
    return result;
}

Result<float> read_factor(const Gguf& file, std::string_view architecture, std::string_view suffix, float fallback) {
    const std::string key = fmt::format("{}.{}", architecture, suffix);
    RIFTJIT_TRY(number, file.number(key));
    if (!number) return fallback;
    const auto value = static_cast<float>(*number);
    if (!std::isfinite(value) || value < 0)
        return fail(ErrorKind::Format, "{} is {}; allowed are numbers from 0 on", file.place_of(*file.find(key)),
                    *number);
    return value;
}

Result<float> read_scale(const Gguf& file, std::string_view architecture, std::string_view suffix, float fallback) {
    RIFTJIT_TRY(factor, read_factor(file, architecture, suffix, fallback));
    return factor == 0 ? fallback : factor;
}

Result<void> read_experts(const Gguf& file, const ExpertHyperparameters& defaults, Hyperparameters& result) {
    const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", result.architecture, suffix); };
    ExpertHyperparameters& experts = result.experts = defaults;
    RIFTJIT_TRY(count, file.require_integer(key("expert_count"), 1, kMaxExperts));
    RIFTJIT_TRY(used, file.require_integer(key("expert_used_count"), 1, count));
    experts.count = static_cast<uint32_t>(count);
    experts.used = static_cast<uint32_t>(used);
    // llama.cpp's numbers: 0 for the family's own.
    constexpr std::array kScorings = {Scoring::softmax, Scoring::sigmoid, Scoring::softmax_of_chosen};
    RIFTJIT_TRY(scoring, file.integer(key("expert_gating_func"), 0, kScorings.size()));
    if (scoring.value_or(0) != 0) experts.scoring = kScorings.at(*scoring - 1);
    RIFTJIT_TRY(is_normed, file.boolean(key("expert_weights_norm")));
    experts.is_normed = is_normed.value_or(defaults.is_normed);
    RIFTJIT_TRY(scale, read_scale(file, result.architecture, "expert_weights_scale", defaults.scale));
    experts.scale = scale;
    RIFTJIT_TRY(groups, file.integer(key("expert_group_count"), 0, count));
    if (groups.value_or(0) <= 1) return {};
    RIFTJIT_TRY(groups_used, file.require_integer(key("expert_group_used_count"), 1, *groups));
    if (count % *groups != 0 || count == *groups || groups_used * (count / *groups) < used)
        return fail(ErrorKind::Format, "{} is {}, of which {} are used: {} experts, {} of them used, do not fit",
                    file.place_of(*file.find(key("expert_group_count"))), *groups, groups_used, count, used);
    experts.groups = static_cast<uint32_t>(*groups);
    experts.groups_used = static_cast<uint32_t>(groups_used);
    return {};
}

Result<void> read_query_temperature(const Gguf& file, Hyperparameters& result) {
    RIFTJIT_TRY(factor, read_factor(file, result.architecture, "attention.temperature_scale", 0));
    RIFTJIT_TRY(length,
                file.integer(fmt::format("{}.attention.temperature_length", result.architecture), 0, INT32_MAX));
    result.query_temperature.factor = factor;
    result.query_temperature.length =
        length.value_or(0) != 0 ? static_cast<uint32_t>(*length) : result.rope.original_context;
    return {};
}

Result<void> read_expanded_latent(const Gguf& file, Hyperparameters& result) {
    const auto key = [&](std::string_view suffix) {
        return fmt::format("{}.attention.{}", result.architecture, suffix);
    };
    RIFTJIT_TRY(q_rank, file.integer(key("q_lora_rank"), 0, kMaxWidth));
    RIFTJIT_TRY(kv_rank, file.require_integer(key("kv_lora_rank"), 1, kMaxWidth));
    RIFTJIT_TRY(value_length, file.integer(key("value_length"), 1, result.head_dim));
    const uint64_t value_dim = value_length.value_or(result.width / result.heads);
    const uint32_t rotated = result.rope.rotary_dims;
    if (rotated == 0 || rotated >= result.head_dim || result.kv_heads != result.heads)
        return fail(ErrorKind::Format,
                    "{}: {} rotated elements of {} in each head, {} heads of keys for {} of queries: expected fewer "
                    "and as many",
                    printable_path(file.path()), rotated, result.head_dim, result.kv_heads, result.heads);
    result.latent = {static_cast<uint32_t>(q_rank.value_or(0)),
                     static_cast<uint32_t>(kv_rank),
                     result.head_dim,
                     static_cast<uint32_t>(value_dim),
                     rotated,
                     true};
    return {};
}

Result<void> read_granite_factors(const Gguf& file, Hyperparameters& result) {
    const auto scale = [&](std::string_view suffix, float usual) {
        return read_scale(file, result.architecture, suffix, usual);
    };
    RIFTJIT_TRY(embedding, scale("embedding_scale", 1));
    RIFTJIT_TRY(residual, scale("residual_scale", 1));
    RIFTJIT_TRY(attention, scale("attention.scale", result.attention_scale));
    RIFTJIT_TRY(logit, scale("logit_scale", 1));
    result.embedding_scale = embedding;
    result.residual_scale = residual;
    result.attention_scale = attention;
    result.logit_scale = 1 / logit;
    RIFTJIT_TRY(is_rotated, file.boolean(fmt::format("{}.rope.scaling.finetuned", result.architecture)));
    if (!is_rotated.value_or(true))
        for (LayerTraits& layer : result.layer) layer.rotates = false;
    return {};
}

Result<void> read_recurrent_layers(const Gguf& file, Hyperparameters& result) {
    const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", result.architecture, suffix); };
    const std::string flags_key = key("attention.recurrent_layers");
    const GgufEntry* entry = file.find(flags_key);
    RIFTJIT_TRY(interval, file.integer(key("full_attention_interval"), 1, INT32_MAX));
    std::optional<std::vector<int64_t>> flags;
    if (entry != nullptr) {
        RIFTJIT_TRY(found, file.integers(flags_key));
        if (found->size() < result.layers)
            return fail(ErrorKind::Format, "{}: key {} has wrong array length; expected {}, got {}",
                        file.place_of(*entry), flags_key, result.layers, found->size());
        flags = *found;
    }
    for (uint32_t i = 0; i < result.layers; ++i)
        if (flags ? (*flags)[i] != 0 : (i + 1) % interval.value_or(4) != 0)
            result.layer[i].mixer = LayerTraits::Mixer::delta_net;
    return {};
}

Result<void> read_state_space(const Gguf& file, Hyperparameters& result, uint64_t fewest_groups) {
    const auto size = [&](std::string_view suffix, uint64_t low, uint64_t high) {
        return file.require_integer(fmt::format("{}.ssm.{}", result.architecture, suffix), low, high);
    };
    RIFTJIT_TRY(taps, size("conv_kernel", 2, kMaxTaps));
    RIFTJIT_TRY(inner, size("inner_size", 1, kMaxWidth));
    RIFTJIT_TRY(states, size("state_size", 1, kMaxStates));
    RIFTJIT_TRY(heads, size("time_step_rank", 1, inner));
    RIFTJIT_TRY(groups, file.integer(fmt::format("{}.ssm.group_count", result.architecture), fewest_groups, heads));
    if (groups.value_or(1) * states > kMaxWidth)
        return fail(ErrorKind::Format, "{}: {} groups of {} states are more than {}",
                    file.place_of(*file.find(fmt::format("{}.ssm.state_size", result.architecture))),
                    groups.value_or(1), states, kMaxWidth);
    RIFTJIT_TRY(norms, file.boolean(fmt::format("{}.ssm.dt_b_c_rms", result.architecture)));
    result.state_space = {.taps = static_cast<uint32_t>(taps),
                          .inner = static_cast<uint32_t>(inner),
                          .states = static_cast<uint32_t>(states),
                          .heads = static_cast<uint32_t>(heads),
                          .groups = std::max(1u, static_cast<uint32_t>(groups.value_or(1))),
                          .norms_parameters = norms.value_or(false)};
    return {};
}

Result<void> read_windows(const Gguf& file, const WindowDefaults& defaults, Hyperparameters& result) {
    const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", result.architecture, suffix); };
    RIFTJIT_TRY(window, file.integer(key("attention.sliding_window"), 0, INT32_MAX));
    const auto positions = static_cast<uint32_t>(window.value_or(defaults.window));
    if (positions == 0) return {};
    RIFTJIT_TRY(local_base, read_factor(file, result.architecture, "rope.freq_base_swa", defaults.local_base));
    if (local_base != 0) result.local_rope = {result.rope.rotary_dims, local_base};
    const std::string pattern_key = key("attention.sliding_window_pattern");
    const GgufEntry* pattern = file.find(pattern_key);
    if (pattern != nullptr && pattern->type == GgufType::array) {
        RIFTJIT_TRY(flags, file.integers(pattern_key));
        if (flags->size() < result.layers)
            return fail(ErrorKind::Format, "{}: key {} has wrong array length; expected {}, got {}",
                        file.place_of(*pattern), pattern_key, result.layers, flags->size());
        for (uint32_t i = 0; i < result.layers; ++i) result.layer[i].is_local = (*flags)[i] != 0;
    } else {
        RIFTJIT_TRY(period, file.integer(pattern_key, 0, INT32_MAX));
        const auto n = static_cast<uint32_t>(period.value_or(defaults.period));
        const uint32_t full = defaults.begins_full ? 0 : n - 1;
        for (uint32_t i = 0; i < result.layers; ++i) result.layer[i].is_local = n == 0 || i % n != full;
    }
    for (LayerTraits& layer : result.layer)
        if (layer.is_local) layer.window = positions;
    return {};
}

}  // namespace riftjit::models
