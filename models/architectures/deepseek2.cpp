// deepseek2 (V2, V3, R1; Kimi K2 and others of that shape) and mistral4: latent attention; dense layers first, then a
// mixture of experts, perhaps in groups and with a bias for the choice, beside a shared one.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

// Softmax over scores: 1 / sqrt(key_dim), times the square of YaRN's 0.1 m ln(factor) + 1, of which rotations then have
// none. The key holds a tenth of m (mscale_all_dim).
Result<void> scale_attention(const Gguf& file, Hyperparameters& result) {
    result.attention_scale = 1.0f / std::sqrt(static_cast<float>(result.latent.key_dim));
    if (!result.rope.yarn) return {};
    RIFTJIT_TRY(tenth, read_factor(file, result.architecture, "rope.scaling.yarn_log_multiplier", 0));
    const float magnitude = 1 - tenth * std::log(result.rope.scale);
    result.attention_scale *= magnitude * magnitude;
    result.rope.magnitude = result.local_rope.magnitude = 1;
    return {};
}

Result<Hyperparameters> finish_deepseek(const Gguf& file, Hyperparameters result) {
    RIFTJIT_TRY_VOID(scale_attention(file, result));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    RIFTJIT_TRY_VOID(read_query_temperature(file, result));
    return result;
}

Result<Hyperparameters> read_deepseek(const Gguf& file, std::string_view architecture) {
    const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", architecture, suffix); };
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.q_lora_rank attention.kv_lora_rank "
                                                                   "attention.temperature_scale",
                                                    .is_partly_rotated = true,
                                                    .has_experts = true,
                                                    .is_latent = true}));
    // Files of before April 2025 have keys and values of all heads in one table.
    if (file.find(key("attention.key_length_mla")) == nullptr) {
        RIFTJIT_TRY_VOID(read_expanded_latent(file, result));
        return finish_deepseek(file, result);
    }
    RIFTJIT_TRY(kv_rank, file.require_integer(key("attention.kv_lora_rank"), 1, kMaxWidth));
    RIFTJIT_TRY(q_rank, file.integer(key("attention.q_lora_rank"), 0, kMaxWidth));
    const uint32_t rotated = result.rope.rotary_dims;
    RIFTJIT_TRY(key_dim, file.require_integer(key("attention.key_length_mla"), rotated + 1, kMaxWidth));
    RIFTJIT_TRY(value_dim, file.require_integer(key("attention.value_length_mla"), 1, kMaxWidth));
    result.latent = {static_cast<uint32_t>(q_rank.value_or(0)), static_cast<uint32_t>(kv_rank),
                     static_cast<uint32_t>(key_dim), static_cast<uint32_t>(value_dim), rotated};
    if (result.kv_heads != 1 || result.head_dim != kv_rank + rotated)
        return fail(ErrorKind::Format,
                    "{}: {} key heads of {} ({}.attention.head_count_kv, key_length); expected 1 of kv_lora_rank {} + "
                    "rope.dimension_count {}",
                    printable_path(file.path()), result.kv_heads, result.head_dim, architecture, kv_rank, rotated);
    return finish_deepseek(file, result);
}

Result<Hyperparameters> read_deepseek2(const Gguf& file) { return read_deepseek(file, "deepseek2"); }
Result<Hyperparameters> read_mistral4(const Gguf& file) { return read_deepseek(file, "mistral4"); }

Result<BuiltGraph> build_deepseek2(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kDeepseek2 = {"deepseek2", read_deepseek2, build_deepseek2};
const Architecture kMistral4 = {"mistral4", read_mistral4, build_deepseek2};

}  // namespace riftjit::models
