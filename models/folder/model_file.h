// What `-m` names: a GGUF file, or a folder as transformers saves it, which is told as if it were one.
#pragma once

#include <filesystem>

#include "models/gguf/gguf.h"

namespace riftjit::models {

Result<Gguf> open_model_file(const std::filesystem::path& path);

// The classes of transformers whose folders are read, divided by ", ".
std::string folder_classes();

}  // namespace riftjit::models
