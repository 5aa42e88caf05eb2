// Errors that cross a folder: Result<T>, Error, fail(); and check() for invariants of our own.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace riftjit {

enum class ErrorKind : uint8_t {
    Usage,        // the caller asked for something that no input could make possible
    Io,           // the operating system refused; the message carries its text
    Format,       // a file says something impossible
    Unsupported,  // well-formed, but not something this build can do
    Encoding,     // an emitter rejected an operand
    OutOfMemory,
    Cache,  // --cache-mode=require could not be met
    Interrupted,
};

struct Error {
    ErrorKind kind;
    std::string message;  // one line, names the thing and the value
};

template <class T>
using Result = std::expected<T, Error>;

template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    return std::unexpected(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

// What becomes of the process when an invariant is broken. Gets the whole line; does not return (or std::abort
// follows).
using InternalErrorHandler = void (*)(std::string_view line);
// For the program to say, once, before it starts threads: exit codes are not a library's to choose. Until then the line
// goes to stderr and std::abort ends the process, where a debugger finds it. Null: as until then.
void set_internal_error_handler(InternalErrorHandler handler);
InternalErrorHandler internal_error_handler();

// Hands "internal error: WHY (FILE:LINE), please report this line" to the handler.
[[noreturn]] void check_failed(std::string_view why, std::source_location where);

// An invariant of this program (never of its input). Stays on in every build.
inline void check(bool condition, std::string_view why, std::source_location where = std::source_location::current()) {
    if (!condition) [[unlikely]]
        check_failed(why, where);
}

}  // namespace riftjit

// Returns the error of `expression` from the calling function, or defines `name` as its value.
#define RIFTJIT_TRY(name, expression)                                  \
    auto name##_result = (expression);                                 \
    if (!name##_result) return std::unexpected(name##_result.error()); \
    auto& name = *name##_result

#define RIFTJIT_TRY_VOID(expression) \
    if (auto try_result = (expression); !try_result) return std::unexpected(try_result.error())
