// The endpoints, API by API.
#pragma once

#include <span>

#include "server/service.h"

namespace riftjit::server {

std::span<const Route> native_routes();     // llama.cpp's own
std::span<const Route> openai_routes();     // chat, completions, models
std::span<const Route> responses_routes();  // OpenAI's newer ones
std::span<const Route> ollama_routes();
std::span<const Route> anthropic_routes();
std::span<const Route> embedding_routes();  // of all APIs

// As Ollama refuses, and whether a model that it names is the one that is served.
HttpReply ollama_error(const ApiError& error);
bool is_this_model(const Service& service, const std::string& name);

// prompt_progress of llama.cpp's streams.
Json progress_json(const engine::ServingTimings& timings, uint32_t read_tokens);

}  // namespace riftjit::server
