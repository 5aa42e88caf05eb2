// What `run` makes sure of before it begins, beside what its parser checked.
#pragma once

#include <optional>

#include "models/gguf/gguf.h"
#include "runtime/session.h"
#include "tools/cli/reporter.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

// Before the model is opened: files that are written replace none that is read.
Result<void> check_dump(const RunOptions& options);
Result<void> check_prompt_cache(const RunOptions& options);
// The same of the model's own files.
Result<void> check_dump(const RunOptions& options, const models::Gguf& model);

// Of --dump-isa and --print-plan; absent: this machine.
Result<std::optional<Target>> listed_target(const RunOptions& options);

bool uses_template(const RunOptions& options, const models::Gguf& file);

// --check-tensors: fails on the first error, and warns of what is no error.
Result<void> check_weights(const models::Gguf& file, Reporter& reporter);

// The weights stay in memory, or one warning says why not.
void lock_weights(const runtime::Session& session, Reporter& reporter);

}  // namespace riftjit::tools
