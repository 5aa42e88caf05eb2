#include "runtime/sampling/sampler_parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace riftjit::runtime {
namespace {

struct StageName {
    SamplerStage stage;
    char letter;
    std::string_view name;
};
constexpr std::array kStages = {
    StageName{SamplerStage::penalties, 'e', "penalties"},
    StageName{SamplerStage::dry, 'd', "dry"},
    StageName{SamplerStage::top_n_sigma, 's', "top_n_sigma"},
    StageName{SamplerStage::top_k, 'k', "top_k"},
    StageName{SamplerStage::typ_p, 'y', "typ_p"},
    StageName{SamplerStage::top_p, 'p', "top_p"},
    StageName{SamplerStage::min_p, 'm', "min_p"},
    StageName{SamplerStage::xtc, 'x', "xtc"},
    StageName{SamplerStage::temperature, 't', "temperature"},
    StageName{SamplerStage::adaptive_p, 'a', "adaptive_p"},
};

// Lower case without '_' and '-', so that "Top-K", "top_k" and "topk" are one name.
std::string fold(std::string_view name) {
    std::string folded;
    for (const char c : name) {
        if (c == '_' || c == '-') continue;
        folded += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    }
    return folded;
}

std::optional<SamplerStage> stage_from_name(std::string_view name) {
    const std::string folded = fold(name);
    if (folded == "temp") return SamplerStage::temperature;
    if (folded == "typ") return SamplerStage::typ_p;
    if (folded == "nucleus") return SamplerStage::top_p;
    for (const StageName& stage : kStages)
        if (folded == fold(stage.name)) return stage.stage;
    return std::nullopt;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// Limits are inclusive; kLargest and -kLargest stand for "any finite number".
struct Range {
    std::string_view flag;
    float value, low, high;
};

Result<void> require(const Range& range) {
    if (range.value >= range.low && range.value <= range.high) return {};  // false for NaN
    if (range.high == kLargest && range.low == -kLargest)
        return fail(ErrorKind::Usage, "{} {}: expected a finite number", range.flag, range.value);
    if (range.high == kLargest)
        return fail(ErrorKind::Usage, "{} {}: expected a finite number from {}", range.flag, range.value, range.low);
    return fail(ErrorKind::Usage, "{} {}: expected a number from {} to {}", range.flag, range.value, range.low,
                range.high);
}

Result<void> require_at_least_zero(std::string_view flag, int32_t value) {
    if (value >= 0) return {};
    return fail(ErrorKind::Usage, "{} {}: expected 0 (off) or more", flag, value);
}

Result<void> validate_numbers(const SamplerParameters& p) {
    const Range ranges[] = {
        {"--temp", p.temperature, 0, kLargest},
        {"--dynatemp-range", p.dynatemp_range, 0, kLargest},
        {"--dynatemp-exp", p.dynatemp_exponent, 0, kLargest},
        {"--top-p", p.top_p, 0, 1},
        {"--min-p", p.min_p, 0, 1},
        {"--typical", p.typical_p, 0, 1},
        {"--top-nsigma", p.top_n_sigma, -1, kLargest},
        {"--xtc-probability", p.xtc_probability, 0, 1},
        {"--xtc-threshold", p.xtc_threshold, 0, 1},
        {"--frequency-penalty", p.frequency_penalty, -kLargest, kLargest},
        {"--presence-penalty", p.presence_penalty, -kLargest, kLargest},
        {"--dry-multiplier", p.dry_multiplier, 0, kLargest},
        {"--dry-base", p.dry_base, 1, kLargest},
        {"--adaptive-target", p.adaptive_target, -1, 1},
        {"--adaptive-decay", p.adaptive_decay, 0, 0.99f},
        {"--mirostat-lr", p.mirostat_eta, 0, kLargest},
        {"--mirostat-ent", p.mirostat_tau, 0, kLargest},
    };
    for (const Range& range : ranges) RIFTJIT_TRY_VOID(require(range));
    // Its reciprocal is used too, so a subnormal number is as bad as zero.
    if (!(p.repeat_penalty > 0) || !std::isfinite(p.repeat_penalty) || !std::isfinite(1 / p.repeat_penalty))
        return fail(ErrorKind::Usage, "--repeat-penalty {}: expected a finite number above 0", p.repeat_penalty);
    return {};
}

Result<void> validate_counts(const SamplerParameters& p) {
    RIFTJIT_TRY_VOID(require_at_least_zero("--top-k", p.top_k));
    RIFTJIT_TRY_VOID(require_at_least_zero("--repeat-last-n", p.penalty_last_n));
    RIFTJIT_TRY_VOID(require_at_least_zero("--dry-allowed-length", p.dry_allowed_length));
    RIFTJIT_TRY_VOID(require_at_least_zero("--dry-penalty-last-n", p.dry_penalty_last_n));
    RIFTJIT_TRY_VOID(require_at_least_zero("--min-keep", p.min_keep));
    return {};
}

bool has_stage(const SamplerParameters& p, SamplerStage stage) {
    return std::find(p.stages.begin(), p.stages.end(), stage) != p.stages.end();
}

// What each stage's flags are, and whether they ask for something.
struct Setting {
    std::string_view flag;
    SamplerStage stage;
    bool changed;
};
std::vector<Setting> settings(const SamplerParameters& p) {
    const SamplerParameters defaults;
    return {
        {"--repeat-penalty", SamplerStage::penalties, p.repeat_penalty != defaults.repeat_penalty},
        {"--frequency-penalty", SamplerStage::penalties, p.frequency_penalty != defaults.frequency_penalty},
        {"--presence-penalty", SamplerStage::penalties, p.presence_penalty != defaults.presence_penalty},
        {"--dry-multiplier", SamplerStage::dry, p.dry_multiplier != defaults.dry_multiplier},
        {"--top-nsigma", SamplerStage::top_n_sigma, p.top_n_sigma != defaults.top_n_sigma},
        {"--top-k", SamplerStage::top_k, p.top_k != defaults.top_k},
        {"--typical", SamplerStage::typ_p, p.typical_p != defaults.typical_p},
        {"--top-p", SamplerStage::top_p, p.top_p != defaults.top_p},
        {"--min-p", SamplerStage::min_p, p.min_p != defaults.min_p},
        {"--xtc-probability", SamplerStage::xtc, p.xtc_probability != defaults.xtc_probability},
        {"--temp", SamplerStage::temperature, p.temperature != defaults.temperature && p.temperature > 0},
        {"--dynatemp-range", SamplerStage::temperature, p.dynatemp_range != defaults.dynatemp_range},
        {"--adaptive-target", SamplerStage::adaptive_p, p.adaptive_target != defaults.adaptive_target},
    };
}

}  // namespace

std::string_view name(SamplerStage stage) { return kStages[size_t(stage)].name; }

std::string sampler_names() {
    std::string names;
    for (const StageName& stage : kStages) {
        if (!names.empty()) names += ", ";
        names += stage.name;
    }
    return names;
}

std::vector<SamplerStage> default_samplers() {
    using enum SamplerStage;
    return {penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature};
}

Result<std::vector<SamplerStage>> parse_sampler_names(std::string_view names) {
    std::vector<SamplerStage> stages;
    if (names.empty()) return stages;
    for (size_t begin = 0; begin <= names.size();) {
        const size_t end = std::min(names.find(';', begin), names.size());
        const std::string_view one = names.substr(begin, end - begin);
        const auto stage = stage_from_name(one);
        if (!stage)
            return fail(ErrorKind::Usage, "--samplers: unknown sampler \"{}\"; valid names, separated by ';': {}", one,
                        sampler_names());
        stages.push_back(*stage);
        begin = end + 1;
    }
    return stages;
}

Result<std::vector<SamplerStage>> parse_sampler_letters(std::string_view letters) {
    std::vector<SamplerStage> stages;
    for (const char letter : letters) {
        const auto* found = std::find_if(kStages.begin(), kStages.end(), [&](auto& s) { return s.letter == letter; });
        if (found == kStages.end()) {
            std::string valid;
            for (const StageName& stage : kStages) valid += fmt::format(" {} {},", stage.letter, stage.name);
            valid.pop_back();
            return fail(ErrorKind::Usage, "--sampler-seq: unknown sampler '{}'; valid letters:{}", letter, valid);
        }
        stages.push_back(found->stage);
    }
    return stages;
}

Result<LogitBias> parse_logit_bias(std::string_view text) {
    const auto malformed = [&] {
        return fail(ErrorKind::Usage, "--logit-bias \"{}\": expected a token id, + or -, and a number, as in 15043-1.5",
                    text);
    };
    LogitBias bias{};
    const char* const end = text.data() + text.size();
    const auto [sign, id_error] = std::from_chars(text.data(), end, bias.id);
    if (id_error != std::errc() || bias.id < 0 || sign == end || (*sign != '+' && *sign != '-')) return malformed();
    const auto [stop, error] = std::from_chars(sign + 1, end, bias.bias);
    if (error != std::errc() || stop != end || std::isnan(bias.bias) || sign[1] == '-') return malformed();
    if (*sign == '-') bias.bias = -bias.bias;
    if (bias.bias == kInfinity) return malformed();  // -inf forbids a token; nothing can be forced
    return bias;
}

Result<void> validate(const SamplerParameters& parameters, uint32_t vocabulary) {
    RIFTJIT_TRY_VOID(validate_numbers(parameters));
    RIFTJIT_TRY_VOID(validate_counts(parameters));
    for (const LogitBias& bias : parameters.logit_bias)
        if (bias.id < 0 || uint32_t(bias.id) >= vocabulary)
            return fail(ErrorKind::Usage, "--logit-bias: token {} is outside the vocabulary of {}", bias.id,
                        vocabulary);
    for (const int32_t id : parameters.suppressed)
        check(id >= 0 && uint32_t(id) < vocabulary, "suppressed tokens come from the vocabulary");
    return {};
}

std::vector<std::string> unused_settings(const SamplerParameters& p) {
    std::vector<std::string> lines;
    const bool greedy = p.temperature <= 0, mirostat = p.mirostat != Mirostat::off;
    if (greedy && p.seed) lines.push_back("--seed has no effect with --temp 0");
    if (greedy && mirostat) lines.push_back("--mirostat has no effect with --temp 0");
    for (const Setting& setting : settings(p)) {
        if (!setting.changed) continue;
        const bool is_temperature = setting.flag == "--temp";
        if (greedy && !edits_logits(setting.stage))
            lines.push_back(fmt::format("{} has no effect with --temp 0", setting.flag));
        else if (mirostat && !greedy && !is_temperature)
            lines.push_back(fmt::format("{} has no effect with --mirostat", setting.flag));
        else if (!has_stage(p, setting.stage) && !(mirostat && is_temperature))
            lines.push_back(
                fmt::format("{} has no effect: {} is not among the samplers", setting.flag, name(setting.stage)));
    }
    return lines;
}

}  // namespace riftjit::runtime
