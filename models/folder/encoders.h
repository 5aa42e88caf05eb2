// Families of encoders: what GGUF files have of their configurations and tensors.
#pragma once

#include <array>
#include <filesystem>

#include "models/folder/families.h"

namespace riftjit::models::folder {

// BERT as sentence-transformers saves it. The pooler and heads of training, which make no embedding, are left out.
Result<void> set_bert(Keys& keys);
inline constexpr auto kBertRules = std::to_array<NameRule>({
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"encoder.layer.#.attention.self.query", "blk.#.attn_q"},
    {"encoder.layer.#.attention.self.key", "blk.#.attn_k"},
    {"encoder.layer.#.attention.self.value", "blk.#.attn_v"},
    {"encoder.layer.#.attention.output.dense", "blk.#.attn_output"},
    {"encoder.layer.#.attention.output.LayerNorm", "blk.#.attn_output_norm"},
    {"encoder.layer.#.intermediate.dense", "blk.#.ffn_up"},
    {"encoder.layer.#.output.dense", "blk.#.ffn_down"},
    {"encoder.layer.#.output.LayerNorm", "blk.#.layer_output_norm"},
    {"embeddings.position_ids", ""},
    {"pooler.dense", ""},
});

// pooling_type, as modules.json and the folder of its module of pooling say; nothing where there is none.
Result<void> tell_pooling(const std::filesystem::path& folder, Keys& keys);

// A WordPiece vocabulary's texts as GGUF files have them: what begins a word has a mark in front, what goes on with one
// has lost its own; special tokens are as they are.
std::string wordpiece_text(std::string_view token, bool is_special);

}  // namespace riftjit::models::folder
