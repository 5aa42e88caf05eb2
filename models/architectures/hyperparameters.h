// The hyperparameters that decoder-only transformers share, read and checked against each other.
#pragma once

#include "models/model.h"

namespace riftjit::models {

inline constexpr uint64_t kMaxWidth = 1u << 20;  // of any activation; far above any published model

// What an architecture's keys mean beside what they mean for all.
struct Reading {
    std::string_view architecture;  // what keys begin with
    RopePairing pairing;
    // Keys that change the computation and that this architecture follows, without the architecture, divided by
    // spaces. Others fail if their value asks for anything.
    std::string_view implemented = "";
    enum class Norm : uint8_t { rms, layer } norm = Norm::rms;  // whose epsilon it is
    bool is_partly_rotated = false;                             // rope.dimension_count may be below the head size
    bool is_rotated = true;
    bool is_encoder = false;   // rows see their whole text, whether attention.causal is there or not
    bool has_experts = false;  // implements expert_count, expert_used_count and expert_shared_count
    bool is_latent = false;    // keys and values may have different sizes (LatentHyperparameters)
    // Counts of heads and widths of feed-forward blocks may differ from layer to layer; a layer without heads is its
    // feed-forward block alone, one with heads but none of keys a product of each row by itself.
    bool layers_differ = false;
    // Of layers whose attention.head_count_kv is 0, or of all if attention.head_count is; attention: neither may be.
    // Such models may have layers without a feed-forward block, too: those whose feed_forward_length is 0.
    LayerTraits::Mixer other_mixer = LayerTraits::Mixer::attention;
};

Result<Hyperparameters> read_hyperparameters(const Gguf& file, const Reading& reading);

// embedding_scale, residual_scale, attention.scale, and logit_scale, which divides.
Result<void> read_granite_factors(const Gguf& file, Hyperparameters& result);

// expert_count and expert_used_count, which must be there, expert_gating_func, expert_weights_norm,
// expert_weights_scale, expert_group_count and expert_group_used_count; defaults where they are not.
Result<void> read_experts(const Gguf& file, const ExpertHyperparameters& defaults, Hyperparameters& result);

// attention.temperature_scale, over attention.temperature_length or the context that the rotation was trained with.
Result<void> read_query_temperature(const Gguf& file, Hyperparameters& result);

// Of latent attention whose table attn_kv_b has keys and values of all heads: key_length, value_length, the ranks and
// rope.dimension_count.
Result<void> read_expanded_latent(const Gguf& file, Hyperparameters& result);

// A number from 0 on, as a float; `fallback` where the key is absent.
Result<float> read_factor(const Gguf& file, std::string_view architecture, std::string_view suffix, float fallback);
// The same of what is multiplied by: 0 stands for the fallback, too.
Result<float> read_scale(const Gguf& file, std::string_view architecture, std::string_view suffix, float fallback);

// Layers of a delta net: attention.recurrent_layers, or all but the last of every full_attention_interval.
Result<void> read_recurrent_layers(const Gguf& file, Hyperparameters& result);
// The keys that begin with ssm. Of no groups, as some files have it, is one.
Result<void> read_state_space(const Gguf& file, Hyperparameters& result, uint64_t fewest_groups = 1);

// attention.sliding_window (fallback where it is absent) for the layers that sliding_window_pattern names: one flag
// each, or a period n of which the last or the first layer sees everything (0: none does). They rotate by
// rope.freq_base_swa (fallback `local_base`; 0: as the others do).
struct WindowDefaults {
    uint32_t window, period;
    float local_base;
    bool begins_full = false;
};
Result<void> read_windows(const Gguf& file, const WindowDefaults& defaults, Hyperparameters& result);

}  // namespace riftjit::models
