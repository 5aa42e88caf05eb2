// Texts of models and networks with the place they come from, and errors that name it: "net.toml:12:8: ...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "sim/printable.h"

namespace riftjit::sim {

// `line` and `column` of the first character, from 1; 0 where unknown.
struct SourceText {
    std::string text, file;
    uint32_t line = 0, column = 0;

    bool empty() const { return text.find_first_not_of(" \t\r\n;") == std::string::npos; }
};
struct NamedText {
    std::string name;
    SourceText text;
};

// "net.toml:12:8", of the character at `offset_bytes` of the text.
std::string place(const SourceText& source, size_t offset_bytes = 0);

template <class... Args>
[[nodiscard]] std::unexpected<Error> fail_at(const SourceText& source, size_t offset_bytes,
                                             fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorKind::Format, "{}: {}", printable(place(source, offset_bytes)),
                printable(fmt::format(format, std::forward<Args>(args)...)));
}

// "; did you mean 'tau_m'?", or nothing where no known name is close.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace riftjit::sim
