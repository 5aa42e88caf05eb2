// What a user may ask of the sampler: names, ranges and defaults, which are those of llama.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::runtime {

enum class SamplerStage : uint8_t {
    penalties,
    dry,
    top_n_sigma,
    top_k,
    typ_p,
    top_p,
    min_p,
    xtc,
    temperature,
    adaptive_p,
};

std::string_view name(SamplerStage stage);
// Those that also change what is most likely: they run at temperature 0 too.
constexpr bool edits_logits(SamplerStage stage) {
    return stage == SamplerStage::penalties || stage == SamplerStage::dry;
}
std::string sampler_names();  // "penalties, dry, ...", for messages

// "top_k;top_p;temperature". Also top-k, topk, temp, typ, nucleus, in any case; unknown names fail with the valid ones.
Result<std::vector<SamplerStage>> parse_sampler_names(std::string_view names);
// "edskypmxt", one letter each.
Result<std::vector<SamplerStage>> parse_sampler_letters(std::string_view letters);

std::vector<SamplerStage> default_samplers();

struct LogitBias {
    int32_t id;
    float bias;
};
// "15043+1", "15043-0.5", "2-inf".
Result<LogitBias> parse_logit_bias(std::string_view text);

enum class Mirostat : uint8_t { off = 0, v1 = 1, v2 = 2 };

struct SamplerParameters {
    std::vector<SamplerStage> stages = default_samplers();
    std::optional<uint32_t> seed;  // nullopt: random
    float temperature = 0.8f;      // 0: always the most probable token, whatever the seed
    float dynatemp_range = 0.0f, dynatemp_exponent = 1.0f;
    int32_t top_k = 40;  // 0: off
    float top_p = 0.95f, min_p = 0.05f, typical_p = 1.0f;
    float top_n_sigma = -1.0f;  // negative or 0: off
    float xtc_probability = 0.0f, xtc_threshold = 0.1f;
    int32_t penalty_last_n = 64;  // 0: off
    float repeat_penalty = 1.0f, frequency_penalty = 0.0f, presence_penalty = 0.0f;
    float dry_multiplier = 0.0f, dry_base = 1.75f;
    int32_t dry_allowed_length = 2, dry_penalty_last_n = 64;
    float adaptive_target = -1.0f, adaptive_decay = 0.9f;  // target below 0: off
    Mirostat mirostat = Mirostat::off;
    float mirostat_tau = 5.0f, mirostat_eta = 0.1f;
    int32_t min_keep = 0;  // truncating stages leave at least this many
    std::vector<LogitBias> logit_bias;
    std::vector<int32_t> suppressed;  // never sampled (--ignore-eos: the end-of-generation tokens)
};

// Fails naming the flag, the value and the allowed range.
Result<void> validate(const SamplerParameters& parameters, uint32_t vocabulary);

// One line per setting that was changed from its default and has no effect beside the others ("temperature 0: ...").
std::vector<std::string> unused_settings(const SamplerParameters& parameters);

}  // namespace riftjit::runtime
