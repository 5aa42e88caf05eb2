// The grammar that answers follow, from --grammar, -j and their files.
#pragma once

#include <memory>

#include "engine/grammar/grammar.h"
#include "tools/cli/reporter.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

// Null where none was asked for. Warns of what a schema asks for in vain.
Result<std::shared_ptr<const engine::Grammar>> read_grammar(const RunOptions& options, Reporter& reporter);

}  // namespace riftjit::tools
