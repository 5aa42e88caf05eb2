#include "runtime/sampling/logit_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace riftjit::runtime {
namespace {

ReduceArgs plain_argmax(std::span<const float> logits) {
    ReduceArgs args{};
    args.value = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < logits.size(); ++i) {
        args.count += std::isnan(logits[i]);
        if (logits[i] > args.value) args.value = logits[i], args.index = uint32_t(i);
    }
    return args;
}

}  // namespace

Result<LogitScan::Best> LogitScan::best(std::span<const float> logits) const {
    ReduceArgs args{};
    if (kernels_.argmax != nullptr) {
        args.x = logits.data();
        kernels_.argmax(&args, 0, 1);
    } else {
        args = plain_argmax(logits);
    }
    if (args.count != 0)
        return fail(ErrorKind::Format, "{} of {} logits are not numbers (NaN): weights are damaged or beyond f32",
                    args.count, logits.size());
    const float highest = logits[args.index];
    if (highest == std::numeric_limits<float>::infinity())
        return fail(ErrorKind::Format, "the logit of token {} is infinite: weights or penalties are beyond f32",
                    args.index);
    if (highest == -std::numeric_limits<float>::infinity())
        return fail(ErrorKind::Usage, "every token of the vocabulary is forbidden, none can be sampled");
    return Best{int32_t(args.index), highest};
}

uint32_t LogitScan::collect_above(std::span<const float> logits, float lowest) {
    if (kernels_.collect_above != nullptr) {
        ReduceArgs args{};
        args.x = logits.data();
        args.threshold = lowest;
        args.indices = indices_.data();
        args.count = uint32_t(indices_.size());
        kernels_.collect_above(&args, 0, 1);
        return args.count;
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < vocabulary_; ++i) {
        if (logits[i] < lowest) continue;
        if (found < indices_.size()) indices_[found] = i;
        ++found;
    }
    return found;
}

bool LogitScan::gather_highest(std::span<const float> logits, Best best, size_t count, Candidates& candidates) {
    constexpr int kAttempts = 12;
    constexpr size_t kSpare = 8, kSmallest = 1024;  // room, so that most tokens need one scan
    indices_.resize(std::min<size_t>(vocabulary_, std::max(kSmallest, count * kSpare)));
    float too_narrow = 0, too_wide = std::numeric_limits<float>::infinity();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const uint32_t found = collect_above(logits, best.logit - margin_);
        if (found >= count && found <= indices_.size()) {
            for (uint32_t i = 0; i < found; ++i) candidates.add(int32_t(indices_[i]), logits[indices_[i]]);
            return true;
        }
        (found < count ? too_narrow : too_wide) = margin_;
        margin_ = std::isinf(too_wide) ? margin_ * 2 : (too_narrow + too_wide) / 2;
    }
    margin_ = LogitScan(kernels_, vocabulary_).margin_;
    return false;
}

}  // namespace riftjit::runtime
