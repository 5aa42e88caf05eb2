// Reads the merges of a byte-level vocabulary.
#pragma once

#include <string_view>

#include "host/result.h"
#include "models/gguf/gguf.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// tokenizer.ggml.merges. Kimi K2's files may be without: its ranks are the ids of the merged tokens.
Result<BpeMerges> read_merges(const Gguf& file, const Vocabulary& vocabulary, std::string_view pretokenizer);

// Every pair of tokens whose texts join to a token's, ranked by its id (tiktoken's order).
BpeMerges merges_by_id(const Vocabulary& vocabulary);

}  // namespace riftjit::models
