// What a request is refused with: the status, and in the body the same number, a type and a line.
#pragma once

#include <expected>
#include <nlohmann/json.hpp>
#include <string>

#include "host/result.h"

namespace riftjit::server {

using Json = nlohmann::ordered_json;

struct ApiError {
    int status;
    std::string message;
    Json extra = Json::object();  // further members of the error

    const char* type() const;
};

template <class T>
using Outcome = std::expected<T, ApiError>;

template <class... Args>
[[nodiscard]] std::unexpected<ApiError> refuse(int status, fmt::format_string<Args...> format, Args&&... args) {
    return std::unexpected(ApiError{status, fmt::format(format, std::forward<Args>(args)...)});
}

// Of a prompt that has more tokens than the context.
ApiError too_long_prompt(uint64_t tokens, uint64_t context);
// Of a request with images, sounds or other files ("image", "audio", ...).
ApiError no_media(const std::string& kind);
// A prompt's object with "multimodal_data" in it.
bool has_media(const Json& prompt);

// What the engine says of a request: its kind decides whose fault it is.
ApiError api_error(const Error& error);
// {"error": {"code", "message", "type", ...}}
Json error_object(const ApiError& error);

}  // namespace riftjit::server

// As RIFTJIT_TRY, of an Outcome.
#define RIFTJIT_ASK(name, expression)                                    \
    auto name##_outcome = (expression);                                  \
    if (!name##_outcome) return std::unexpected(name##_outcome.error()); \
    auto& name = *name##_outcome
#define RIFTJIT_ASK_VOID(expression) \
    if (auto outcome = (expression); !outcome) return std::unexpected(outcome.error())
