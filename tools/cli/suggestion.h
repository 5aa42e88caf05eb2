// The known word that a mistyped one most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace riftjit::tools {

// Empty when nothing is near: more than a third of the word would have to change.
std::string closest(std::string_view word, std::span<const std::string> known);

}  // namespace riftjit::tools
