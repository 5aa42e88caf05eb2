#include "models/tokenizer/tokenizer_special_ids.h"

#include <algorithm>
#include <array>
#include <span>

namespace riftjit::models {

namespace {

constexpr auto kEndTexts = std::to_array<std::string_view>({"<|eot_id|>",
                                                            "<|im_end|>",
                                                            "<|end|>",
                                                            "<|return|>",
                                                            "<|call|>",
                                                            "<|flush|>",
                                                            "<|calls|>",
                                                            "<end_of_turn>",
                                                            "<|endoftext|>",
                                                            "</s>",
                                                            "<|eom_id|>",
                                                            "<EOT>",
                                                            "_<EOT>",
                                                            "[EOT]",
                                                            "[EOS]",
                                                            "<|end_of_text|>",
                                                            "<end_of_utterance>",
                                                            "<eos>",
                                                            "<turn|>",
                                                            "<|tool_response>",
                                                            "<｜end▁of▁sentence｜>",
                                                            "[e~["});

constexpr auto kFimPadTexts =
    std::to_array<std::string_view>({"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"});
constexpr auto kFimRepositoryTexts =
    std::to_array<std::string_view>({"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"});
constexpr auto kFimSeparatorTexts = std::to_array<std::string_view>({"<|file_sep|>"});
constexpr auto kFimPrefixTexts =
    std::to_array<std::string_view>({"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>",
                                     "▁<PRE>", "<|code_prefix|>", "<|prefix|>"});
constexpr auto kFimSuffixTexts =
    std::to_array<std::string_view>({"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>",
                                     "▁<SUF>", "<|code_suffix|>", "<|suffix|>"});
constexpr auto kFimMiddleTexts =
    std::to_array<std::string_view>({"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>",
                                     "▁<MID>", "<|code_middle|>", "<|middle|>"});

// gpt-oss (harmony) writes its channels between these; a reader wants to see them.
constexpr auto kShownTexts =
    std::to_array<std::string_view>({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"});

// Keys whose value this program does not use; it must be a token all the same.
constexpr auto kUnusedKeys = std::to_array<std::string_view>(
    {"tokenizer.ggml.padding_token_id", "tokenizer.ggml.mask_token_id", "tokenizer.ggml.prefix_token_id",
     "tokenizer.ggml.suffix_token_id", "tokenizer.ggml.middle_token_id"});

std::unexpected<Error> outside(const Gguf& file, const GgufEntry& entry, auto id, uint32_t size) {
    return fail(ErrorKind::Format, "{} is {}, outside the vocabulary of {} tokens", file.place_of(entry), id, size);
}

Result<std::optional<int32_t>> read_id(const Gguf& file, std::string_view key, const Vocabulary& vocabulary) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return std::nullopt;
    if (const auto* negative = std::get_if<int64_t>(&entry->value); negative != nullptr && *negative < 0)
        return outside(file, *entry, *negative, vocabulary.size());
    RIFTJIT_TRY(id, file.integer(key, 0, UINT64_MAX));  // refuses what is no integer
    if (*id >= vocabulary.size()) return outside(file, *entry, *id, vocabulary.size());
    return static_cast<int32_t>(*id);
}

Result<std::vector<int32_t>> read_ids(const Gguf& file, std::string_view key, const Vocabulary& vocabulary) {
    std::vector<int32_t> ids;
    RIFTJIT_TRY(values, file.integers(key));
    if (!values) return ids;
    for (const int64_t id : *values) {
        if (id < 0 || id >= vocabulary.size()) return outside(file, *file.find(key), id, vocabulary.size());
        ids.push_back(static_cast<int32_t>(id));
    }
    return ids;
}

void find_first(std::optional<int32_t>& id, const Vocabulary& vocabulary, std::span<const std::string_view> texts) {
    for (const std::string_view text : texts)
        if (!id) id = vocabulary.find(text);
}

void make_control(int32_t id, Vocabulary& vocabulary, std::vector<std::string>& warnings) {
    if (vocabulary.type(id) == TokenType::control) return;
    if (vocabulary.types_are_known())
        warnings.push_back(
            fmt::format("token {} '{}' has type {} in tokenizer.ggml.token_type; it is treated as a "
                        "control token (type {})",
                        id, printable(vocabulary.text(id)), static_cast<int>(vocabulary.type(id)),
                        static_cast<int>(TokenType::control)));
    vocabulary.set_type(id, TokenType::control);
}

void remove(std::vector<int32_t>& ids, int32_t id) { std::erase(ids, id); }

// gpt-oss and solar-open have calls; there <|end|> closes a channel, not the answer.
bool has_channels(const Vocabulary& vocabulary) {
    const bool calls = vocabulary.find("<|call|>") || vocabulary.find("<|calls|>");
    return calls && (vocabulary.find("<|return|>") || vocabulary.find("<|flush|>"));
}

// In Gemma 4 and PLaMo </s> is a piece of HTML, not an end.
bool has_ordinary_s(const Vocabulary& vocabulary) {
    return vocabulary.find("<|tool_response>") || vocabulary.find("<|plamo:eos|>");
}

}  // namespace

Result<SpecialIds> read_special_ids(const Gguf& file, const Vocabulary& vocabulary) {
    SpecialIds special;
    const std::array<std::pair<std::string_view, std::optional<int32_t>*>, 13> keys{{
        {"tokenizer.ggml.bos_token_id", &special.bos},
        {"tokenizer.ggml.eos_token_id", &special.eos},
        {"tokenizer.ggml.eot_token_id", &special.eot},
        {"tokenizer.ggml.eom_token_id", &special.eom},
        {"tokenizer.ggml.fim_pad_token_id", &special.fim_pad},
        {"tokenizer.ggml.fim_rep_token_id", &special.fim_repository},
        {"tokenizer.ggml.fim_sep_token_id", &special.fim_separator},
        {"tokenizer.ggml.fim_pre_token_id", &special.fim_prefix},
        {"tokenizer.ggml.fim_suf_token_id", &special.fim_suffix},
        {"tokenizer.ggml.fim_mid_token_id", &special.fim_middle},
        {"tokenizer.ggml.unknown_token_id", &special.unknown},
        {"tokenizer.ggml.seperator_token_id", &special.separator},  // the key's own spelling
        {"tokenizer.ggml.cls_token_id", &special.cls},
    }};
    for (const auto& [key, target] : keys) {
        RIFTJIT_TRY(id, read_id(file, key, vocabulary));
        *target = id;
    }
    for (const std::string_view key : kUnusedKeys) RIFTJIT_TRY_VOID(read_id(file, key, vocabulary));
    RIFTJIT_TRY(further, read_ids(file, "tokenizer.ggml.eos_token_ids", vocabulary));
    special.further_eos = std::move(further);
    find_first(special.fim_pad, vocabulary, kFimPadTexts);
    find_first(special.fim_repository, vocabulary, kFimRepositoryTexts);
    find_first(special.fim_separator, vocabulary, kFimSeparatorTexts);
    find_first(special.fim_prefix, vocabulary, kFimPrefixTexts);
    find_first(special.fim_suffix, vocabulary, kFimSuffixTexts);
    find_first(special.fim_middle, vocabulary, kFimMiddleTexts);
    return special;
}

EndTokens find_end_tokens(const SpecialIds& special, Vocabulary& vocabulary, std::vector<std::string>& warnings) {
    EndTokens end{special.further_eos, {}};
    for (const auto& id :
         {special.eos, special.eot, special.eom, special.fim_pad, special.fim_repository, special.fim_separator})
        if (id) end.ids.push_back(*id);
    for (const std::string_view text : kEndTexts) {
        const auto id = vocabulary.find(text);
        if (!id) continue;
        end.ids.push_back(*id);
        if (text != "</s>") make_control(*id, vocabulary, warnings);  // Qwen's is a piece of HTML, in its own right
    }
    for (const std::string_view text : kShownTexts)
        if (const auto id = vocabulary.find(text)) end.shown.push_back(*id);
    if (const auto id = vocabulary.find("<|end|>"); id && has_channels(vocabulary)) {
        remove(end.ids, *id);
        end.shown.push_back(*id);
    }
    if (const auto id = vocabulary.find("</s>"); id && has_ordinary_s(vocabulary)) {
        remove(end.ids, *id);
        vocabulary.set_type(*id, TokenType::normal);
    }
    std::ranges::sort(end.ids);
    end.ids.erase(std::unique(end.ids.begin(), end.ids.end()), end.ids.end());
    std::ranges::sort(end.shown);
    return end;
}

}  // namespace riftjit::models
