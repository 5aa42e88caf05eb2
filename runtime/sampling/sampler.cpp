#include "runtime/sampling/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

using Mask = std::span<const uint64_t>;  // of a TokenConstraint; empty: anything is allowed

bool allows(Mask mask, size_t id) {
    return mask.empty() || (id / 64 < mask.size() && (mask[id / 64] >> (id % 64) & 1) != 0);
}

void forbid_others(std::span<float> row, Mask mask) {
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    for (size_t begin = 0; begin < row.size(); begin += 64) {
        const auto part = row.subspan(begin, std::min<size_t>(64, row.size() - begin));
        const uint64_t word = begin / 64 < mask.size() ? mask[begin / 64] : 0;
        if (word == ~uint64_t(0)) continue;
        if (word == 0)
            std::ranges::fill(part, kNever);
        else
            for (size_t i = 0; i < part.size(); ++i)
                if ((word >> i & 1) == 0) part[i] = kNever;
    }
}

}  // namespace

struct Sampler::Impl {
    // Both of the seed: whether top choices are left out is not to change what else is drawn, as in llama.cpp.
    struct Numbers {
        explicit Numbers(uint32_t seed) : choice(seed), exclusion(seed) {}
        Random choice, exclusion;
    };

    SamplerParameters parameters;
    uint32_t vocabulary;
    uint32_t seed;
    Numbers random;
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
    std::unique_ptr<TokenConstraint> constraint;  // null: none

    Impl(const SamplerParameters& parameters, uint32_t vocabulary, uint32_t seed, LogitKernels kernels);
    void prepare_penalties(std::vector<std::vector<int32_t>> dry_breakers);
    bool greedy() const { return parameters.temperature <= 0; }
    std::span<const float> edit(std::span<const float> logits, Mask mask);
    void gather(std::span<const float> logits, LogitScan::Best best, Mask mask);
    size_t wanted() const { return greedy() ? 1 : size_t(std::max(parameters.top_k, parameters.min_keep)); }
    bool takes_highest() const;
    bool gather(std::span<const IndexedLogit> highest, Mask mask);
    void apply(SamplerStage stage);
    size_t choose();
    Result<int32_t> draw(std::span<const float> logits, Mask mask);
    std::optional<int32_t> draw(std::span<const IndexedLogit> highest, Mask mask);
    size_t count(Mask mask) const;  // without suppressed ones
    // Whether it pays to draw as if anything were allowed, and to ask then.
    bool asks_behind() const { return greedy() || constraint->is_open(); }

    // What a draw changes beside the random numbers; of a token that is refused nothing is learnt.
    struct Learnt {
        std::optional<stages::MirostatState> mirostat;
        std::optional<stages::AdaptiveP> adaptive;
    };
    Learnt learnt() const { return {mirostat, adaptive}; }
    void forget(const Learnt& before) { mirostat = before.mirostat, adaptive = before.adaptive; }
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

std::span<const float> Sampler::Impl::edit(std::span<const float> logits, Mask mask) {
    if (edited.empty() && mask.empty()) return logits;
    edited.resize(vocabulary);
    std::copy(logits.begin(), logits.end(), edited.begin());
    for (const LogitBias& bias : parameters.logit_bias) edited[bias.id] += bias.bias;
    for (const int32_t id : parameters.suppressed) edited[id] = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < leading_edits; ++i) {
        if (chain[i] == SamplerStage::penalties) penalties->apply(edited);
        if (chain[i] == SamplerStage::dry) dry->apply(edited);
    }
    if (!mask.empty()) forbid_others(edited, mask);
    return edited;
}

size_t Sampler::Impl::count(Mask mask) const {
    size_t sum = 0;
    for (const uint64_t word : mask) sum += size_t(std::popcount(word));
    for (const int32_t id : parameters.suppressed) sum -= allows(mask, size_t(id));
    return sum;
}

