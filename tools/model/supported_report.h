// What `riftjit inspect --supported` prints: what this program can open, from the tables that it looks things up in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace riftjit::tools {

std::string supported_text();
nlohmann::ordered_json supported_json();

}  // namespace riftjit::tools
