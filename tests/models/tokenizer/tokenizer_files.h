// Vocabularies for tests: published ones turned into GGUF as converters do, and small ones made on the spot.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.h"
#include "tests/models/expect_message.h"
#include "tests/models/gguf/gguf_builder.h"

namespace riftjit::models::test {

inline std::string source_path(const std::string& name) { return std::string(RIFTJIT_SOURCE_DIR "/") + name; }

inline nlohmann::json read_json(const std::string& name) {
    std::ifstream file(source_path(name));
    check(file.good(), "a test's data file is there");
    return nlohmann::json::parse(file);
}

// What a command prints. Decompression is left to xz, or to Python where there is no xz.
inline std::string read_xz(const std::string& name) {
    const std::string path = source_path(name);
    const std::string command = "xz -dc '" + path + "' 2>/dev/null || python3 -c \"import lzma,sys;" +
                                "sys.stdout.buffer.write(lzma.open('" + path + "').read())\"";
    FILE* pipe = popen(command.c_str(), "r");
    check(pipe != nullptr, "a shell can be started");
    std::string text;
    char buffer[1 << 16];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
    check(pclose(pipe) == 0, "xz or python3 reads tests/data/tokenizers (apt install xz-utils)");
    return text;
}

// A vocabulary without a model, from a published tokenizer.json: special added tokens are control, others user-defined.
inline GgufBuilder vocabulary_of(const nlohmann::json& tokenizer, std::string_view pre) {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    const auto put = [&](size_t id, const std::string& text, int32_t type) {
        if (tokens.size() <= id) tokens.resize(id + 1), types.resize(id + 1);
        tokens[id] = text;
        types[id] = type;
    };
    for (const auto& [text, id] : tokenizer["model"]["vocab"].items()) put(id, text, 1);
    for (const auto& token : tokenizer["added_tokens"])
        put(token["id"], token["content"], token["special"].get<bool>() ? 3 : 4);
    std::vector<std::string> merges;
    for (const auto& merge : tokenizer["model"]["merges"])
        merges.push_back(merge.is_string() ? merge.get<std::string>()
                                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", string("gpt2"))
        .set("tokenizer.ggml.pre", string(pre))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.token_type", i32_array(types))
        .set("tokenizer.ggml.merges", string_array(merges));
    return builder;
}

inline GgufBuilder qwen3_vocabulary() {
    return vocabulary_of(nlohmann::json::parse(read_xz("tests/data/tokenizers/qwen3/tokenizer.json.xz")), "qwen2")
        .set("tokenizer.ggml.eos_token_id", u32(151645))
        .set("tokenizer.ggml.padding_token_id", u32(151643))
        .set("tokenizer.ggml.bos_token_id", u32(151643))
        .set("tokenizer.ggml.add_bos_token", boolean(0));
}
inline GgufBuilder storyteller_vocabulary() {
    return vocabulary_of(read_json("share/models/storyteller/tokenizer.json"), "qwen2")
        .set("tokenizer.ggml.eos_token_id", u32(4095));
}

// Token b is byte b; then `more`.
struct ExtraToken {
    std::string text;
    int32_t type = 1;
};
inline std::string stand_in(unsigned byte) {
    static const std::vector<unsigned> moved = [] {
        std::vector<unsigned> bytes;
        for (unsigned b = 0; b < 256; ++b)
            if (!((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174)) bytes.push_back(b);
        return bytes;
    }();
    const auto position = std::find(moved.begin(), moved.end(), byte);
    std::string text;
    append_utf8(text, position == moved.end() ? byte : 0x100 + static_cast<char32_t>(position - moved.begin()));
    return text;
}
inline GgufBuilder byte_vocabulary(const std::vector<ExtraToken>& more = {},
                                   const std::vector<std::string>& merges = {}, std::string_view pre = "gpt-2") {
    std::vector<std::string> tokens;
    std::vector<int32_t> types(256, 1);
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(stand_in(byte));
    for (const ExtraToken& token : more) {
        tokens.push_back(token.text);
        types.push_back(token.type);
    }
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", string("gpt2"))
        .set("tokenizer.ggml.pre", string(pre))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.token_type", i32_array(types))
        .set("tokenizer.ggml.merges", string_array(merges));
    return builder;
}

// A vocabulary with scores: <unk>, <s>, </s>; the bytes, byte b with id 3 + b; then `more`.
struct ScoredToken {
    std::string text;
    float score = 0;
    int32_t type = 1;
};
enum class WithBytes : uint8_t { no, yes };
inline GgufBuilder sentence_vocabulary(std::string_view model, const std::vector<ScoredToken>& more,
                                       WithBytes with_bytes = WithBytes::yes) {
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    if (with_bytes == WithBytes::yes)
        for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.resize(tokens.size(), 6);
    Bytes scores(tokens.size() * sizeof(float), '\0');
    for (const ScoredToken& token : more) {
        tokens.push_back(token.text);
        types.push_back(token.type);
        scores += raw(token.score);
    }
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", string(model))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.scores", array_of(GgufType::f32, tokens.size(), scores))
        .set("tokenizer.ggml.token_type", i32_array(types));
    return builder;
}

inline Result<Tokenizer> open_tokenizer(const GgufBuilder& builder,
                                        std::optional<std::string_view> pre = std::nullopt) {
    const MemoryFile file(builder.bytes());
    const auto gguf = Gguf::open(file.path());
    check(gguf.has_value(), gguf ? "" : gguf.error().message);
    return Tokenizer::from_gguf(*gguf, pre);
}
inline Tokenizer tokenizer_of(const GgufBuilder& builder) {
    const auto tokenizer = open_tokenizer(builder);
    check(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message);
    return *tokenizer;
}

// Ids with nothing added; control tokens in the text are parsed.
inline std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text,
                                   ParseSpecial parse_special = ParseSpecial::yes) {
    const auto ids = tokenizer.encode(text, parse_special, AddBos::no);
    check(ids.has_value(), ids ? "" : ids.error().message);
    return *ids;
}

}  // namespace riftjit::models::test
