#include "runtime/sampling/log_probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/result.h"

namespace riftjit::runtime {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

float logit_or_never(float logit) { return std::isnan(logit) ? kNever : logit; }

bool comes_first(const TokenLogProbability& a, const TokenLogProbability& b) {
    return a.log_probability != b.log_probability ? a.log_probability > b.log_probability : a.id < b.id;
}

// The `count` highest logits, in order: a heap whose front is the least of them.
std::vector<TokenLogProbability> highest(std::span<const float> logits, size_t count) {
    std::vector<TokenLogProbability> top;
    top.reserve(count);
    for (size_t id = 0; id < logits.size() && count > 0; ++id) {
        const TokenLogProbability entry{int32_t(id), logit_or_never(logits[id])};
        if (top.size() == count) {
            if (!comes_first(entry, top.front())) continue;
            std::ranges::pop_heap(top, comes_first);
            top.pop_back();
        }
        top.push_back(entry);
        std::ranges::push_heap(top, comes_first);
    }
    std::ranges::sort_heap(top, comes_first);
    return top;
}

}  // namespace

LogProbabilities log_probabilities(std::span<const float> logits, int32_t picked, uint32_t count) {
    check(picked >= 0 && size_t(picked) < logits.size(), "the picked token is of the row");
    LogProbabilities result{{picked, logit_or_never(logits[size_t(picked)])},
                            highest(logits, std::min<size_t>(count, logits.size()))};
    float best = kNever;
    for (const float logit : logits) best = std::max(best, logit_or_never(logit));
    // Of infinite logits no share can be told; those that have one are taken for all.
    if (std::isinf(best)) {
        const auto of_infinite = [best](TokenLogProbability& entry) {
            entry.log_probability = entry.log_probability == best && best > 0 ? 0 : kNever;
        };
        of_infinite(result.picked);
        std::ranges::for_each(result.top, of_infinite);
        return result;
    }
    double sum = 0;
    for (const float logit : logits)
        if (!std::isnan(logit)) sum += std::exp(double(logit) - best);
    const double log_sum = std::log(sum);
    const auto normalise = [&](TokenLogProbability& entry) {
        entry.log_probability = float(double(entry.log_probability) - best - log_sum);
    };
    normalise(result.picked);
    std::ranges::for_each(result.top, normalise);
    return result;
}

}  // namespace riftjit::runtime
