#include "engine/context.h"

namespace riftjit::engine {

Result<std::span<const int32_t>> Context::reuse(std::span<const int32_t> ids) {
    if (ids.empty()) return fail(ErrorKind::Usage, "the prompt is empty and the model has no BOS token to start from");
    if (ids.size() > session_->context())
        return fail(ErrorKind::Usage, "the prompt has {} tokens, the context {} (-c); context_length_exceeded",
                    ids.size(), session_->context());
    uint32_t same = 0;
    while (same < ids_.size() && same + 1 < ids.size() && ids_[same] == ids[same]) ++same;
    RIFTJIT_TRY_VOID(truncate(same));
    return ids.subspan(same);
}

Result<std::span<const float>> Context::evaluate(std::span<const int32_t> ids, runtime::LogitRows rows) {
    auto logits = session_->evaluate(ids, rows);
    if (logits) ids_.insert(ids_.end(), ids.begin(), ids.end());
    return logits;
}

Result<void> Context::truncate(uint32_t position) {
    RIFTJIT_TRY_VOID(session_->truncate(position));
    ids_.resize(session_->position());
    return {};
}

}  // namespace riftjit::engine
