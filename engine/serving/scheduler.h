// Requests answered side by side by one model: a thread puts rows of all their texts into each step (continuous
// batching), samples for each, and hands out what comes.
//
// A row's bits do not depend on what else is in its step, so that an answer is the one that the request would get
// alone. What a slot holds when its request is done stays there: a later prompt that begins with the same tokens goes
// on from it. Guesses (engine/draft.h) change the time alone.
//
// A reader that does not keep up stops its own answer, once kMostUnread events wait for it: the slot is free for others
// until it has read half of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/draft_pace.h"
#include "engine/engine.h"
#include "engine/generation.h"
#include "engine/prompt_cache.h"
#include "engine/sampling.h"
#include "runtime/sampling/log_probabilities.h"

namespace riftjit::engine {

struct ServingRequest {
    std::vector<int32_t> prompt;
    SamplerChoice sampling;
    std::vector<std::string> stop_words;
    int64_t max_tokens = -1;  // as GenerationOptions
    uint32_t chances = 0;     // of the most probable tokens, told with each token; 0: none, nor the token's own
    bool chances_behind_samplers = false;  // those that the samplers left, in place of the model's own
    models::Tokenizer::ShowControl show_control = models::Tokenizer::ShowControl::no;
    bool reuses_text = true;                             // goes on from what a slot holds
    std::optional<uint32_t> slot;                        // waits for this one
    std::optional<std::chrono::milliseconds> most_time;  // since the first token; ends at the next line's end
    std::optional<uint32_t> indentation;                 // a line with less white space before it ends the answer
    int64_t kept_tokens = 0;        // of the prompt, where the context is shifted; below 0: all of it
    uint32_t discarded_tokens = 0;  // in a shift; 0: half of what is not kept
    bool tells_progress = false;    // events of the prompt's pieces too
};

struct ServingTimings {
    uint32_t cached_tokens = 0, prompt_tokens = 0;     // of the prompt: taken over, evaluated
    uint32_t predicted_tokens = 0;                     // sampled, with the end token
    double prompt_ms = 0, predicted_ms = 0;            // until the first token was sampled, and from then on
    uint32_t drafted_tokens = 0, accepted_tokens = 0;  // guesses that steps tried, and those that were right
};

struct ServingEvent {
    struct Token {
        int32_t id;
        bool is_end = false;  // it ended the answer, and is no part of it
        float logprob = 0;    // of the model's own distribution, or of what samplers left (chances_behind_samplers)
        std::vector<runtime::TokenLogProbability> chances;  // as many as were asked for, the most probable first
    };
    std::optional<Token> token;  // none at the end, and of a prompt's piece
    std::string text;            // that may be shown now
    std::optional<FinishReason> finish;
    std::string stop_word;       // that was found
    std::optional<Error> error;  // in place of a finish
    ServingTimings timings;
    // Of the prompt, with those taken over, where ServingRequest::tells_progress.
    uint32_t read_tokens = 0, total_tokens = 0;
    bool is_truncated = false;  // the context's end was met: it was shifted, or the answer ends there

    bool is_last() const { return finish || error; }
};

struct SlotStatus {
    bool is_processing = false;
    uint64_t task = 0;  // of the request, counted from 1
    uint32_t kept_tokens = 0, prompt_tokens = 0, predicted_tokens = 0;
    int64_t max_tokens = -1;
};

struct ServingTotals {
    uint64_t prompt_tokens = 0, cached_tokens = 0, predicted_tokens = 0, steps = 0,
             busy_slots = 0;   // busy_slots: summed over steps
    uint64_t most_tokens = 0;  // that a text had
    double prompt_ms = 0, predicted_ms = 0;
    uint64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;  // drafts: steps that tried guesses
    uint32_t processing = 0, deferred = 0;                         // requests, now
};

struct ServingOptions {
    std::vector<std::unique_ptr<Draft>> drafts;  // one for each slot, or none: nothing is guessed
    DraftPace::Limits draft_limits;
    // For measuring speed alone: the first, second, ... guess of a step is taken by lot, with this share, once those
    // before it were, whatever the model says, and else is not: answers are no text of the model's. Empty: no.
    std::vector<double> synthetic_shares;
    // Where a text fills its context, the oldest part behind what is kept is dropped and the rest read again; else the
    // answer ends there.
    bool shifts_context = false;
};

class Scheduler {
public:
    struct Job;

    // A request on its way. Dropping it cancels the request.
    class Answer {
    public:
        explicit Answer(std::shared_ptr<Job> job, Scheduler& scheduler)
            : job_(std::move(job)), scheduler_(&scheduler) {}
        Answer(Answer&&) = default;
        Answer& operator=(Answer&&) = delete;
        ~Answer();

        // The next event, waited for; nullopt: none came in that time. None follows the last.
        std::optional<ServingEvent> wait(std::chrono::milliseconds most);
        // Ends it within a token: FinishReason::interrupted, unless it was done.
        void cancel();

    private:
        std::shared_ptr<Job> job_;
        Scheduler* scheduler_;
    };

    static constexpr size_t kMostUnread = 256;  // events of one answer

    // The engine has sequences (EngineOptions::sequences), a slot each, and must outlive it. With drafts it must be
    // able to forget (Sequences::check_truncatable), and have rows of logits for them (EngineOptions::outputs).
    explicit Scheduler(Engine& engine, ServingOptions options = {});
    ~Scheduler();  // as stop()
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Fails on a prompt that does not fit and on settings out of range, before anything is evaluated.
    Result<Answer> submit(ServingRequest request);
    // Answers that run end as interrupted, and no others begin.
    void stop();

    uint32_t slots() const;
    uint32_t context() const;  // positions of a slot
    std::vector<SlotStatus> status() const;
    ServingTotals totals() const;

    // Of an idle slot, done between two steps. All fail with ErrorKind::Interrupted while it is at work.
    Result<uint32_t> erase(uint32_t slot);  // forgets what it holds: how many tokens
    // The text that it holds, as bytes (engine/prompt_cache.h): how many tokens.
    Result<uint32_t> save(uint32_t slot, const TextIdentity& identity, const runtime::Sequences::Sink& sink);
    // Makes the file's text the slot's. A file that is refused changes nothing; a later error leaves the slot empty.
    struct Restored {
        uint32_t tokens;
        uint64_t bytes;
    };
    Result<Restored> restore(uint32_t slot, const std::filesystem::path& path, const TextIdentity& identity);
    // The same of a text whose bytes, those of save() behind its header, `source` gives.
    Result<void> restore(uint32_t slot, const std::vector<int32_t>& ids, const runtime::Sequences::Source& source);

private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace riftjit::engine
