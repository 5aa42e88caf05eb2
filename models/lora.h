// Low-rank adapters (Hu et al. 2021, arXiv 2106.09685): beside a product W x also scale * B (A x), as GGUF files of
// type "adapter" hold A [rank, width] and B [rows, rank] for tensors of a model: NAME.lora_a and NAME.lora_b.
#pragma once

#include <filesystem>

#include "models/gguf/gguf.h"

namespace riftjit::models {

struct Model;

struct LoraRequest {
    std::filesystem::path path;
    float scale = 1.0f;
};

struct Lora {
    Gguf file;
    float scale;     // the request's, times adapter.lora.alpha if there is one
    bool has_alpha;  // then the rank divides, too

    float scale_of(uint32_t rank) const { return has_alpha ? scale / float(rank) : scale; }
};

// Adds one to a loaded model, whose build() then makes its products. Fails where the file is none, is for another
// architecture, or has a tensor that the model's graph has no product for.
Result<void> add_lora(Model& model, const LoraRequest& request);

}  // namespace riftjit::models