// Of those that are forbidden none is among the candidates: their infinities are no logits to reckon with.
void Sampler::Impl::gather(std::span<const float> logits, LogitScan::Best best, Mask mask) {
    candidates.clear();
    const bool top_k_first = leading_edits < chain.size() && chain[leading_edits] == SamplerStage::top_k;
    const bool has_more = wanted() < (mask.empty() ? vocabulary : count(mask));
    if (top_k_first && has_more && scan.gather_highest(logits, best, wanted(), candidates)) return;
    for (uint32_t id = 0; id < vocabulary; ++id)
        if (mask.empty() || logits[id] > -std::numeric_limits<float>::infinity())
            candidates.add(int32_t(id), logits[id]);
}

// Nothing is changed before the most probable are taken, of which there are enough.
bool Sampler::Impl::takes_highest() const {
    if (!parameters.logit_bias.empty() || leading_edits > 0 || wanted() > kHighest) return false;
    return greedy() || (parameters.mirostat == Mirostat::off && !chain.empty() && chain.front() == SamplerStage::top_k);
}

// Those that the chain's first stage leaves of the row, ranked. Suppressed ones and what is not allowed are out of the
// question; any other is among these, or there are enough before it. What a row is refused for it must be shown for.
bool Sampler::Impl::gather(std::span<const IndexedLogit> highest, Mask mask) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    candidates.clear();
    for (const auto& [logit, index] : highest) {
        if (index >= vocabulary || (!suppressed.empty() && suppressed[index])) continue;
        if (!(logit < kInfinity)) return false;
        if (allows(mask, index)) candidates.add(int32_t(index), logit);
    }
    size_t enough = wanted();
    if (candidates.size() < enough && !mask.empty()) enough = std::min(enough, count(mask));
    if (candidates.size() < enough || candidates.size() == 0) return false;
    stages::top_k(candidates, enough);
    return candidates[enough - 1].logit > -kInfinity;
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
            return stages::xtc(candidates, p.xtc_probability, p.xtc_threshold, min_keep, random.exclusion);
        case SamplerStage::temperature:
            if (p.dynatemp_range > 0)
                return stages::dynamic_temperature(candidates, p.temperature, p.dynatemp_range, p.dynatemp_exponent);
            return stages::temperature(candidates, p.temperature);
        case SamplerStage::adaptive_p:
            return;  // chooses, see there
    }
}

