// What a model's file recommends for sampling.
#include <cmath>

#include "engine/sampling.h"

namespace riftjit::engine {

namespace {

using runtime::SamplerParameters;

struct Recommendation {
    const char *key, *flag;
    // Of whole numbers, between which they lie when `set` is called; 0: any number.
    int32_t lowest, highest;
    void (*set)(SamplerParameters&, double);
    bool is_whole() const { return highest != 0; }
};

constexpr Recommendation kRecommendations[] = {
    {"temp", "--temperature", 0, 0, [](SamplerParameters& p, double value) { p.temperature = float(value); }},
    {"mirostat", "--mirostat", 0, 2,
     [](SamplerParameters& p, double value) { p.mirostat = runtime::Mirostat(uint8_t(value)); }},
    {"mirostat_tau", "--mirostat-ent", 0, 0, [](SamplerParameters& p, double value) { p.mirostat_tau = float(value); }},
    {"mirostat_eta", "--mirostat-lr", 0, 0, [](SamplerParameters& p, double value) { p.mirostat_eta = float(value); }},
    // Below 0 means off there, as 0 does.
    {"top_k", "--top-k", -INT32_MAX, INT32_MAX,
     [](SamplerParameters& p, double value) { p.top_k = int32_t(std::max(value, 0.0)); }},
    {"top_p", "--top-p", 0, 0, [](SamplerParameters& p, double value) { p.top_p = float(value); }},
    {"min_p", "--min-p", 0, 0, [](SamplerParameters& p, double value) { p.min_p = float(value); }},
    {"xtc_probability", "--xtc-probability", 0, 0,
     [](SamplerParameters& p, double value) { p.xtc_probability = float(value); }},
    {"xtc_threshold", "--xtc-threshold", 0, 0,
     [](SamplerParameters& p, double value) { p.xtc_threshold = float(value); }},
    {"penalty_last_n", "--repeat-last-n", -INT32_MAX, INT32_MAX,
     [](SamplerParameters& p, double value) { p.penalty_last_n = int32_t(value); }},
    {"penalty_repeat", "--repeat-penalty", 0, 0,
     [](SamplerParameters& p, double value) { p.repeat_penalty = float(value); }},
};

}  // namespace

std::string recommend_sampling(const models::Gguf& file, const std::set<std::string>& given,
                               runtime::SamplerParameters& parameters, const Warn& warn) {
    constexpr uint32_t kAnyVocabulary = INT32_MAX;
    std::string taken;
    const auto ignore = [&](const std::string& key, const std::string& why) {
        warn(fmt::format("the model's {}: {}; it is left out", key, why));
    };
    const auto take = [&](const std::string& key, const char* flag, const std::string& value,
                          SamplerParameters changed) {
        if (const auto checked = runtime::validate(changed, kAnyVocabulary); !checked)
            return ignore(key, checked.error().message);
        if (runtime::unused_settings(changed).size() > runtime::unused_settings(parameters).size()) return;
        parameters = std::move(changed);
        taken += fmt::format("{}{} {}", taken.empty() ? "" : ", ", flag, value);
    };
    if (!runtime::validate(parameters, kAnyVocabulary)) return {};  // make_sampler() says what is wrong
    const std::string sequence_key = "general.sampling.sequence";
    if (!given.contains("--samplers")) {
        const auto sequence = file.string(sequence_key);
        if (!sequence) ignore(sequence_key, sequence.error().message);
        if (sequence && *sequence && !(*sequence)->empty()) {
            SamplerParameters changed = parameters;
            if (auto stages = runtime::parse_sampler_names(std::string(**sequence))) {
                changed.stages = std::move(*stages);
                take(sequence_key, "--samplers", std::string(**sequence), std::move(changed));
            } else {
                ignore(sequence_key, stages.error().message);
            }
        }
    }
    for (const Recommendation& each : kRecommendations) {
        if (given.contains(each.flag)) continue;
        const std::string key = std::string("general.sampling.") + each.key;
        const auto value = file.number(key);
        if (!value) {
            ignore(key, value.error().message);
        } else if (*value && each.is_whole() &&
                   !(std::trunc(**value) == **value && **value >= each.lowest && **value <= each.highest)) {
            ignore(key,
                   fmt::format("expected a whole number from {} to {}, got {}", each.lowest, each.highest, **value));
        } else if (*value) {
            SamplerParameters changed = parameters;
            each.set(changed, **value);
            take(key, each.flag, fmt::format("{}", float(**value)), std::move(changed));
        }
    }
    return taken;
}

}  // namespace riftjit::engine
