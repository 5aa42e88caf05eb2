#include "tools/run/generation.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "tools/cli/interrupt.h"
#include "tools/run/stop_words.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

// Adds the time of its life to a sum of milliseconds.
class Stopwatch {
public:
    explicit Stopwatch(double& sum_ms) : sum_ms_(sum_ms) {}
    ~Stopwatch() { sum_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& sum_ms_;
    Clock::time_point start_ = Clock::now();
};

// Reads the prompt batch by batch; nullopt when interrupted.
Result<std::optional<std::span<const float>>> read_prompt(runtime::Session& session, std::span<const int32_t> prompt,
                                                          uint32_t batch) {
    std::span<const float> logits;
    for (size_t at = 0; at < prompt.size(); at += batch) {
        if (pending_interrupt() != Interrupt::none) return std::nullopt;
        RIFTJIT_TRY(last, session.evaluate(prompt.subspan(at, std::min<size_t>(batch, prompt.size() - at))));
        logits = last;
    }
    return logits;
}

// Tokens to printable text: whole UTF-8 characters, up to a stop word.
class TextStream {
public:
    TextStream(const Print& print, std::vector<std::string> stop_words, std::string& text)
        : print_(print), words_(std::move(stop_words)), text_(text) {}

    bool push(std::string_view bytes) { return emit(words_.push(utf8_.push(bytes))); }
    void finish() {
        if (!words_.is_found()) emit(words_.push(utf8_.finish()) + words_.finish());
    }
    bool found_stop_word() const { return words_.is_found(); }

private:
    bool emit(const std::string& ready) {
        text_ += ready;
        return ready.empty() || print_(ready);
    }

    const Print& print_;
    StopWords words_;
    std::string& text_;
    Utf8Stream utf8_;
};

// Names the launch that first wrote something that is no number.
std::unexpected<Error> unexpected_logits(runtime::Session& session, const Error& error) {
    const auto launch = session.first_not_finite();
    if (!launch) return std::unexpected(error);
    return fail(error.kind, "{}; the first is written by {}", error.message, *launch);
}

}  // namespace

const char* name(StopReason reason) {
    switch (reason) {
        case StopReason::end_of_generation:
            return "eos";
        case StopReason::stop_word:
            return "word";
        case StopReason::length:
            return "length";
        case StopReason::interrupted:
            return "interrupted";
    }
    return "?";
}

Result<Generation> generate(Engine& engine, runtime::Sampler& sampler, runtime::LogitsHash* hash,
                            std::span<const int32_t> prompt, const GenerationOptions& options, const Print& print,
                            Timings& timings) {
    runtime::Session& session = *engine.session;
    const models::Tokenizer& tokenizer = engine.tokenizer;
    Generation result;
    TextStream stream(print, options.stop_words, result.text);
    std::span<const float> logits;
    {
        Stopwatch watch(timings.prompt_ms);
        RIFTJIT_TRY(read, read_prompt(session, prompt, options.batch));
        timings.prompt_tokens += static_cast<uint32_t>(prompt.size());
        if (!read) {
            result.reason = StopReason::interrupted;
            return result;
        }
        logits = *read;
    }
    for (int32_t id : prompt) sampler.accept(id);
    if (hash != nullptr) hash->add(logits);
    logits = logits.last(session.vocabulary());  // of the last row, when all rows have logits

    for (int64_t produced = 0; options.max_tokens < 0 || produced < options.max_tokens; ++produced) {
        int32_t id = 0;
        {
            Stopwatch watch(timings.sample_ms);
            const auto sampled = sampler.sample(logits);
            if (!sampled) return unexpected_logits(session, sampled.error());
            id = *sampled;
            sampler.accept(id);
        }
        ++timings.sampled_tokens;
        if (tokenizer.is_end_of_generation(id)) {
            result.reason = StopReason::end_of_generation;
            break;
        }
        result.ids.push_back(id);
        const bool is_hidden = options.show_control == models::Tokenizer::ShowControl::no && tokenizer.is_control(id);
        const bool is_read = is_hidden || stream.push(tokenizer.piece(id));
        if (stream.found_stop_word()) {
            result.reason = StopReason::stop_word;
            break;
        }
        if (!is_read || pending_interrupt() != Interrupt::none) {
            result.reason = StopReason::interrupted;
            break;
        }
        const bool is_last = options.max_tokens >= 0 && produced + 1 == options.max_tokens;
        if (is_last || session.position() == engine.context) break;  // StopReason::length
        Stopwatch watch(timings.generation_ms);
        RIFTJIT_TRY(next, session.evaluate({&id, 1}));
        ++timings.generation_runs;
        logits = next;
        if (hash != nullptr) hash->add(logits);
    }
    stream.finish();
    return result;
}

std::string timing_block(const Timings& t, const CacheStatistics& cache) {
    const auto rate = [](double ms, uint32_t count, const char* what) {
        return fmt::format("{:10.2f} ms / {:5} {:<6} ({:8.2f} ms per token, {:9.2f} tokens per second)", ms, count,
                           what, count == 0 ? 0.0 : ms / count, ms == 0.0 ? 0.0 : 1000.0 * count / ms);
    };
    std::string text;
    const auto line = [&](const char* what, const std::string& value) {
        text += fmt::format("common_perf_print: {:>18} = {}\n", what, value);
    };
    line("load time", fmt::format("{:10.2f} ms", t.load_ms));
    line("jit compile time",
         fmt::format("{:10.2f} ms / {} cache hits, {} misses", t.kernels_ms, cache.hits, cache.misses));
    line("sampling time", rate(t.sample_ms, t.sampled_tokens, "tokens"));
    line("samplers time", fmt::format("{:10.2f} ms", t.sample_ms));
    line("prompt eval time", rate(t.prompt_ms, t.prompt_tokens, "tokens"));
    line("eval time", rate(t.generation_ms, t.generation_runs, "runs"));
    line("total time", fmt::format("{:10.2f} ms / {:5} tokens", t.total_ms, t.prompt_tokens + t.generation_runs));
    line("unaccounted time", fmt::format("{:10.2f} ms", t.total_ms - t.load_ms - t.kernels_ms - t.sample_ms -
                                                            t.prompt_ms - t.generation_ms));
    line("graphs reused", fmt::format("{:10}", t.generation_runs));  // plans are made once, whatever follows
    return text;
}

uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace riftjit::tools
