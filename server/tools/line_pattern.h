// A regular expression, or a text, that is looked for in lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit::server {

class LinePattern {
public:
    enum class Syntax : uint8_t { expression, text };
    enum class Case : uint8_t { matters, does_not };

    // In PCRE2's syntax. Fails, with its words, on what is no expression.
    static Result<LinePattern> compile(const std::string& pattern, Syntax syntax, Case letter_case);
    // Bytes that are no UTF-8 match nothing. An expression that tries more than a million ways on a line fails.
    Result<bool> is_in(std::string_view line) const;

private:
    struct State;
    explicit LinePattern(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace riftjit::server
