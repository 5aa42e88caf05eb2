#include "runtime/sampling/sampler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "runtime/sampling/logit_scan.h"
#include "runtime/sampling/random.h"
#include "runtime/sampling/repetition.h"
#include "runtime/sampling/sampler_stages.h"

namespace riftjit::runtime {
namespace {

// Whether a stage changes anything under these parameters.
bool is_active(SamplerStage stage, const SamplerParameters& p) {
    switch (stage) {
        case SamplerStage::penalties:
            return p.penalty_last_n > 0 &&
                   (p.repeat_penalty != 1 || p.frequency_penalty != 0 || p.presence_penalty != 0);
        case SamplerStage::dry:
            return p.dry_multiplier > 0 && p.dry_penalty_last_n > 0;
        case SamplerStage::top_n_sigma:
            return p.top_n_sigma > 0;
        case SamplerStage::top_k:
            return p.top_k > 0;
        case SamplerStage::typ_p:
            return p.typical_p < 1;
        case SamplerStage::top_p:
            return p.top_p < 1;
        case SamplerStage::min_p:
            return p.min_p > 0;
        case SamplerStage::xtc:
            return p.xtc_probability > 0 && p.xtc_threshold <= 0.5f;
        case SamplerStage::temperature:
            return p.temperature != 1 || p.dynatemp_range > 0;
        case SamplerStage::adaptive_p:
            return p.adaptive_target >= 0;
    }
    return false;
}

// The stages that will run. Greedy sampling needs those that edit logits; mirostat replaces all but temperature;
// adaptive_p chooses and therefore comes last wherever it was named.
std::vector<SamplerStage> plan_stages(const SamplerParameters& p) {
    const bool greedy = p.temperature <= 0, mirostat = p.mirostat != Mirostat::off;
    std::vector<SamplerStage> planned;
    if (mirostat && !greedy) {
        if (is_active(SamplerStage::temperature, p)) planned.push_back(SamplerStage::temperature);
        return planned;
    }
    for (const SamplerStage stage : p.stages) {
        if (!is_active(stage, p) || stage == SamplerStage::adaptive_p) continue;
        if (!greedy || edits_logits(stage)) planned.push_back(stage);
    }
    return planned;
}

}  // namespace

struct Sampler::Impl {
    SamplerParameters parameters;
    uint32_t vocabulary;
    uint32_t seed;
    Random random;
    LogitScan scan;
    std::vector<SamplerStage> chain;
    size_t leading_edits;  // stages at the front that change few logits: they work on the row
    std::optional<Penalties> penalties;
    std::optional<Dry> dry;
    std::optional<stages::MirostatState> mirostat;
    std::optional<stages::AdaptiveP> adaptive;
    std::vector<float> edited;     // the row after biases and leading edits, when there are any
    std::vector<bool> suppressed;  // by token; empty: none is
    Candidates candidates;

