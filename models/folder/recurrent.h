// Families whose layers keep a running state: what GGUF files have of their configurations and tensors.
#pragma once

#include <span>

#include "models/folder/families.h"

namespace riftjit::models::folder {

// Rows of the table of families.
std::span<const Family> recurrent_families();

}  // namespace riftjit::models::folder
