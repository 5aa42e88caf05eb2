#include "engine/model_draft.h"

#include <cmath>

#include "engine/sampling.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::engine {

namespace {

std::unexpected<Error> of_draft(const Error& error) { return fail(error.kind, "draft model: {}", error.message); }

float probability(std::span<const float> logits, int32_t id) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - logits[id]);
    return static_cast<float>(1 / sum);
}

}  // namespace

Result<void> check_same_tokens(const models::Tokenizer& model, const models::Tokenizer& draft) {
    constexpr auto kKind = ErrorKind::Unsupported;
    if (model.size() != draft.size())
        return fail(kKind, "the draft model has a vocabulary of {} tokens, the model one of {}", draft.size(),
                    model.size());
    for (int32_t id = 0; id < static_cast<int32_t>(model.size()); ++id) {
        if (model.piece(id) == draft.piece(id) && model.is_control(id) == draft.is_control(id) &&
            model.is_end_of_generation(id) == draft.is_end_of_generation(id))
            continue;
        const auto told = [&](const models::Tokenizer& tokenizer) {
            return fmt::format("{}'{}'",
                               tokenizer.is_end_of_generation(id) ? "the end "
                               : tokenizer.is_control(id)         ? "the control token "
                                                                  : "",
                               models::escaped(tokenizer.piece(id)));
        };
        return fail(kKind, "token {} is {} in the draft model, {} in the model", id, told(draft), told(model));
    }
    return {};
}

Result<std::unique_ptr<ModelDraft>> ModelDraft::create(Engine& engine, runtime::Session& session,
                                                       const models::Tokenizer& tokenizer, float least_probable) {
    RIFTJIT_TRY_VOID(check_same_tokens(tokenizer, engine.tokenizer));
    if (const auto checked = session.check_truncatable(); !checked) return of_draft(checked.error());
    SamplerChoice greedy;
    greedy.parameters.temperature = 0;
    RIFTJIT_TRY(sampler, make_sampler(engine, std::move(greedy), [](const std::string&) {}));
    return std::unique_ptr<ModelDraft>(new ModelDraft(engine, session, std::move(sampler), least_probable));
}

// The last token is read anew where all were: its logits are gone.
Result<std::span<const float>> ModelDraft::read_rest() {
    RIFTJIT_TRY(rest, context_.reuse(text_));
    return context_.evaluate(rest);
}

uint32_t ModelDraft::backlog() const {
    const auto read = context_.ids();
    return static_cast<uint32_t>(text_.size() - (std::ranges::mismatch(read, text_).in1 - read.begin()));
}

Result<void> ModelDraft::catch_up() {
    if (backlog() == 0) return {};
    const auto logits = read_rest();
    if (!logits) return of_draft(logits.error());
    return {};
}

// nullopt: none that is good enough.
Result<std::optional<int32_t>> ModelDraft::guess(std::span<const float> logits) {
    RIFTJIT_TRY(id, sampler_.sample(logits));
    if (engine_.tokenizer.is_end_of_generation(id)) return std::nullopt;
    if (least_probable_ > 0 && probability(logits, id) < least_probable_) return std::nullopt;
    return std::optional(id);
}

Result<std::span<const int32_t>> ModelDraft::propose(uint32_t most) {
    proposal_.clear();
    auto logits = read_rest();
    while (logits) {
        const auto id = guess(*logits);
        if (!id) return of_draft(id.error());
        if (!*id) break;
        proposal_.push_back(**id);
        if (proposal_.size() >= most) break;
        logits = context_.evaluate({&proposal_.back(), 1});
    }
    if (!logits) return of_draft(logits.error());
    return proposal_;
}

}  // namespace riftjit::engine
