// A folder's tokenizer under GGUF's keys: tokenizer.json (byte-level BPE, or BPE of characters with byte fallback, as
// SentencePiece's), tokenizer_config.json, generation_config.json and chat templates.
#pragma once

#include <filesystem>

#include "models/folder/families.h"
#include "models/gguf/gguf_presentation.h"

namespace riftjit::models::folder {

// `rows` are those of the table of embeddings: a token without a row could not be embedded.
Result<void> tell_tokenizer(const std::filesystem::path& folder, const Config& config, const Family& family,
                            uint64_t rows, GgufWriter& writer, GgufPresentation& presentation);

// The name in GGUF files of the way in which a tokenizer.json cuts text into words, by its normalizer, pre-tokenizer
// and model; an error names what is unknown.
Result<std::string> pretokenizer_name(const std::string& file, const Json& tokenizer);

}  // namespace riftjit::models::folder
