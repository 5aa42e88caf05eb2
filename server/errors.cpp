#include "server/errors.h"

namespace riftjit::server {

const char* ApiError::type() const {
    if (extra.contains("n_prompt_tokens")) return "exceed_context_size_error";
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 404:
            return "not_found_error";
        case 500:
            return "server_error";
        case 501:
            return "not_supported_error";
        case 503:
            return "unavailable_error";
        default:
            return "invalid_request_error";
    }
}

ApiError too_long_prompt(uint64_t tokens, uint64_t context) {
    return {400,
            fmt::format("request ({} tokens) exceeds the available context size ({} tokens), try increasing it; "
                        "context_length_exceeded",
                        tokens, context),
            {{"n_prompt_tokens", tokens}, {"n_ctx", context}}};
}

ApiError no_media(const std::string& kind) {
    return {501, fmt::format("{} input is not supported - the model takes text alone", kind)};
}

bool has_media(const Json& prompt) {
    const auto data = prompt.find("multimodal_data");
    return data != prompt.end() && !data->is_null() && !(data->is_array() && data->empty());
}

ApiError api_error(const Error& error) {
    switch (error.kind) {
        case ErrorKind::Usage:
        case ErrorKind::Format:
            return {400, error.message};
        case ErrorKind::Unsupported:
            return {501, error.message};
        case ErrorKind::Interrupted:
            return {503, error.message};
        default:
            return {500, error.message};
    }
}

Json error_object(const ApiError& error) {
    Json object = {{"code", error.status}, {"message", error.message}, {"type", error.type()}};
    object.update(error.extra);
    return {{"error", std::move(object)}};
}

}  // namespace riftjit::server
