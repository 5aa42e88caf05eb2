// Hand-written scanners for the families that most models use: what their expressions say, several times as fast.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "models/tokenizer/pretokenizer_rules.h"

namespace riftjit::models {

// Appends the offset behind each word of `text`.
using WordScanner = void (*)(std::string_view text, std::vector<size_t>& ends);

// Null: the family has expressions only.
WordScanner find_scanner(SplitFamily family);

}  // namespace riftjit::models
