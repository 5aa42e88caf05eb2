// The models of a server that has several: --models-dir and --models-preset.
#pragma once

#include "server/model_pool.h"
#include "tools/cli/reporter.h"
#include "tools/serve/serve_options.h"

namespace riftjit::tools {

// What `model.gguf`, a folder of safetensors, or the first of a split file's parts in the folder are called, and the
// sections of the file with their flags, which go before those of the command line. Errors name file and section.
// `options` must have been checked; the reporter must outlive the models.
Result<std::vector<server::PoolModel>> list_models(const ServeOptions& options, Reporter& reporter);

}  // namespace riftjit::tools
