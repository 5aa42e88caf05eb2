// Tensors that a graph does not use: listed, or refused when leaving them out would change the output.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/model.h"

namespace riftjit::models {

// Names of the file's tensors outside `used`, in file order. Fails on one that belongs to the computation.
Result<std::vector<std::string>> unused_tensors(const Gguf& file, const Hyperparameters& hyperparameters,
                                                const std::unordered_set<std::string_view>& used);

}  // namespace riftjit::models
