// The text that a session holds, token by token. What evaluates text goes through here, so that the next prompt can
// keep what it shares with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/result.h"
#include "runtime/session.h"

namespace riftjit::engine {

class Context {
public:
    // The session must outlive it, and be empty.
    explicit Context(runtime::Session& session) : session_(&session) {}

    // Keeps the longest common prefix with `ids`, forgets what follows it, and returns the part of `ids` still to be
    // evaluated: at least the last, since its logits are wanted. Fails, and changes nothing, when there are no ids,
    // more than the context has positions, or something to forget by a model with a running state.
    Result<std::span<const int32_t>> reuse(std::span<const int32_t> ids);

    // Appends tokens; logits as Session::evaluate() gives them.
    Result<std::span<const float>> evaluate(std::span<const int32_t> ids,
                                            runtime::LogitRows rows = runtime::LogitRows::last);
    Result<void> truncate(uint32_t position);  // as Session::truncate()

    std::span<const int32_t> ids() const { return ids_; }
    bool is_full() const { return session_->position() == session_->context(); }
    runtime::Session& session() const { return *session_; }

private:
    runtime::Session* session_;
    std::vector<int32_t> ids_;
};

}  // namespace riftjit::engine
