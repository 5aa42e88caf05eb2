// deepseek2 (V2, V3, R1; Kimi K2 and others of that shape): latent attention; dense layers first, then a mixture of
// experts, perhaps in groups and with a bias for the choice, beside a shared one.
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
    RIFTJIT_TRY(tenth, read_factor(file, "deepseek2", "rope.scaling.yarn_log_multiplier", 0));
    const float magnitude = 1 - tenth * std::log(result.rope.scale);
    result.attention_scale *= magnitude * magnitude;
    result.rope.magnitude = result.local_rope.magnitude = 1;
    return {};
}

Result<Hyperparameters> read_deepseek2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "deepseek2",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.q_lora_rank attention.kv_lora_rank",
                                                    .is_partly_rotated = true,
                                                    .has_experts = true,
                                                    .is_latent = true}));
    const GgufEntry* key_length = file.find("deepseek2.attention.key_length_mla");
    if (key_length == nullptr)
        return fail(ErrorKind::Unsupported,
                    "{}: there is no deepseek2.attention.key_length_mla: files of before April 2025 keep the keys of "
                    "all heads; convert the model anew",
                    printable_path(file.path()));
    RIFTJIT_TRY(kv_rank, file.require_integer("deepseek2.attention.kv_lora_rank", 1, kMaxWidth));
    RIFTJIT_TRY(q_rank, file.integer("deepseek2.attention.q_lora_rank", 0, kMaxWidth));
    const uint32_t rotated = result.rope.rotary_dims;
    RIFTJIT_TRY(key_dim, file.require_integer("deepseek2.attention.key_length_mla", rotated + 1, kMaxWidth));
    RIFTJIT_TRY(value_dim, file.require_integer("deepseek2.attention.value_length_mla", 1, kMaxWidth));
    result.latent = {static_cast<uint32_t>(q_rank.value_or(0)), static_cast<uint32_t>(kv_rank),
                     static_cast<uint32_t>(key_dim), static_cast<uint32_t>(value_dim), rotated};
    if (result.kv_heads != 1 || result.head_dim != kv_rank + rotated)
        return fail(
            ErrorKind::Format,
            "{}: {} key heads of {} (deepseek2.attention.head_count_kv, key_length); expected 1 of kv_lora_rank "
            "{} + rope.dimension_count {}",
            printable_path(file.path()), result.kv_heads, result.head_dim, kv_rank, rotated);
    RIFTJIT_TRY_VOID(scale_attention(file, result));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<BuiltGraph> build_deepseek2(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kDeepseek2 = {"deepseek2", read_deepseek2, build_deepseek2};

}  // namespace riftjit::models
