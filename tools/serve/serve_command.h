// `riftjit serve`: a model behind HTTP, for OpenAI's, llama.cpp's, Ollama's and Anthropic's clients.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_serve_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
