// Guesses by a model: a smaller one with the same vocabulary, which takes its most probable token each time.
#pragma once

#include "engine/context.h"
#include "engine/draft.h"
#include "engine/engine.h"

namespace riftjit::engine {

class ModelDraft : public Draft {
public:
    // Fails where the two models have not the same tokens, or the draft model keeps a running state. A guess less
    // probable than `least_probable` (of all tokens) ends a proposal; so does an end of generation, which is none. The
    // draft model, and the session of it in which it reads, must outlive it; its context is as long as the model's.
    static Result<std::unique_ptr<ModelDraft>> create(Engine& engine, runtime::Session& session,
                                                      const models::Tokenizer& tokenizer, float least_probable);

    void restart(std::span<const int32_t> text) override { text_.assign(text.begin(), text.end()); }
    void accept(int32_t id) override { text_.push_back(id); }
    Result<void> catch_up() override;
    uint32_t backlog() const override;
    std::optional<uint32_t> grade() const override { return 0; }
    Result<std::span<const int32_t>> propose(uint32_t most) override;
    bool is_free() const override { return false; }

private:
    ModelDraft(Engine& engine, runtime::Session& session, runtime::Sampler sampler, float least_probable)
        : engine_(engine), context_(session), sampler_(std::move(sampler)), least_probable_(least_probable) {}

    Result<std::span<const float>> read_rest();
    Result<std::optional<int32_t>> guess(std::span<const float> logits);

    Engine& engine_;
    Context context_;
    runtime::Sampler sampler_;  // greedy
    float least_probable_;
    std::vector<int32_t> text_, proposal_;
};

// Names what differs: the sizes, or the first token.
Result<void> check_same_tokens(const models::Tokenizer& model, const models::Tokenizer& draft);

}  // namespace riftjit::engine
