// Flags of llama.cpp that this build does not have, with the reason: never accepted quietly, never "unknown".
#pragma once

#include <optional>
#include <string_view>

namespace riftjit::tools {

// The reason, or what replaces it. nullopt: not such a flag, or one of this command.
std::optional<std::string_view> refusal_of(std::string_view flag, std::string_view command = {});

}  // namespace riftjit::tools
