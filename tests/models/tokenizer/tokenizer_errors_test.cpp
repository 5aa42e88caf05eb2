// Vocabularies that must be refused, and the messages: they name the key, the place and the value.
#include <gtest/gtest.h>

#include <limits>

#include "models/tokenizer/tokenizer.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace tokenizer_errors_test {

using namespace test;

std::string message_of(const GgufBuilder& builder, std::optional<std::string_view> pre = std::nullopt) {
    const auto tokenizer = open_tokenizer(builder, pre);
    return tokenizer ? "" : tokenizer.error().message;
}

std::optional<ErrorKind> kind_of(const GgufBuilder& builder, std::optional<std::string_view> pre = std::nullopt) {
    const auto tokenizer = open_tokenizer(builder, pre);
    return tokenizer ? std::nullopt : std::optional(tokenizer.error().kind);
}

// ---- family ----

TEST(TokenizerErrors, NameAnUnknownKindAndTheKnownOnes) {
    for (const char* family : {"hybriddna", "gpt3", "test", ""}) {
        const GgufBuilder builder = byte_vocabulary().set("tokenizer.ggml.model", string(family));
        EXPECT_TRUE(says(message_of(builder),
                         {"tokenizer.ggml.model", std::string("unknown tokenizer: '") + family + "'",
                          "'gpt2' (byte-level BPE)", "'llama'", "'t5'", "'bert'", "'rwkv'", "'plamo2'", "'gemma4'"}));
        EXPECT_EQ(kind_of(builder), ErrorKind::Unsupported);
    }
    for (const char* family : {"none", "no_vocab"})
        EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.model", string(family))),
                         {"tokenizer.ggml.model", "no vocabulary"}));
}

TEST(TokenizerErrors, NameTheMissingFamily) {
    EXPECT_TRUE(says(message_of(byte_vocabulary().erase("tokenizer.ggml.model")), {"missing", "tokenizer.ggml.model"}));
    EXPECT_TRUE(
        says(message_of(byte_vocabulary().set("tokenizer.ggml.model", u32(1))), {"tokenizer.ggml.model", "u32"}));
}

// ---- pre-tokenizer ----

TEST(TokenizerErrors, NameTheMissingPretokenizerUnlessOneIsGiven) {
    const GgufBuilder builder = byte_vocabulary().erase("tokenizer.ggml.pre");
    EXPECT_TRUE(says(message_of(builder), {"missing key tokenizer.ggml.pre", "--pre NAME"}));
    EXPECT_EQ(kind_of(builder), ErrorKind::Format);
    EXPECT_EQ(message_of(builder, "qwen2"), "");
    EXPECT_EQ(open_tokenizer(builder, "qwen2")->pre(), "qwen2");
}

TEST(TokenizerErrors, NameAnUnknownPretokenizer) {
    const GgufBuilder builder = byte_vocabulary().set("tokenizer.ggml.pre", string("qwen9"));
    EXPECT_TRUE(says(message_of(builder), {"tokenizer.ggml.pre", "unknown pre-tokenizer type: 'qwen9'"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary(), "qwen\x01"), {"--pre", "unknown pre-tokenizer type: 'qwen\\x01'"}));
    EXPECT_EQ(open_tokenizer(builder, "llama-bpe")->pre(), "llama-bpe");
}

TEST(TokenizerErrors, SayThatAKindHasNoPretokenizer) {
    EXPECT_TRUE(says(message_of(sentence_vocabulary("llama", {}), "qwen2"), {"--pre", "'llama'", "no pre-tokenizer"}));
}

// ---- scores and bytes ----

TEST(TokenizerErrors, NameScoresThatAreMissingTooFewOrNoNumbers) {
    for (const char* model : {"llama", "t5", "plamo2"}) {
        const auto message = [&](Value value) {
            return message_of(sentence_vocabulary(model, {{"a", -1}}).set("tokenizer.ggml.scores", std::move(value)));
        };
        EXPECT_EQ(message_of(sentence_vocabulary(model, {{"a", -1}})), "");
        EXPECT_TRUE(says(message_of(sentence_vocabulary(model, {}).erase("tokenizer.ggml.scores")),
                         {"missing key tokenizer.ggml.scores"}));
        EXPECT_TRUE(says(message(i32_array({1, 2})), {"tokenizer.ggml.scores", "2 entries for 260 tokens"}));
        EXPECT_TRUE(says(message(string("x")), {"tokenizer.ggml.scores", "string"}));
        EXPECT_TRUE(says(message(string_array({"x"})), {"tokenizer.ggml.scores", "array of string"}));
        EXPECT_EQ(message(i32_array(std::vector<int32_t>(260, -1))), "");
        Bytes scores(260 * 4, '\0');
        scores.replace(4 * 7, 4, raw(std::numeric_limits<float>::quiet_NaN()));
        EXPECT_TRUE(says(message(array_of(GgufType::f32, 260, scores)), {"the score of token 7 is nan"}));
    }
}

