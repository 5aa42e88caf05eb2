#include "tools/run/drafting.h"

#include "engine/model_draft.h"
#include "tools/cli/options.h"
#include "tools/cli/progress.h"

namespace riftjit::tools {

namespace {

constexpr const char *kNone = "none", *kOfModel = "draft-simple", *kOfText = "ngram-simple";
constexpr int64_t kMostGuesses = 1024, kLongestNgram = 16;

struct DraftFlag {
    const char *name, *type;
};

constexpr std::string_view kDraftModel = "--model-draft";
constexpr DraftFlag kDraftFlags[] = {
    {"--model-draft", kOfModel},      {"--spec-draft-n-max", kOfModel},        {"--spec-draft-n-min", kOfModel},
    {"--spec-draft-p-min", kOfModel}, {"--spec-ngram-simple-size-n", kOfText}, {"--spec-ngram-simple-size-m", kOfText}};

}  // namespace

void add_draft_options(CLI::App& app, RunOptions& options) {
    constexpr const char* kGroup = "Drafting (the same text, sooner)";
    DraftChoice& d = options.draft;
    app.add_option("--model-draft,--spec-draft-model", d.model,
                   "-md: a smaller model with the same vocabulary, which guesses what follows (draft-simple)")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    add_choice(app, "--spec-type", d.type, {kNone, kOfModel, kOfText},
               "what guesses the next tokens, which one step then checks; ngram-simple: what followed the last tokens "
               "where they stood before")
        ->group(kGroup);
    add_integer(app, "--spec-draft-n-max", d.most, 1, kMostGuesses, "most tokens that a draft model guesses for a step")
        ->group(kGroup);
    add_integer(app, "--spec-draft-n-min", d.least, 0, kMostGuesses, "guesses that are fewer are not tried")
        ->group(kGroup);
    add_number(app, "--draft-p-min,--spec-draft-p-min", d.least_probable, 0, 1,
               "a guess less probable, of all tokens, is the end of the guesses")
        ->group(kGroup);
    add_integer(app, "--spec-ngram-simple-size-n", d.longest_ngram, 1, kLongestNgram,
                "last tokens to look up; where they never stood before, fewer of them down to one")
        ->group(kGroup);
    add_integer(app, "--spec-ngram-simple-size-m", d.most_copied, 1, kMostGuesses,
                "most tokens of a step that are guessed from there")
        ->group(kGroup);
}

uint32_t most_guesses(const DraftChoice& choice) {
    if (choice.type == kNone) return 0;
    return static_cast<uint32_t>(choice.type == kOfModel ? choice.most : choice.most_copied);
}

Result<void> check_draft_flags(const CLI::App& app, RunOptions& o) {
    DraftChoice& d = o.draft;
    if (app.count("--spec-type") == 0 && !d.model.empty()) d.type = kOfModel;
    for (const auto& [name, type] : kDraftFlags) {
        if (app.count(name) == 0 || d.type == type) continue;
        std::string why = fmt::format("{} changes nothing with --spec-type {}, only with {}", name, d.type, type);
        if (name == kDraftModel) return fail(ErrorKind::Usage, "{}", why);
        o.without_effect.push_back(std::move(why));
    }
    RIFTJIT_TRY_VOID(synthetic_shares(d));  // before a model is loaded
    if (d.type == kNone) return {};
    if (d.type == kOfModel && d.model.empty())
        return fail(ErrorKind::Usage, "--spec-type {}: which model? -md FILE", kOfModel);
    if (d.type == kOfModel && d.least > d.most)
        return fail(ErrorKind::Usage, "--spec-draft-n-min {} is more than --spec-draft-n-max {}", d.least, d.most);
    if (most_guesses(d) + 1 > o.ubatch)
        return fail(ErrorKind::Usage, "{} {}: a step has {} rows (-ub), of which the last token takes one",
                    d.type == kOfModel ? "--spec-draft-n-max" : "--spec-ngram-simple-size-m", most_guesses(d),
                    o.ubatch);
    if (o.predict == 0 || !o.dump_logits.empty())
        o.without_effect.push_back(fmt::format("--spec-type {}: nothing is generated, so nothing is guessed", d.type));
    return {};
}

engine::DraftPace::Limits draft_limits(const DraftChoice& choice) {
    // What is taken by lot does not depend on what pays here.
    return {.least = static_cast<uint32_t>(choice.type == kOfModel ? choice.least : 0),
            .most = most_guesses(choice),
            .is_bounded = !choice.is_synthetic()};
}

namespace {

Result<void> check_taking_back(const DraftChoice& draft, const Result<void>& truncatable) {
    if (truncatable) return {};
    return fail(truncatable.error().kind, "--spec-type {}: what was guessed wrong cannot be taken back: {}", draft.type,
                truncatable.error().message);
}

std::unique_ptr<engine::Draft> ngram_draft(const DraftChoice& draft) {
    return std::make_unique<engine::NgramDraft>(static_cast<uint32_t>(draft.longest_ngram));
}

}  // namespace

Result<std::unique_ptr<engine::Engine>> open_draft_model(const DraftChoice& draft, engine::EngineOptions choice,
                                                         uint32_t context, Reporter& reporter) {
    choice.model = draft.model;
    choice.adapters.clear();  // they are the other model's
    choice.context = context;
    choice.outputs = 1;
    choice.sequences = 0;
    auto opened = [&] {
        const Progress progress("loading the draft model");
        return engine::open_engine(choice,
                                   [&](const std::string& warning) { reporter.warn("draft model: " + warning); });
    }();
    if (!opened) return std::unexpected(opened.error());
    return std::make_unique<engine::Engine>(std::move(*opened));
}

Result<OpenDrafts> open_drafts(const DraftChoice& draft, const engine::EngineOptions& choice,
                               const engine::Engine& engine, Reporter& reporter) {
    OpenDrafts open;
    if (draft.type == kNone) return open;
    RIFTJIT_TRY_VOID(check_taking_back(draft, engine.sequences->check_truncatable()));
    if (draft.type == kOfModel) {
        RIFTJIT_TRY(model, open_draft_model(draft, choice, engine.context, reporter));
        open.model = std::move(model);
    }
    for (uint32_t i = 0; i < engine.sequences->limits().sequences; ++i) {
        if (draft.type == kOfText) {
            open.drafts.push_back(ngram_draft(draft));
            continue;
        }
        RIFTJIT_TRY(session, runtime::Session::create(open.model->device_model, open.model->context));
        open.sessions.push_back(std::make_unique<runtime::Session>(std::move(session)));
        RIFTJIT_TRY(made, engine::ModelDraft::create(*open.model, *open.sessions.back(), engine.tokenizer,
                                                     static_cast<float>(draft.least_probable)));
        open.drafts.push_back(std::move(made));
    }
    return open;
}

Result<std::optional<OpenDrafting>> open_drafting(const RunOptions& options, engine::EngineOptions choice,
                                                  const engine::Engine& engine, Reporter& reporter) {
    const DraftChoice& d = options.draft;
    if (d.type == kNone) return std::nullopt;
    RIFTJIT_TRY_VOID(check_taking_back(d, engine.session->check_truncatable()));
    const engine::DraftPace pace(draft_limits(d));
    if (d.type == kOfText) return OpenDrafting{nullptr, {ngram_draft(d), pace}};
    RIFTJIT_TRY(model, open_draft_model(d, std::move(choice), engine.context, reporter));
    RIFTJIT_TRY(draft, engine::ModelDraft::create(*model, *model->session, engine.tokenizer,
                                                  static_cast<float>(d.least_probable)));
    return OpenDrafting{std::move(model), {std::move(draft), pace}};
}

}  // namespace riftjit::tools
