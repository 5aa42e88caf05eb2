// `riftjit run --dump-isa`: what was generated for a model, kernel by kernel, with its listing.
#pragma once

#include <string_view>

#include "tools/engine.h"

namespace riftjit::tools {

// Prints the kernels whose names contain `part`. Runs nothing: it works for levels that this machine lacks.
Result<int> dump_isa(const EngineOptions& options, std::string_view part, Reporter& reporter);

}  // namespace riftjit::tools