TEST(TokenizerErrors, NameByteTokensThatAreMissing) {
    GgufBuilder builder = sentence_vocabulary("llama", {});
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    for (unsigned byte = 0; byte < 256; ++byte)
        tokens.push_back(byte == 0x1D || byte == 0xF5 ? fmt::format("gap{}", byte) : fmt::format("<0x{:02X}>", byte));
    builder.set("tokenizer.ggml.tokens", string_array(tokens));
    EXPECT_TRUE(says(message_of(builder), {"tokenizer.ggml.tokens", "2 of the 256 byte tokens are missing", "<0x1D>"}));
    EXPECT_TRUE(says(message_of(sentence_vocabulary("llama", {{"a"}}, WithBytes::no)),
                     {"<0x00> to <0xFF> are missing", "tokenizer.ggml.unknown_token_id is not set"}));
}

TEST(TokenizerErrors, TakePiecesThatAreNoText) {
    const Tokenizer tokenizer = tokenizer_of(
        sentence_vocabulary("llama", {{"\u2581"}, {"\xff\xfe"}, {"\xe2\x96"}, {""}, {std::string("a\0b", 3)}}));
    EXPECT_EQ(tokenizer.decode(ids_of(tokenizer, "\xff\xfe a")), "\xff\xfe a");
}

// ---- tokens ----

TEST(TokenizerErrors, NameMissingOrEmptyTokens) {
    EXPECT_TRUE(
        says(message_of(byte_vocabulary().erase("tokenizer.ggml.tokens")), {"missing", "tokenizer.ggml.tokens"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.tokens", string_array({}))),
                     {"tokenizer.ggml.tokens", "0 tokens", "allowed are 1 to"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.tokens", i32_array({1}))),
                     {"tokenizer.ggml.tokens", "array of i32", "array of string"}));
}

TEST(TokenizerErrors, NameTwoTokensOfOneText) {
    EXPECT_TRUE(says(message_of(byte_vocabulary({{"xy"}, {"z\x01"}, {"xy", 3}})),
                     {"tokenizer.ggml.tokens", "tokens 256 and 258", "'xy'"}));
}

TEST(TokenizerErrors, NameTypesThatAreTooFewOrUnknown) {
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.token_type", i32_array({1, 1, 1}))),
                     {"tokenizer.ggml.token_type", "3 entries", "256 tokens"}));
    EXPECT_TRUE(
        says(message_of(byte_vocabulary({{"xy", 7}})), {"tokenizer.ggml.token_type", "token 256", "is 7", "0 to 6"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary({{"xy", -1}})), {"token 256", "is -1"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.token_type", string("x"))),
                     {"tokenizer.ggml.token_type", "string"}));
}

// ---- merges ----

TEST(TokenizerErrors, NameMissingMerges) {
    EXPECT_TRUE(
        says(message_of(byte_vocabulary().erase("tokenizer.ggml.merges")), {"missing", "tokenizer.ggml.merges"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.merges", i32_array({1, 2}))),
                     {"tokenizer.ggml.merges", "array of i32", "array of string"}));
}

TEST(TokenizerErrors, NameTheMergeItsIndexAndWhatIsWrong) {
    const auto message = [](const std::string& merge) {
        return message_of(byte_vocabulary({{"ab"}}, {"a b", "a b", merge}));
    };
    EXPECT_TRUE(says(message("ab"), {"tokenizer.ggml.merges", "merge 2 'ab'", "no space"}));
    EXPECT_TRUE(says(message(""), {"merge 2 ''", "no space"}));
    EXPECT_TRUE(says(message(" "), {"merge 2 ' '", "no space"}));
    EXPECT_TRUE(says(message("a "), {"merge 2 'a '", "no second part"}));
    EXPECT_TRUE(says(message("a b c"), {"merge 2 'a b c'", "more than two parts"}));
    EXPECT_TRUE(says(message("xy b"), {"merge 2 'xy b'", "left part 'xy'", "no token"}));
    EXPECT_TRUE(says(message("a xy"), {"merge 2 'a xy'", "right part 'xy'", "no token"}));
    EXPECT_TRUE(says(message("a c"), {"merge 2 'a c'", "result 'ac'", "no token"}));
    EXPECT_TRUE(says(message("a \x01"), {"merge 2 'a \\x01'", "right part '\\x01'"}));
}

// ---- special ids ----

TEST(TokenizerErrors, NameASpecialIdOutsideTheVocabulary) {
    for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding", "mask", "cls", "seperator", "fim_pre",
                             "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
        const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
        const auto message = [&](Value value) { return message_of(byte_vocabulary().set(key, std::move(value))); };
        EXPECT_EQ(message(u32(255)), "");
        EXPECT_TRUE(says(message(u32(256)), {key, "is 256", "vocabulary of 256 tokens"}));
        EXPECT_TRUE(says(message(u32(UINT32_MAX)), {key, "is 4294967295", "vocabulary of 256 tokens"}));
        EXPECT_TRUE(says(message(u64(UINT64_MAX)), {key, "is 18446744073709551615", "vocabulary of 256 tokens"}));
        EXPECT_TRUE(says(message(i32(-1)), {key, "is -1", "vocabulary of 256 tokens"}));
        EXPECT_TRUE(says(message(string("2")), {key, "string"}));
    }
}

TEST(TokenizerErrors, NameAnEndTokenOutsideTheVocabulary) {
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.eos_token_ids", i32_array({1, 256}))),
                     {"tokenizer.ggml.eos_token_ids", "is 256", "256 tokens"}));
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.eos_token_ids", i32_array({-1}))), {"is -1"}));
}

