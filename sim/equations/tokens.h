// Words of the equation language.
#pragma once

#include <string>
#include <vector>

#include "sim/equations/source_text.h"

namespace riftjit::sim {

enum class TokenKind : uint8_t { number, name, symbol, line_end, end };
struct Token {
    TokenKind kind;
    std::string text;
    size_t offset;  // bytes into the source
    double number = 0;
};

// Ends with an `end`. A line ends with a newline outside parentheses or a semicolon; "#" starts a comment.
Result<std::vector<Token>> tokenize(const SourceText& source);

// "'V'", "the end of the line", "the end".
std::string token_text(const Token& token);

}  // namespace riftjit::sim