    Impl(const SamplerParameters& parameters, uint32_t vocabulary, uint32_t seed, LogitKernels kernels);
    void prepare_penalties(std::vector<std::vector<int32_t>> dry_breakers);
    bool greedy() const { return parameters.temperature <= 0; }
    std::span<const float> edit(std::span<const float> logits);
    void gather(std::span<const float> logits, LogitScan::Best best);
    size_t wanted() const { return greedy() ? 1 : size_t(std::max(parameters.top_k, parameters.min_keep)); }
    bool takes_highest() const;
    bool gather(std::span<const IndexedLogit> highest);
    void apply(SamplerStage stage);
    size_t choose();
};

Sampler::Impl::Impl(const SamplerParameters& given, uint32_t vocabulary, uint32_t seed, LogitKernels kernels)
    : parameters(given),
      vocabulary(vocabulary),
      seed(seed),
      random(seed),
      scan(kernels, vocabulary),
      chain(plan_stages(given)) {
    leading_edits = std::find_if_not(chain.begin(), chain.end(), edits_logits) - chain.begin();
    if (!given.suppressed.empty()) suppressed.resize(vocabulary);
    for (const int32_t id : given.suppressed) suppressed[size_t(id)] = true;
    if (greedy()) return;
    if (given.mirostat != Mirostat::off) {
        mirostat.emplace(given.mirostat_tau, given.mirostat_eta);
    } else if (is_active(SamplerStage::adaptive_p, given) &&
               std::ranges::find(given.stages, SamplerStage::adaptive_p) != given.stages.end()) {
        adaptive.emplace(given.adaptive_target, given.adaptive_decay);
    }
    candidates.reserve(vocabulary);
}

void Sampler::Impl::prepare_penalties(std::vector<std::vector<int32_t>> dry_breakers) {
    const SamplerParameters& p = parameters;
    if (std::ranges::find(chain, SamplerStage::penalties) != chain.end())
        penalties.emplace(
            PenaltyParameters{uint32_t(p.penalty_last_n), p.repeat_penalty, p.frequency_penalty, p.presence_penalty},
            vocabulary);
    if (std::ranges::find(chain, SamplerStage::dry) != chain.end())
        dry.emplace(DryParameters{p.dry_multiplier, p.dry_base, uint32_t(p.dry_allowed_length),
                                  uint32_t(p.dry_penalty_last_n), std::move(dry_breakers)},
                    vocabulary);
    if (leading_edits > 0 || !p.logit_bias.empty() || !p.suppressed.empty()) edited.resize(vocabulary);
}

std::span<const float> Sampler::Impl::edit(std::span<const float> logits) {
    if (edited.empty()) return logits;
    std::copy(logits.begin(), logits.end(), edited.begin());
    for (const LogitBias& bias : parameters.logit_bias) edited[bias.id] += bias.bias;
    for (const int32_t id : parameters.suppressed) edited[id] = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < leading_edits; ++i) {
        if (chain[i] == SamplerStage::penalties) penalties->apply(edited);
        if (chain[i] == SamplerStage::dry) dry->apply(edited);
    }
    return edited;
}

void Sampler::Impl::gather(std::span<const float> logits, LogitScan::Best best) {
    candidates.clear();
    const bool top_k_first = leading_edits < chain.size() && chain[leading_edits] == SamplerStage::top_k;
    if (top_k_first && wanted() < vocabulary && scan.gather_highest(logits, best, wanted(), candidates)) return;
    for (uint32_t id = 0; id < vocabulary; ++id) candidates.add(int32_t(id), logits[id]);
}

// Nothing is changed before the most probable are taken, of which there are enough.
bool Sampler::Impl::takes_highest() const {
    if (!parameters.logit_bias.empty() || leading_edits > 0 || wanted() > kHighest) return false;
    return greedy() || (parameters.mirostat == Mirostat::off && !chain.empty() && chain.front() == SamplerStage::top_k);
}

// Those that the chain's first stage leaves of the row, ranked. Suppressed ones are out of the question; any other is
// among these, or there are enough before it. What a row is refused for it must be shown for.
bool Sampler::Impl::gather(std::span<const IndexedLogit> highest) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    candidates.clear();
    for (const auto& [logit, index] : highest) {
        if (index >= vocabulary || (!suppressed.empty() && suppressed[index])) continue;
        if (!(logit < kInfinity)) return false;
        candidates.add(int32_t(index), logit);
    }
    if (candidates.size() < wanted()) return false;
    stages::top_k(candidates, wanted());
    return candidates[wanted() - 1].logit > -kInfinity;
}

void Sampler::Impl::apply(SamplerStage stage) {
    const SamplerParameters& p = parameters;
    const auto min_keep = size_t(p.min_keep);
    switch (stage) {
        case SamplerStage::penalties:
            return penalties->apply(candidates);
        case SamplerStage::dry:
            return dry->apply(candidates);
        case SamplerStage::top_n_sigma:
            return stages::top_n_sigma(candidates, p.top_n_sigma);
        case SamplerStage::top_k:
            return stages::top_k(candidates, size_t(std::max(p.top_k, p.min_keep)));
        case SamplerStage::typ_p:
            return stages::typical_p(candidates, p.typical_p, min_keep);
        case SamplerStage::top_p:
            return stages::top_p(candidates, p.top_p, min_keep);
        case SamplerStage::min_p:
            return stages::min_p(candidates, p.min_p, min_keep);
        case SamplerStage::xtc:
            return stages::xtc(candidates, p.xtc_probability, p.xtc_threshold, min_keep, random);
        case SamplerStage::temperature:
            if (p.dynatemp_range > 0)
                return stages::dynamic_temperature(candidates, p.temperature, p.dynatemp_range, p.dynatemp_exponent);
            return stages::temperature(candidates, p.temperature);
        case SamplerStage::adaptive_p:
            return;  // chooses, see there
    }
}

