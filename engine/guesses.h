// Of a draft's guesses those that a step tries, and what is learnt of them: what all share that generate with drafting.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/draft.h"
#include "engine/draft_pace.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/sampling/sampler.h"

namespace riftjit::engine {

// Guesses for one text after the other, and what was learnt of them.
struct Drafting {
    std::unique_ptr<Draft> draft;
    DraftPace pace;
};

class Guesses {
public:
    // Which must outlive it.
    explicit Guesses(Drafting& drafting) : drafting_(&drafting) {}

    void restart(std::span<const int32_t> text) { drafting_->draft->restart(text); }
    void accept(int32_t id) { drafting_->draft->accept(id); }  // the text goes on
    // Reads what the draft has not read of the text, so that no later token waits for it.
    Result<void> catch_up();

    // What the step of the text's last token, `last`, is to try behind it, up to `most`: no end of generation, for
    // nothing is sampled behind it, and nothing that the sampler will not take. Learns from the step before, whose
    // every guess has met its token by now. Valid until the next call.
    Result<std::span<const int32_t>> next(int32_t last, uint32_t most, const models::Tokenizer& tokenizer,
                                          const runtime::Sampler& sampler);
    // The step is done: its rows of this text, and how long it took.
    void stepped(uint32_t rows, double ms);
    // Nothing is to be learnt of how long it took: it had other texts' rows too.
    void stepped_beside_others() { step_.reset(); }
    // The next guess was right: its place in the step.
    uint32_t met();

    double draft_ms() const { return draft_ms_; }  // that the draft took

private:
    void learn(int32_t last);

    Drafting* drafting_;
    std::vector<int32_t> guesses_;         // of the last step; or, not tried, the first that it could have had
    std::optional<DraftPace::Step> step_;  // as far as its guesses were met
    uint32_t right_ = 0;
    double draft_ms_ = 0;
};

}  // namespace riftjit::engine
