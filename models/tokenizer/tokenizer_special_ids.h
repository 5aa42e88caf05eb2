// The special ids of a vocabulary, checked, and the set of tokens that end a generation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/result.h"
#include "models/gguf/gguf.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// An id that no key names is absent, but for those of fill-in-the-middle: these are also found by their text.
struct SpecialIds {
    std::optional<int32_t> bos, eos, eot, eom, fim_pad, fim_repository, fim_separator;
    std::optional<int32_t> fim_prefix, fim_suffix, fim_middle;
    std::optional<int32_t> unknown, separator, cls;
    std::vector<int32_t> further_eos;  // tokenizer.ggml.eos_token_ids
};
Result<SpecialIds> read_special_ids(const Gguf& file, const Vocabulary& vocabulary);

struct EndTokens {
    std::vector<int32_t> ids;    // ascending
    std::vector<int32_t> shown;  // control tokens that are printed nevertheless: gpt-oss's channel marks, ascending
};
// Tokens known to be control by their text become so in `vocabulary`, with a warning where the file says otherwise.
EndTokens find_end_tokens(const SpecialIds& special, Vocabulary& vocabulary, std::vector<std::string>& warnings);

}  // namespace riftjit::models
