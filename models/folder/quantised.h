// Weights that folders hold quantised: fp8 with scales, GPTQ, AWQ and MLX's affine groups. They become rows of f16 or
// bf16, as their scales are.
#pragma once

#include "models/folder/json_file.h"
#include "models/folder/safetensors.h"

namespace riftjit::models::folder {

// Replaces what config.json calls quantised by tensors "NAME.weight" in memory of their own, which goes to `owned`.
Result<void> dequantise(const Config& config, Weights& weights, std::vector<std::unique_ptr<std::byte[]>>& owned);

}  // namespace riftjit::models::folder
