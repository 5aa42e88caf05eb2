// Writes NumPy .npy files (format version 1.0): f32, C order, two axes.
#pragma once

#include <filesystem>
#include <span>

#include "jit/result.h"

namespace riftjit::tools {

Result<void> write_npy(const std::filesystem::path& path, std::span<const float> values, size_t columns);

}  // namespace riftjit::tools
