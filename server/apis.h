// The endpoints, API by API.
#pragma once

#include <span>

#include "server/service.h"

namespace riftjit::server {

std::span<const Route> native_routes();     // llama.cpp's own: completions and tokens
std::span<const Route> infill_routes();     // texts with a gap
std::span<const Route> state_routes();      // what the server is and does
std::span<const Route> openai_routes();     // chat, completions, models
std::span<const Route> responses_routes();  // OpenAI's newer ones
std::span<const Route> ollama_routes();
std::span<const Route> anthropic_routes();
std::span<const Route> embedding_routes();  // of all APIs

// As Ollama refuses, and whether a model that it names is the one that is served.
HttpReply ollama_error(const ApiError& error);
bool is_this_model(const Service& service, const std::string& name);

// Of all APIs; null: none has this path, or this method for it.
struct FoundRoute {
    const Route* route = nullptr;
    std::string id;         // what stands in the path's place of one
    bool is_known = false;  // the path
};
FoundRoute find_route(std::string_view method, std::string_view path);

// {"error": "..."}
HttpReply ollama_error(const ApiError& error);
std::string ollama_time();
inline constexpr const char* kOllamaVersion = "0.6.4";  // Ollama's own, which its clients compare
// A model in the list of OpenAI's API.
Json model_data(const Service& service);

// Answers in llama.cpp's own form.
Outcome<HttpReply> complete_prompts(const Service& service, const HttpRequest& request, Asked asked,
                                    const std::vector<std::vector<int32_t>>& prompts);
// prompt_progress of llama.cpp's streams.
Json progress_json(const engine::ServingEvent& event);
// generation_settings and all else that llama.cpp's own completion tells of an answer: "__verbose" elsewhere.
struct Collected;
Json completion_json(const Service& service, const Asked& asked, const std::string& prompt, size_t index,
                     const Collected& answer);

}  // namespace riftjit::server
