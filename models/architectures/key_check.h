// Keys that would change the computation in ways that are not implemented, and keys that nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace riftjit::models {

// Fails on a key whose value asks for something not implemented, naming both. `implemented` are those (without the
// architecture, divided by spaces) that this architecture's reader follows.
Result<void> check_keys(const Gguf& file, const Hyperparameters& hyperparameters, std::string_view implemented);

// One line each for keys of this architecture that are unknown or have no effect on a graph with this output.
std::vector<std::string> key_warnings(const Gguf& file, std::string_view architecture, GraphOutput output);

}  // namespace riftjit::models
