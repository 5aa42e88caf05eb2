// The text that a session holds, token by token. What evaluates text goes through here, so that the next prompt can
// keep what it shares with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/result.h"
#include "runtime/session.h"

namespace riftjit::engine {

// What a text goes on with: all logits behind its last token, or the highest of them (runtime::LogitReading).
struct NextLogits {
    std::span<const float> all;
    std::span<const IndexedLogit> highest;
};

class Context {
public:
    // The session must outlive it, and be empty.
    explicit Context(runtime::Session& session) : session_(&session) {}

    // Keeps the longest common prefix with `ids`, or what of it a model with running states can go back to, forgets
    // what follows it, and returns the part of `ids` still to be evaluated: at least the last, since its logits are
    // wanted. Fails, and changes nothing, when there are no ids, or more than the context has positions.
    Result<std::span<const int32_t>> reuse(std::span<const int32_t> ids);

    // Appends tokens; logits as Session::evaluate() gives them.
    Result<std::span<const float>> evaluate(std::span<const int32_t> ids,
                                            runtime::LogitRows rows = runtime::LogitRows::last);
    Result<NextLogits> append(std::span<const int32_t> ids, runtime::LogitReading reading);
    Result<void> truncate(uint32_t position);  // as Session::truncate()

    // As append() of `id`, and computes in the same step what follows if `guesses` do, of which there may be up to
    // most_guesses(). They are not of the text before take_guess(), and anything else done to it forgets them.
    Result<NextLogits> append(int32_t id, std::span<const int32_t> guesses, runtime::LogitReading reading);
    // Appends `id` if it is the guess that comes next, and gives the logits behind it.
    std::optional<NextLogits> take_guess(int32_t id);
    // All logits behind the last token, of which append() or take_guess() gave the highest.
    Result<std::span<const float>> read_row();
    uint32_t most_guesses() const;  // behind one token more; 0: the context is as good as full

    // Makes what `source` gives (Session::restore()) the text, of which these are the tokens.
    Result<void> restore(std::vector<int32_t> ids, const runtime::Sequences::Source& source);

    std::span<const int32_t> ids() const { return ids_; }
    bool is_full() const { return ids_.size() == session_->context(); }
    runtime::Session& session() const { return *session_; }

private:
    NextLogits next_of(uint32_t row) const;
    Result<void> forget_guesses();

    runtime::Session* session_;
    std::vector<int32_t> ids_;
    std::vector<int32_t> guesses_;  // of the last step
    size_t taken_ = 0;              // of them
    runtime::StepLogits logits_;    // of the last step: behind the token before the guesses, and behind each
};

}  // namespace riftjit::engine
