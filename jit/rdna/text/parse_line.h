// One line of assembly cut into mnemonic, operands and modifiers; nothing is looked up yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::rdna {

struct LinePiece {
    std::string_view text;
    size_t column = 1;  // of its first character, counted from 1
};

// "name:value", or a bare word such as glc, whose value is empty.
struct LineModifier {
    std::string_view name, value;
    size_t column = 1;
};

struct ParsedLine {
    std::string mnemonic;  // in lower case
    LinePiece operand_text;
    std::vector<LinePiece> operands;
    std::vector<LineModifier> modifiers;
};

std::string_view trim(std::string_view text);

// Errors: brackets that do not match, an empty operand. `first_column` is that of the line's first character.
Result<ParsedLine> split_line(std::string_view line, size_t first_column);

// "[1, 2]" -> "1", "2"; nothing if it is no list.
std::vector<std::string_view> list_items(std::string_view text);

// Cuts at `separator` where no bracket, quote or bar is open.
std::vector<LinePiece> split_outside_brackets(std::string_view text, size_t first_column, char separator);

}  // namespace riftjit::rdna
