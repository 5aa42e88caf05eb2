// How many tokens to guess before a step, so that guessing makes a text come sooner and never later than plain steps
// would by more than 2 % and the time of a few tokens. (A draft model's reading of the prompt comes on top.)
//
// Learnt while the text is generated: what steps of 2, 4, 8, ... rows take beside a plain one, what a guess takes to
// make, and how often the first, second, ... guess of each grade is right, once those before it were. From these
// follows, for each number of guesses, what a step is expected to yield per time. Chosen is the one that yields most
// and may be done: it is expected to yield more than plain steps and the account is not overdrawn, or it is a trial
// that may pay and whose loss is covered. What was not done yet takes, as is hoped, no longer than half as many rows,
// and at most twice as long; it is thought to take the mean of both, and is not done before that half was.
//
// The account holds plain steps. Every token adds a hundredth, every step with guesses what it gained, or lost. It
// starts with a few, which pay for the first trials, and saves up no more than some, so that a text that stops
// repeating itself loses no more than those. What gains brought is not for trials: of that, a second account is kept.
// A loss greater than the account is forgiven but for one step: it was something else's time.
//
// A draft model that does not pay falls behind the text, and is left there for good once catching up costs more than is
// saved up; with the next prompt it starts anew.
//
// A plain step now and then keeps its own time known. Times are counted near the least of late: other work stretches
// them, of all kinds of steps alike; what was not done for long counts as never done. Where proposals are free, those
// that are not tried are still compared with the text that comes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/draft.h"

namespace riftjit::engine {

class DraftPace {
public:
    struct Limits {
        uint32_t least = 0;      // guesses of a step that has any
        uint32_t most = 1;       // 1 or more
        bool is_bounded = true;  // no: as many as may be, whether they pay or not
    };
    explicit DraftPace(const Limits& limits);

    // Guesses before the next step; 0: a plain one. backlog: as Draft's.
    uint32_t length(uint32_t grade, uint32_t most, uint32_t backlog) const;
    // Of the first steps, which are plain: a draft that keeps up then has its chance right behind them.
    bool is_beginning() const;
    uint32_t least() const { return limits_.least; }
    uint32_t most() const { return limits_.most; }

    struct Step {
        std::optional<uint32_t> grade;  // of what was proposed
        uint32_t guesses = 0;           // that were compared with the text
        uint32_t right = 0;             // of them, up to the first that was not
        uint32_t rows = 1;
        uint32_t backlog = 0;  // before the draft was asked
        double step_ms = 0, draft_ms = 0;
    };
    void note(const Step& step);
    void note_catch_up(uint32_t tokens, double ms);

private:
    static constexpr uint32_t kDepths = 8;  // guesses further on are taken to be as good as the last of these
    static constexpr uint32_t kRowKinds = 12;

    // Follows what it is given down at once and up slowly, and is forgotten when nothing is given for long.
    class Cost {
    public:
        void add(double value, uint32_t step);
        bool is_known(uint32_t step) const;
        double value() const { return value_; }
        uint32_t count() const { return count_; }

    private:
        double value_ = 0;
        uint32_t count_ = 0, step_ = 0;
    };
    struct Share {
        double hits = 0, tries = 0;
    };

    double tokens_of(uint32_t grade, uint32_t guesses) const;
    enum class About : uint8_t { least, likely, most };  // of what was never done

    double step_cost(uint32_t rows, About about) const;
    double cost(uint32_t guesses, uint32_t backlog, About about) const;
    double catch_up_cost(uint32_t backlog) const;
    void learn_shares(const Step& step);

    Limits limits_;
    Cost plain_ms_, catch_up_ms_;       // of a step of one row, and of a token that the draft reads
    std::array<Cost, kRowKinds> rows_;  // of a step in plain ones, by the logarithm of its rows
    Cost guess_;                        // of making one, in plain steps
    std::array<std::array<Share, kDepths>, kDraftGrades> shares_;
    double account_, trials_;  // plain steps
    uint32_t steps_ = 0;
    uint32_t steps_since_plain_ = 0;
};

}  // namespace riftjit::engine
