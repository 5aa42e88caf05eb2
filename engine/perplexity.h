// How well a model predicts a text, by llama-perplexity's protocol: the text is cut into windows, each is read as a
// text of its own, and the tokens of its end are scored by the probabilities that the model gave them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "host/thread_pool.h"
#include "runtime/session.h"

namespace riftjit::engine {

// Window k holds the tokens [k * step, k * step + length). Its rows [first, length - 1) are scored, each by the token
// behind it.
struct TextWindows {
    uint32_t length = 0, step = 0, first = 0, count = 0;

    uint32_t scored() const { return length - 1 - first; }  // of a window
    std::span<const int32_t> of(std::span<const int32_t> text, uint32_t window) const {
        return text.subspan(size_t(window) * step, length);
    }
};

// Without a stride: neighbouring windows of `context` tokens, scored in their second half, so that every token has some
// text to be told from. With a stride: windows that begin so many tokens apart, in which the last `stride` tokens are
// scored; llama-perplexity makes these half a stride longer than `context`, in whole 256. `most`: of windows. Fails on
// texts of fewer than two windows.
Result<TextWindows> divide_text(size_t tokens, uint32_t context, uint32_t stride, std::optional<uint32_t> most);
// Of a window, which is the context that a model needs for it.
uint32_t window_length(uint32_t context, uint32_t stride);

// One row of logits as a distribution: the probability of token i is exp(logits[i] - log_sum).
struct LogitRow {
    std::span<const float> logits;
    double log_sum = 0;
    int32_t best = 0;  // the first of those with the highest logit

    double log_probability(int32_t token) const { return logits[size_t(token)] - log_sum; }
};
LogitRow distribution(std::span<const float> logits);

// Sums over scored tokens, in their order.
class Likelihood {
public:
    void add(double negative_log);
    uint64_t count() const { return count_; }
    double mean() const { return sum_ / double(count_); }  // of the negative logarithms
    double mean_error() const;                             // one standard deviation of that; 0 if it cannot be told
    double perplexity() const;
    double perplexity_error() const { return mean_error() * perplexity(); }

private:
    double sum_ = 0, squares_ = 0;
    uint64_t count_ = 0;
};

// Reads windows. Several threads look at their rows at a time.
class WindowReader {
public:
    // The session must outlive it and have room for a window. `bos` stands in the place of each window's first token.
    static Result<WindowReader> create(runtime::Session& session, uint32_t threads, std::optional<int32_t> bos);

    // Visits the scored rows, each once and in no order; a row's logits hold until its visit ends. Fails on logits that
    // are no numbers.
    using Visit = std::function<void(uint32_t row, const LogitRow& logits)>;
    Result<void> read(std::span<const int32_t> window, uint32_t first, const Visit& visit);

private:
    WindowReader(runtime::Session& session, ThreadPool pool, std::optional<int32_t> bos)
        : session_(&session), pool_(std::move(pool)), bos_(bos) {}
    Result<void> visit_rows(const runtime::StepLogits& logits, uint32_t first, const Visit& visit);

    runtime::Session* session_;
    ThreadPool pool_;
    std::optional<int32_t> bos_;
    std::vector<int32_t> tokens_;
};

}  // namespace riftjit::engine