size_t Sampler::Impl::choose() {
    if (adaptive) return adaptive->draw(candidates, random.choice);
    if (parameters.mirostat == Mirostat::v1) return mirostat->draw_v1(candidates, vocabulary, random.choice);
    if (parameters.mirostat == Mirostat::v2) return mirostat->draw_v2(candidates, random.choice);
    return stages::draw(candidates, random.choice);
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

void Sampler::constrain(std::unique_ptr<TokenConstraint> constraint) { impl_->constraint = std::move(constraint); }

Result<int32_t> Sampler::Impl::draw(std::span<const float> logits, Mask mask) {
    const std::span<const float> row = edit(logits, mask);
    const auto best = scan.best(row);
    if (!best && !mask.empty() && best.error().kind == ErrorKind::Usage)
        return fail(ErrorKind::Usage, "none of the {} tokens that the grammar allows here may be sampled",
                    count(mask) + std::ranges::count_if(parameters.suppressed,
                                                        [&](int32_t id) { return allows(mask, size_t(id)); }));
    if (!best) return std::unexpected(best.error());
    if (greedy()) return best->id;
    gather(row, *best, mask);
    for (size_t i = leading_edits; i < chain.size(); ++i) apply(chain[i]);
    return candidates[choose()].id;
}

std::optional<int32_t> Sampler::Impl::draw(std::span<const IndexedLogit> highest, Mask mask) {
    if (!gather(highest, mask)) return std::nullopt;
    if (greedy()) return candidates[0].id;
    for (const SamplerStage stage : chain) apply(stage);
    return candidates[choose()].id;
}

// Where almost anything is allowed, what is drawn of all and allowed is taken, and else a second draw is of what is
// allowed. Shares among the allowed ones are the same in both, so it is as if the others had been out of the row at
// once, but for what truncating stages make of the few that are not. The best of all is the best of those allowed.
Result<int32_t> Sampler::sample(std::span<const float> logits) {
    Impl& sampler = *impl_;
    check(logits.size() == sampler.vocabulary, "one row of logits is sampled at a time");
    if (!sampler.constraint) return sampler.draw(logits, {});
    if (sampler.asks_behind()) {
        const Impl::Learnt before = sampler.learnt();
        RIFTJIT_TRY(id, sampler.draw(logits, {}));
        RIFTJIT_TRY(is_allowed, sampler.constraint->allows(id));
        if (is_allowed) return id;
        sampler.forget(before);
    }
    RIFTJIT_TRY(mask, sampler.constraint->allowed());
    return sampler.draw(logits, mask);
}

std::optional<int32_t> Sampler::sample(std::span<const IndexedLogit> highest) {
    Impl& sampler = *impl_;
    if (!sampler.takes_highest()) return std::nullopt;
    if (!sampler.constraint) return sampler.draw(highest, {});
    const Impl::Learnt before = sampler.learnt();
    const Impl::Numbers numbers = sampler.random;
    if (sampler.asks_behind()) {
        const auto id = sampler.draw(highest, {});
        if (!id) return std::nullopt;
        const auto is_allowed = sampler.constraint->allows(*id);
        if (is_allowed && *is_allowed) return id;
        sampler.forget(before);
    }
    const auto mask = sampler.constraint->allowed();
    const auto id = mask ? sampler.draw(highest, *mask) : std::nullopt;
    if (!id) sampler.random = numbers;  // the row begins with the same ones
    return id;
}

bool Sampler::takes_highest() const { return impl_->takes_highest(); }

LogProbabilities Sampler::shares(int32_t id, uint32_t count) {
    if (impl_->greedy())
        return {{id, 0}, count == 0 ? std::vector<TokenLogProbability>() : std::vector{TokenLogProbability{id, 0}}};
    Candidates& candidates = impl_->candidates;
    candidates.softmax();
    const auto log_of = [](const Candidate& candidate) { return std::log(candidate.probability); };
    LogProbabilities shares{{id, 0}, {}};
    for (const Candidate& candidate : candidates.all())
        if (candidate.id == id) shares.picked.log_probability = log_of(candidate);
    const size_t most = std::min<size_t>(count, candidates.size());
    candidates.rank(most);
    for (size_t i = 0; i < most && candidates[i].probability > 0; ++i)
        shares.top.push_back({candidates[i].id, log_of(candidates[i])});
    return shares;
}

void Sampler::accept(int32_t id) {
    check(id >= 0 && uint32_t(id) < impl_->vocabulary, "accepted tokens come from the vocabulary");
    if (impl_->penalties) impl_->penalties->accept(id);
    if (impl_->dry) impl_->dry->accept(id);
    if (impl_->adaptive) impl_->adaptive->accept(id);
}

Result<void> Sampler::accept_sampled(int32_t id) {
    if (impl_->constraint) RIFTJIT_TRY_VOID(impl_->constraint->accept(id));
    accept(id);
    return {};
}

bool Sampler::must_end() const { return impl_->constraint && impl_->constraint->must_end(); }

size_t Sampler::allowed_prefix(std::span<const int32_t> ids) const {
    if (!impl_->constraint) return ids.size();
    const auto ahead = impl_->constraint->clone();
    return size_t(std::ranges::find_if_not(ids, [&](int32_t id) { return ahead->accept(id).has_value(); }) -
                  ids.begin());
}

void Sampler::restart(std::span<const int32_t> text) {
    if (impl_->constraint) impl_->constraint->restart();
    if (impl_->penalties) impl_->penalties->restart(text);
    if (impl_->dry) impl_->dry->restart(text);
}

bool Sampler::is_greedy() const { return impl_->greedy(); }
uint32_t Sampler::seed() const { return impl_->seed; }

std::string Sampler::describe() const {
    std::string text = "logits";
    if (!impl_->parameters.logit_bias.empty() || !impl_->parameters.suppressed.empty()) text += " -> logit_bias";
    if (impl_->constraint) text += " -> grammar";
    for (const SamplerStage stage : impl_->chain) text.append(" -> ").append(name(stage));
    if (impl_->greedy()) return text + " -> greedy";
    if (impl_->adaptive) return text + " -> adaptive_p";
    if (impl_->mirostat) return text + (impl_->parameters.mirostat == Mirostat::v1 ? " -> mirostat" : " -> mirostat2");
    return text + " -> dist";
}

}  // namespace riftjit::runtime
