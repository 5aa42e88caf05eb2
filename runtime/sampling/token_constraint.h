// What may follow in a text, as the sampler asks it: a grammar's door (engine/grammar/constraint.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/result.h"

namespace riftjit::runtime {

// The state of one text. It knows what was sampled since restart(), and no prompt.
class TokenConstraint {
public:
    virtual ~TokenConstraint() = default;

    virtual Result<bool> allows(int32_t id) = 0;  // costs next to nothing, unlike all that may follow
    // Almost anything may follow: it pays to sample first and to ask then.
    virtual bool is_open() const = 0;
    // All that may follow: a bit for each token, 64 in a word, the lowest first; valid until the next call of anything.
    // Ends of generation are among them where the text may end.
    virtual Result<std::span<const uint64_t>> allowed() = 0;
    virtual Result<void> accept(int32_t id) = 0;  // fails on what is not allowed
    virtual bool may_end() const = 0;
    virtual bool must_end() = 0;  // nothing but an end of generation may follow
    virtual void restart() = 0;   // nothing was sampled yet
    virtual std::unique_ptr<TokenConstraint> clone() const = 0;
};

}  // namespace riftjit::runtime
