// `riftjit perplexity`: how well a model predicts a text, and how far it is from another, as llama-perplexity tells it.
#pragma once

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_perplexity_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
