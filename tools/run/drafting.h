// Drafting (engine/draft.h) on the command line.
#pragma once

#include <memory>
#include <optional>

#include "engine/generation.h"
#include "tools/cli/reporter.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

void add_draft_options(CLI::App& app, RunOptions& options);

// -md asks for a kind of drafting, too; refuses flags of a kind that is not asked for.
Result<void> check_draft_flags(const CLI::App& app, RunOptions& options);

uint32_t most_guesses(const DraftChoice& choice);  // of a step; 0: nothing drafts

// What guesses, for as long as the model generates.
struct OpenDrafting {
    std::unique_ptr<engine::Engine> model;  // of draft-simple
    engine::Drafting drafting;
};

// --spec-synth-rates and --spec-synth-len of a server's options, as ServingOptions::synthetic_shares.
void add_synthetic_options(CLI::App& app, DraftChoice& choice);
Result<std::vector<double>> synthetic_shares(const DraftChoice& choice);

engine::DraftPace::Limits draft_limits(const DraftChoice& choice);
// The draft model, as the model was opened, with one text. `choice`: what the model was opened with.
Result<std::unique_ptr<engine::Engine>> open_draft_model(const DraftChoice& draft, engine::EngineOptions choice,
                                                         uint32_t context, Reporter& reporter);

// Drafts of a server's texts, one for each, which share the draft model's weights.
struct OpenDrafts {
    std::unique_ptr<engine::Engine> model;  // of draft-simple
    std::vector<std::unique_ptr<runtime::Session>> sessions;
    std::vector<std::unique_ptr<engine::Draft>> drafts;  // none: nothing was asked for
};
Result<OpenDrafts> open_drafts(const DraftChoice& draft, const engine::EngineOptions& choice,
                               const engine::Engine& engine, Reporter& reporter);

// nullopt: nothing was asked for. `choice`: what the model was opened with.
Result<std::optional<OpenDrafting>> open_drafting(const RunOptions& options, engine::EngineOptions choice,
                                                  const engine::Engine& engine, Reporter& reporter);

}  // namespace riftjit::tools
