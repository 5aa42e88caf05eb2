#include "engine/perplexity.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "host/round_up.h"

namespace riftjit::engine {

namespace {

// llama.cpp's contexts are whole ones of these, and with a stride the context is the window.
constexpr uint32_t kContextStep = 256;

}  // namespace

uint32_t window_length(uint32_t context, uint32_t stride) {
    return stride == 0 ? context : round_up(context + stride / 2, kContextStep);
}

Result<TextWindows> divide_text(size_t tokens, uint32_t context, uint32_t stride, std::optional<uint32_t> most) {
    if (context < 4) return fail(ErrorKind::Usage, "-c {}: a window of fewer than 4 tokens scores none", context);
    if (stride > context)
        return fail(ErrorKind::Usage, "--ppl-stride {}: is above the context of {} tokens (-c)", stride, context);
    if (most == 0u) return fail(ErrorKind::Usage, "--chunks 0: nothing would be read");
    const uint32_t length = window_length(context, stride);
    if (tokens < size_t(2) * length)
        return fail(ErrorKind::Usage, "the text has {} tokens: at least {} are needed for windows of {} (-c)", tokens,
                    size_t(2) * length, length);
    TextWindows windows{length, length, length / 2, uint32_t(tokens / length)};
    if (stride != 0) windows = {length, stride, length - stride - 1, uint32_t((tokens - length + stride - 1) / stride)};
    if (most) windows.count = std::min(windows.count, *most);
    return windows;
}

LogitRow distribution(std::span<const float> logits) {
    LogitRow row{logits};
    for (size_t i = 1; i < logits.size(); ++i)
        if (logits[i] > logits[size_t(row.best)]) row.best = int32_t(i);
    const double highest = logits[size_t(row.best)];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - highest);
    row.log_sum = highest + std::log(sum);
    return row;
}

void Likelihood::add(double negative_log) {
    sum_ += negative_log;
    squares_ += negative_log * negative_log;
    ++count_;
}

double Likelihood::mean_error() const {
    const double variance = squares_ / double(count_) - mean() * mean();
    return variance > 0 && count_ > 1 ? std::sqrt(variance / double(count_ - 1)) : 0;
}

double Likelihood::perplexity() const { return std::exp(mean()); }

Result<WindowReader> WindowReader::create(runtime::Session& session, uint32_t threads, std::optional<int32_t> bos) {
    RIFTJIT_TRY(pool, ThreadPool::create(threads));
    return WindowReader(session, std::move(pool), bos);
}

Result<void> WindowReader::read(std::span<const int32_t> window, uint32_t first, const Visit& visit) {
    tokens_.assign(window.begin(), window.end() - 1);  // of the last one nothing is asked
    if (bos_) tokens_.front() = *bos_;
    RIFTJIT_TRY_VOID(session_->truncate(0));
    const auto end = uint32_t(tokens_.size());
    for (uint32_t at = 0; at < end;) {
        const uint32_t unwanted = first > at ? first - at : 0;
        const uint32_t rows = std::min({end - at, session_->most_rows(), unwanted + session_->most_outputs()});
        RIFTJIT_TRY(logits, session_->step(std::span(tokens_).subspan(at, rows), runtime::LogitReading::rows,
                                           std::min(unwanted, rows)));
        at += rows;
        RIFTJIT_TRY_VOID(visit_rows(logits, at - logits.rows, visit));
    }
    return {};
}

Result<void> WindowReader::visit_rows(const runtime::StepLogits& logits, uint32_t first, const Visit& visit) {
    struct Work {
        const runtime::StepLogits& logits;
        const Visit& visit;
        uint32_t first;
        std::atomic<uint32_t> next = 0;
        std::atomic<uint32_t> not_finite = UINT32_MAX;
    } work{logits, visit, first};
    pool_.run(
        [](void* context, uint32_t) {
            Work& all = *static_cast<Work*>(context);
            for (uint32_t row; (row = all.next++) < all.logits.rows;) {
                const LogitRow distributed = distribution(all.logits.row(row));
                if (std::isfinite(distributed.log_sum))
                    all.visit(all.first + row, distributed);
                else
                    all.not_finite = all.first + row;
            }
        },
        &work);
    if (work.not_finite == UINT32_MAX) return {};
    const auto launch = session_->first_not_finite();
    return fail(ErrorKind::Format, "the logits behind token {} of a window are no numbers{}{}", work.not_finite.load(),
                launch ? "; the first is written by " : "", launch.value_or(""));
}

}  // namespace riftjit::engine