size_t Sampler::Impl::choose() {
    if (adaptive) return adaptive->draw(candidates, random);
    if (parameters.mirostat == Mirostat::v1) return mirostat->draw_v1(candidates, vocabulary, random);
    if (parameters.mirostat == Mirostat::v2) return mirostat->draw_v2(candidates, random);
    return stages::draw(candidates, random);
}

std::array<ReduceSpec, 2> logit_kernel_specs(uint32_t vocabulary) {
    return {ReduceSpec{ReduceKind::argmax, vocabulary}, ReduceSpec{ReduceKind::collect_above, vocabulary}};
}

Result<Sampler> Sampler::create(const SamplerParameters& parameters, uint32_t vocabulary,
                                std::vector<std::vector<int32_t>> dry_breakers, LogitKernels kernels) {
    RIFTJIT_TRY_VOID(validate(parameters, vocabulary));
    const uint32_t seed = parameters.seed ? *parameters.seed : std::random_device{}();
    auto impl = std::make_unique<Impl>(parameters, vocabulary, seed, kernels);
    impl->prepare_penalties(std::move(dry_breakers));
    return Sampler(std::move(impl));
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Result<int32_t> Sampler::sample(std::span<const float> logits) {
    Impl& sampler = *impl_;
    check(logits.size() == sampler.vocabulary, "one row of logits is sampled at a time");
    const std::span<const float> row = sampler.edit(logits);
    RIFTJIT_TRY(best, sampler.scan.best(row));
    if (sampler.greedy()) return best.id;
    sampler.gather(row, best);
    for (size_t i = sampler.leading_edits; i < sampler.chain.size(); ++i) sampler.apply(sampler.chain[i]);
    return sampler.candidates[sampler.choose()].id;
}

std::optional<int32_t> Sampler::sample(std::span<const IndexedLogit> highest) {
    Impl& sampler = *impl_;
    if (!sampler.takes_highest() || !sampler.gather(highest)) return std::nullopt;
    if (sampler.greedy()) return sampler.candidates[0].id;
    for (const SamplerStage stage : sampler.chain) sampler.apply(stage);
    return sampler.candidates[sampler.choose()].id;
}

bool Sampler::takes_highest() const { return impl_->takes_highest(); }

void Sampler::accept(int32_t id) {
    check(id >= 0 && uint32_t(id) < impl_->vocabulary, "accepted tokens come from the vocabulary");
    if (impl_->penalties) impl_->penalties->accept(id);
    if (impl_->dry) impl_->dry->accept(id);
    if (impl_->adaptive) impl_->adaptive->accept(id);
}

void Sampler::restart(std::span<const int32_t> text) {
    if (impl_->penalties) impl_->penalties->restart(text);
    if (impl_->dry) impl_->dry->restart(text);
}

bool Sampler::is_greedy() const { return impl_->greedy(); }
uint32_t Sampler::seed() const { return impl_->seed; }

std::string Sampler::describe() const {
    std::string text = "logits";
    if (!impl_->parameters.logit_bias.empty() || !impl_->parameters.suppressed.empty()) text += " -> logit_bias";
    for (const SamplerStage stage : impl_->chain) text.append(" -> ").append(name(stage));
    if (impl_->greedy()) return text + " -> greedy";
    if (impl_->adaptive) return text + " -> adaptive_p";
    if (impl_->mirostat) return text + (impl_->parameters.mirostat == Mirostat::v1 ? " -> mirostat" : " -> mirostat2");
    return text + " -> dist";
}

}  // namespace riftjit::runtime
