// A model as `riftjit serve` opens it.
#pragma once

#include "server/served_model.h"
#include "tools/cli/reporter.h"
#include "tools/serve/serve_options.h"

namespace riftjit::tools {

// Loads the model of the options, and its draft model if they name one. They must have been checked.
Result<std::unique_ptr<server::ServedModel>> open_served_model(ServeOptions options, Reporter& reporter);

}  // namespace riftjit::tools
