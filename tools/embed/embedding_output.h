// What `riftjit embed` prints, in llama-embedding's forms.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedder.h"

namespace riftjit::tools {

enum class EmbeddingFormat : uint8_t {
    text,       // for reading: the first values of each, and how alike they are
    array,      // [[...],[...]]
    json,       // as OpenAI's API has it
    json_plus,  // and how alike they are
    raw,        // a line each, values divided by spaces
};

struct EmbeddingOutput {
    EmbeddingFormat format = EmbeddingFormat::text;
    models::Pooling pooling = models::Pooling::none;
    bool has_integers = false;                      // values are those of an int16 (--embd-normalize 0)
    std::vector<std::string> texts;                 // of which the vectors are
    std::vector<std::string> labels;                // of scores; empty: their numbers
    std::span<const engine::Embedding> embeddings;  // of each text
    uint32_t width = 0;
};

std::string embedding_text(const EmbeddingOutput& output);

}  // namespace riftjit::tools