TEST(TokenizerErrors, SayThatABeginTokenIsWantedButNotNamed) {
    EXPECT_TRUE(says(message_of(byte_vocabulary().set("tokenizer.ggml.add_bos_token", boolean(1))),
                     {"tokenizer.ggml.add_bos_token", "is true, but tokenizer.ggml.bos_token_id is not set"}));
    EXPECT_EQ(message_of(byte_vocabulary().set("tokenizer.ggml.add_bos_token", boolean(0))), "");
}

// ---- text ----

TEST(TokenizerErrors, LeaveOutAByteThatHasNoTokenAndTellWhich) {
    GgufBuilder builder = byte_vocabulary();
    std::vector<std::string> tokens;
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte == 0xF5 ? "<gap>" : stand_in(byte));
    builder.set("tokenizer.ggml.tokens", string_array(tokens));
    const Tokenizer tokenizer = tokenizer_of(builder);
    ByteSet left_out;
    const auto ids = tokenizer.encode("good \xf5 bad", ParseSpecial::yes, AddBos::no, &left_out);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(*ids, ids_of(tokenizer, "good  bad"));
    EXPECT_EQ(describe_left_out(left_out), "byte 0xf5 has no token in this vocabulary and is left out");
    left_out.reset();
    EXPECT_TRUE(tokenizer.encode("good \xf6", ParseSpecial::yes, AddBos::no, &left_out).has_value());
    EXPECT_EQ(describe_left_out(left_out), "");
    left_out.set(1), left_out.set(0xFE);
    EXPECT_EQ(describe_left_out(left_out), "bytes 0x01, 0xfe have no token in this vocabulary and are left out");
}

// The letter that stands in for a byte may be a token of its own: cut out of text, it is no byte.
TEST(TokenizerErrors, LeaveOutAByteWhoseStandInIsATextToken) {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    for (unsigned byte = 0; byte < 256; ++byte) {
        tokens.push_back(stand_in(byte));
        types.push_back(byte == 0xF5 ? 4 : 1);
    }
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary()
                                                 .set("tokenizer.ggml.tokens", string_array(tokens))
                                                 .set("tokenizer.ggml.token_type", i32_array(types)));
    EXPECT_EQ(ids_of(tokenizer, "\u00f5"), (std::vector<int32_t>{0xF5}));
    EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{0xF5}), "\u00f5");
    ByteSet left_out;
    EXPECT_EQ(tokenizer.encode("\xf5", ParseSpecial::yes, AddBos::no, &left_out)->size(), 0u);
    EXPECT_TRUE(left_out[0xF5]);
}

// As published tokenizers do: what stands on both sides of it in one word is merged.
TEST(TokenizerErrors, MergeWhatALeftOutByteSeparated) {
    GgufBuilder builder = byte_vocabulary({{"!?"}}, {"! ?"});
    std::vector<std::string> tokens;
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte == 0x1D ? "<gap>" : stand_in(byte));
    tokens.push_back("!?");
    const Tokenizer tokenizer = tokenizer_of(builder.set("tokenizer.ggml.tokens", string_array(tokens)));
    for (const char* text : {"!\x1d?", "!\x1d\x1d?\x1d", "\x1d!?"})
        EXPECT_EQ(*tokenizer.encode(text, ParseSpecial::no, AddBos::no), (std::vector<int32_t>{256})) << text;
    EXPECT_EQ(tokenizer.encode("\x1d", ParseSpecial::no, AddBos::no)->size(), 0u);
}

}  // namespace tokenizer_errors_test
}  // namespace riftjit::models
