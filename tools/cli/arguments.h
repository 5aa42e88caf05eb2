// llama.cpp's spelling of the command line, made digestible for CLI11: single-dash long names, underscores, and flags
// that are known elsewhere but not here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::tools {

// Rewrites argv[1..]: "-ctk q8_0" to "--cache-type-k q8_0", "--top_k=5" to "--top-k=5". Fails on a flag that llama.cpp
// has and riftjit does not (never accepted quietly), naming the replacement if there is one.
Result<std::vector<std::string>> normalize_arguments(int argc, char** argv);

// The single-dash spellings of a long name: "-ctk" of "--cache-type-k".
std::vector<std::string_view> dash_spellings(std::string_view long_name);

}  // namespace riftjit::tools
