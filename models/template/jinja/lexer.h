// Template source to tokens, as jinja2 splits it with trim_blocks and lstrip_blocks on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/template/jinja/value.h"

namespace riftjit::models::jinja {

struct Token {
    enum class Kind : uint8_t {
        data,  // text between tags
        block_begin,
        block_end,
        variable_begin,
        variable_end,
        name,
        string,
        integer,
        real,
        symbol,  // an operator or a bracket
        end,
    };
    Kind kind;
    uint32_t offset;
    std::string text;  // of strings: with escapes replaced
    Integer integer = 0;
    double real = 0;
};

// Unix line ends, and without the newline at the end, which jinja2 drops.
std::string normalize_source(std::string_view source);

// source: normalised. The last token is `end`. Throws TemplateError.
std::vector<Token> tokenize(std::string_view source);

std::string describe(const Token& token);  // for messages

}  // namespace riftjit::models::jinja
