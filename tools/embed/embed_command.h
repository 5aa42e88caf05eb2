// `riftjit embed`: vectors of texts, and the scores of a reranker, in llama-embedding's forms.
#pragma once

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_embed_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
