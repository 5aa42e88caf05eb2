// Guesses of how a text goes on. The model checks many of them in one step, which costs less than as many steps of one
// token; a wrong one is forgotten. They decide how fast a text comes, never what it says: each token is sampled from
// the logits that a step of its own would have given, to the bit, in the same order and with the same numbers.
//
// Generation drives both kinds: NgramDraft looks the text's end up in the text, ModelDraft (model_draft.h) asks a
// smaller model. How many guesses pay is DraftPace's to say (draft_pace.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/result.h"

namespace riftjit::engine {

// How well founded a guess is, as its maker counts it: what is learnt of one grade is not held against another.
inline constexpr uint32_t kDraftGrades = 6;

class Draft {
public:
    virtual ~Draft() = default;

    // Makes `text` all of the text. What it shares with the text so far costs next to nothing.
    virtual void restart(std::span<const int32_t> text) = 0;
    virtual void accept(int32_t id) = 0;  // the text goes on
    // Does now what else the next propose() would have to do first.
    virtual Result<void> catch_up() { return {}; }
    virtual uint32_t backlog() const { return 0; }  // tokens that catch_up() has to read

    // Of what propose() would say of the text; nullopt: nothing.
    virtual std::optional<uint32_t> grade() const = 0;
    // Up to `most` tokens that may follow; valid until the next call of anything.
    virtual Result<std::span<const int32_t>> propose(uint32_t most) = 0;
    virtual bool is_free() const = 0;  // proposing takes no time to speak of
};

// What followed the last time that the text's last n tokens stood in it: the most recent place, of the longest n that
// has one, n = longest, ..., 2, 1. Where the copy reaches the end of the text it goes on with itself, so that a text
// that repeats is guessed on. A proposal costs the same however long the text is: places are chained by hash.
class NgramDraft : public Draft {
public:
    explicit NgramDraft(uint32_t longest);

    void restart(std::span<const int32_t> text) override;
    void accept(int32_t id) override;
    std::optional<uint32_t> grade() const override;  // by how many tokens the two places share: 1, 2, 3, 4.., 8.., 16..
    Result<std::span<const int32_t>> propose(uint32_t most) override;
    bool is_free() const override { return true; }

private:
    static constexpr uint32_t kNowhere = UINT32_MAX;

    // All places where n tokens end. Those of one bucket are chained, the latest first.
    struct Places {
        uint32_t n;
        std::vector<uint32_t> latest;    // by bucket
        std::vector<uint32_t> previous;  // by place
    };

    bool are_same(uint32_t one, uint32_t other, uint32_t n) const;  // the n tokens that end there
    size_t bucket(const Places& places, uint32_t end) const;
    void add(Places& places, uint32_t end) const;
    void remove_last(Places& places) const;
    void grow();
    uint32_t find() const;  // where the text's last tokens ended before

    std::vector<int32_t> text_, proposal_;
    std::vector<Places> places_;  // by n, the longest first
    size_t buckets_;              // of each, a power of two
};

}  // namespace riftjit::engine
