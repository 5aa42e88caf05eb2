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

// nullopt: nothing was asked for. `choice`: what the model was opened with.
Result<std::optional<OpenDrafting>> open_drafting(const RunOptions& options, engine::EngineOptions choice,
                                                  const engine::Engine& engine, Reporter& reporter);

}  // namespace riftjit::tools
