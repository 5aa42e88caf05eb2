// One answer to a prompt, as an object that advances: a caller decides when, and may stop it between any two tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/guesses.h"
#include "engine/text_stream.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/logits_hash.h"
#include "runtime/sampling/sampler.h"

namespace riftjit::engine {

enum class FinishReason : uint8_t { end_of_generation, stop_word, length, interrupted };
const char* name(FinishReason reason);  // "eos", "word", "length", "interrupted"

struct GenerationOptions {
    int64_t max_tokens = -1;  // below 0: until something else stops it; 0: the prompt is read only
    std::vector<std::string> stop_words;
    models::Tokenizer::ShowControl show_control = models::Tokenizer::ShowControl::no;
    uint32_t batch = 512;                 // prompt tokens that one call of next() reads
    runtime::LogitsHash* hash = nullptr;  // takes the logits that are sampled from
    Drafting* drafting = nullptr;         // changes nothing but the time; the model must be able to forget
};

struct Timings {
    double prompt_ms = 0, sample_ms = 0, generation_ms = 0, draft_ms = 0;
    uint32_t prompt_tokens = 0, sampled_tokens = 0;
    uint32_t generation_runs = 0;   // rows behind the prompt's that were sampled from
    uint32_t generation_steps = 0;  // in which they were evaluated: as many without guesses
    // Guesses that steps had, and those of them that turned out right, by their place in the step.
    std::vector<uint32_t> drafted_at, accepted_at;

    uint32_t drafted() const { return std::accumulate(drafted_at.begin(), drafted_at.end(), 0U); }
    uint32_t accepted() const { return std::accumulate(accepted_at.begin(), accepted_at.end(), 0U); }

    Timings& operator+=(const Timings& other);
};

class Generation {
public:
    struct Step {
        std::optional<int32_t> id;           // none while the prompt is read, and at the end of generation
        std::string text;                    // that may be shown now: a character and a stop word come out whole
        std::optional<FinishReason> finish;  // nothing follows
    };

    // Goes on from what the context holds, which is all that the sampler's penalties then look at: an earlier answer
    // may have been cut back, and its last token was never evaluated. The prompt has a token or more. All that is
    // handed in must outlive it.
    Generation(Context& context, const models::Tokenizer& tokenizer, runtime::Sampler& sampler,
               std::span<const int32_t> prompt, GenerationOptions options)
        : context_(context),
          tokenizer_(tokenizer),
          sampler_(sampler),
          unread_(prompt),
          options_(std::move(options)),
          reading_(options_.hash == nullptr && sampler.takes_highest() ? runtime::LogitReading::highest
                                                                       : runtime::LogitReading::rows),
          stream_(options_.stop_words) {
        sampler_.restart(context_.ids());
        if (options_.drafting == nullptr) return;
        guesses_.emplace(*options_.drafting);
        guesses_->restart(context_.ids());
    }

    // Reads a batch of the prompt; behind its last, and from then on, also samples a token. After a finish or an error
    // it must not be called again.
    Result<Step> next();
    // Ends it early: what was held back.
    Step stop();

    const std::vector<int32_t>& ids() const { return ids_; }  // sampled so far, without the end token
    const std::string& text() const { return text_; }         // all that steps brought
    const Timings& timings() const { return timings_; }

private:
    Result<void> read_prompt();
    Result<void> evaluate_last();
    Result<void> take_step();
    uint32_t most_guesses() const;
    Result<int32_t> sample();
    std::optional<FinishReason> limit() const;
    Step step(std::optional<int32_t> id, std::string text, std::optional<FinishReason> finish);

    Context& context_;
    const models::Tokenizer& tokenizer_;
    runtime::Sampler& sampler_;
    std::span<const int32_t> unread_;  // of the prompt
    GenerationOptions options_;
    runtime::LogitReading reading_;
    TextStream stream_;
    NextLogits logits_;  // after the last token that was evaluated
    std::vector<int32_t> ids_;
    std::string text_;
    Timings timings_;
    std::optional<Guesses> guesses_;  // none without drafting
};

}  // namespace riftjit::engine
