// `riftjit run --target T --predict`: what a token costs GPUs at least. Bounds from counts, never measurements.
#pragma once

#include <span>

#include "engine/engine.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

// Of the model's last token in a context of -c positions, 1024 where that is not given, for each target in turn.
Result<int> print_predictions(const engine::EngineOptions& options, std::span<const Target> targets, bool as_json,
                              Reporter& reporter);

}  // namespace riftjit::tools
