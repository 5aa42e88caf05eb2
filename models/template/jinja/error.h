// Errors inside the interpreter: thrown, given the position of the innermost node, and turned into a Result by
// ChatTemplate. Nothing outside models/template/jinja and models/template/chat_template.cpp sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "host/result.h"

namespace riftjit::models::jinja {

struct TemplateError {
    ErrorKind kind;
    std::string message;
    std::optional<uint32_t> offset;  // into the template's source
};

// An error of the node that is being evaluated; the interpreter adds its position.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
    throw TemplateError{ErrorKind::Format, fmt::format(format, std::forward<Args>(args)...), std::nullopt};
}

template <class... Args>
[[noreturn]] void refuse_at(uint32_t offset, fmt::format_string<Args...> format, Args&&... args) {
    throw TemplateError{ErrorKind::Format, fmt::format(format, std::forward<Args>(args)...), offset};
}

}  // namespace riftjit::models::jinja
