// Families with mixtures of experts: what GGUF files have of their configurations and tensors.
#pragma once

#include <span>

#include "models/folder/families.h"

namespace riftjit::models::folder {

// Rows of the table of families.
std::span<const Family> mixture_families();

}  // namespace riftjit::models::folder
