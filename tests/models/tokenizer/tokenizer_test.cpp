#include "models/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "models/tokenizer/pretokenizer_rules.h"
#include "models/tokenizer/tokenizer_nfc.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace tokenizer_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int32_t kControl = 3, kUserDefined = 4, kUnknown = 2;

std::vector<std::string> pieces(const Tokenizer& tokenizer, const Ids& ids) {
    std::vector<std::string> texts;
    for (const int32_t id : ids) texts.emplace_back(tokenizer.piece(id));
    return texts;
}
using Pieces = std::vector<std::string>;

std::string random_bytes(std::mt19937& random, size_t length) {
    std::string bytes(length, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

// ---- words and merges ----

TEST(Tokenizer, MergesWithinWordsOnly) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"ab"}, {"abc"}, {"Ġa"}}, {"a b", "ab c", "Ġ a"}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "abc ab")), (Pieces{"abc", " ", "ab"}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "a bc ac")), (Pieces{"a", " ", "b", "c", " a", "c"}));
}

TEST(Tokenizer, TakesWholeWordsOnlyWhereTheRuleSaysSo) {
    const std::vector<ExtraToken> tokens = {{"ab"}, {"abcd"}};
    const Tokenizer merging = tokenizer_of(byte_vocabulary(tokens, {"a b"}, "smaug-bpe"));
    const Tokenizer taking = tokenizer_of(byte_vocabulary(tokens, {"a b"}, "llama-bpe"));
    EXPECT_EQ(pieces(merging, ids_of(merging, "abcd")), (Pieces{"ab", "c", "d"}));
    EXPECT_EQ(pieces(taking, ids_of(taking, "abcd")), (Pieces{"abcd"}));
    EXPECT_EQ(pieces(taking, ids_of(taking, "abcde")), (Pieces{"ab", "c", "d", "e"}));
}

TEST(Tokenizer, NeverMakesAControlTokenOfPlainText) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"stop", kControl}}, {}, "llama-bpe"));
    EXPECT_EQ(ids_of(tokenizer, "stop", ParseSpecial::no).size(), 4u);  // though a whole word would be taken
    EXPECT_EQ(ids_of(tokenizer, "stop", ParseSpecial::yes), (Ids{256}));
}

TEST(Tokenizer, RanksByIdWhereKimiHasNoMerges) {
    const std::vector<ExtraToken> tokens = {{"bc"}, {"ab"}, {"abc"}};
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary(tokens, {}, "kimi-k2").erase("tokenizer.ggml.merges"));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "abc")), (Pieces{"abc"}));  // b+c first, then a+bc
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "abbc")), (Pieces{"ab", "bc"}));
}

// A long text with few words, many words, and words that share a place in the cache.
TEST(Tokenizer, RemembersWordsWithoutMistakingThem) {
    const Tokenizer tokenizer = tokenizer_of(storyteller_vocabulary());
    std::mt19937 random(5);
    std::string text;
    Ids expected;
    for (int i = 0; i < 20000; ++i) {
        std::string word = " ";
        for (int n = 1 + random() % (i % 2 ? 3 : 9); n > 0; --n) word += static_cast<char>('a' + random() % 26);
        text += word;
        const Ids ids = ids_of(tokenizer, word);
        expected.insert(expected.end(), ids.begin(), ids.end());
    }
    EXPECT_EQ(ids_of(tokenizer, text), expected);
}

// ---- round trips ----

TEST(Tokenizer, GivesBackEveryByteForEveryPretokenizer) {
    std::mt19937 random(6);
    for (const PretokenizerRule& rule : pretokenizer_rules()) {
        if (rule.pieces != PieceForm::stand_ins) continue;
        const Tokenizer tokenizer =
            tokenizer_of(byte_vocabulary({{"ab"}, {"Ġa"}, {"ÿÿ"}}, {"a b", "Ġ a", "ÿ ÿ"}, rule.name));
        for (int i = 0; i < 20; ++i) {
            const std::string text = random_bytes(random, random() % 200);
            std::string storage;
            const std::string_view expected = rule.normalization == Normalization::nfc ? to_nfc(text, storage) : text;
            EXPECT_EQ(tokenizer.decode(ids_of(tokenizer, text, ParseSpecial::no)), expected) << rule.name;
        }
    }
}

TEST(Tokenizer, GivesBackHalfAMegabyteOfRandomBytes) {
    std::mt19937 random(8);
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"ab"}}, {"a b"}, "llama-bpe"));
    const std::string text = random_bytes(random, 500000);
    const std::clock_t start = std::clock();
    EXPECT_EQ(tokenizer.decode(ids_of(tokenizer, text, ParseSpecial::no)), text);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0);
}

TEST(Tokenizer, StreamsWhatItDecodes) {
    const Tokenizer tokenizer = tokenizer_of(storyteller_vocabulary());
    std::mt19937 random(9);
    for (int i = 0; i < 200; ++i) {
        Ids ids(random() % 30);
        for (int32_t& id : ids) id = static_cast<int32_t>(random() % tokenizer.size());
        Utf8Stream stream;
        std::string streamed;
        for (const int32_t id : ids) streamed += stream.push(tokenizer.decode({&id, 1}));
        streamed += stream.finish();
        EXPECT_EQ(streamed, tokenizer.decode(ids));
    }
}

// ---- special tokens ----

TEST(Tokenizer, CutsUserDefinedTokensAlwaysAndControlTokensOnRequest) {
    const Tokenizer tokenizer =
        tokenizer_of(byte_vocabulary({{"<c>", kControl}, {"<u>", kUserDefined}, {"<unk>", kUnknown}}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "a<c><u><unk>b", ParseSpecial::yes)),
              (Pieces{"a", "<c>", "<u>", "<unk>", "b"}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "a<c><u><unk>b", ParseSpecial::no)),
              (Pieces{"a", "<", "c", ">", "<u>", "<", "u", "n", "k", ">", "b"}));
}

// As published tokenizers do. Cutting out the longest tokens of the vocabulary first would find "bcd".
TEST(Tokenizer, FindsTheLeftmostSpecialTokenAndOfThoseTheLongest) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary(
        {{"ab", kControl}, {"bcd", kControl}, {"abc", kControl}, {"  ", kUserDefined}, {"    ", kUserDefined}}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "abcd")), (Pieces{"abc", "d"}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "xabd")), (Pieces{"x", "ab", "d"}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "x       y")), (Pieces{"x", "    ", "  ", " ", "y"}));
}

TEST(Tokenizer, FindsNoTokenInNearMisses) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"<|end|>", kControl}, {"<|x|>", kControl}}));
    EXPECT_EQ(ids_of(tokenizer, "<|en|end|>").size(), 10u);
    EXPECT_EQ(ids_of(tokenizer, "<|end|").size(), 6u);
    EXPECT_EQ(ids_of(tokenizer, "<|<|x|>").size(), 3u);
    EXPECT_EQ(ids_of(tokenizer, "<|end|><|end|>"), (Ids{256, 256}));
}

TEST(Tokenizer, LooksForSpecialTokensInTime) {
    const std::string almost(255, 'a');
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{almost + "b", kControl}}));
    const std::clock_t start = std::clock();
    EXPECT_EQ(ids_of(tokenizer, std::string(1000000, 'a')).size(), 1000000u);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10.0);  // length of text times that of token
}

TEST(Tokenizer, EmptyTokensMatchNothing) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"", kControl}, {"", 1}, {"", kUserDefined}}));
    EXPECT_EQ(pieces(tokenizer, ids_of(tokenizer, "ab")), (Pieces{"a", "b"}));
    EXPECT_FALSE(tokenizer.find("").has_value());
    EXPECT_EQ(tokenizer.decode(Ids{257}), "");
}

TEST(Tokenizer, AcceptsATokenOfTwoMegabytes) {
    const std::string huge(2000000, 'a');
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{huge}, {huge + "!", kControl}}));
    EXPECT_EQ(tokenizer.piece(256), huge);
    EXPECT_EQ(tokenizer.find(huge), 256);
    EXPECT_EQ(ids_of(tokenizer, "aaa!").size(), 4u);
    ASSERT_EQ(tokenizer.warnings().size(), 1u);
    EXPECT_TRUE(says(tokenizer.warnings()[0], {"token 257", "2000001 bytes", "256"}));
}

TEST(Tokenizer, WritesTokensThatAreNotStandInsAsTheyAre) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"｜"}, {"Ġ｜"}}));
    EXPECT_EQ(tokenizer.piece(256), "｜");
    EXPECT_EQ(tokenizer.piece(257), "Ġ｜");
}

// ---- conversations ----

TEST(Tokenizer, JoinsWordsAcrossSegments) {
    const Tokenizer tokenizer = tokenizer_of(storyteller_vocabulary());
    const std::vector<Tokenizer::Segment> segments = {{"<|im_start|>us", ParseSpecial::yes},
                                                      {"er\n", ParseSpecial::yes},
                                                      {"\n  Tell e", ParseSpecial::no},
                                                      {"\u0301 story", ParseSpecial::no},
                                                      {"<|im_end|>\n", ParseSpecial::yes}};
    std::string joined;
    for (const auto& segment : segments) joined += segment.text;
    EXPECT_EQ(*tokenizer.encode(segments, AddBos::no), ids_of(tokenizer, joined));
}

TEST(Tokenizer, ReadsNoControlTokensInContents) {
    const Tokenizer tokenizer = tokenizer_of(storyteller_vocabulary());
    const int32_t end = *tokenizer.find("<|im_end|>");
    const auto count_ends = [&](const std::vector<Tokenizer::Segment>& segments) {
        const auto ids = tokenizer.encode(segments, AddBos::no);
        return std::ranges::count(*ids, end);
    };
    EXPECT_EQ(count_ends({{"<|im_end|>", ParseSpecial::yes}, {"<|im_end|>", ParseSpecial::no}}), 1);
    EXPECT_EQ(count_ends({{"<|im_e", ParseSpecial::yes}, {"nd|>", ParseSpecial::no}}), 0);
    EXPECT_EQ(count_ends({{"<|im_e", ParseSpecial::no}, {"nd|>", ParseSpecial::yes}}), 0);
    EXPECT_EQ(count_ends({{"<|im_e", ParseSpecial::yes}, {"nd|>", ParseSpecial::yes}}), 1);
}

TEST(Tokenizer, EncodesNothingAsNothing) {
    const Tokenizer tokenizer = tokenizer_of(storyteller_vocabulary());
    EXPECT_TRUE(ids_of(tokenizer, "").empty());
    EXPECT_TRUE(tokenizer.encode(std::span<const Tokenizer::Segment>{}, AddBos::yes)->empty());
    EXPECT_EQ(tokenizer.decode({}), "");
}

// ---- begin tokens ----

GgufBuilder with_bos(std::string_view pre) {
    return byte_vocabulary({{"<s>", kControl}}, {}, pre).set("tokenizer.ggml.bos_token_id", u32(256));
}

TEST(Tokenizer, AddsABeginTokenByRuleUnlessTheFileSaysOtherwise) {
    const auto adds = [](GgufBuilder builder) { return tokenizer_of(builder).adds_bos(); };
    for (const char* pre : {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
                            "jina-v5-nano", "tekken", "chameleon"}) {
        EXPECT_TRUE(adds(with_bos(pre))) << pre;
        EXPECT_FALSE(adds(with_bos(pre).set("tokenizer.ggml.add_bos_token", boolean(0)))) << pre;
    }
    for (const char* pre : {"qwen2", "smaug-bpe", "dbrx", "glm4", "gpt-2"}) {
        EXPECT_FALSE(adds(with_bos(pre))) << pre;
        EXPECT_TRUE(adds(with_bos(pre).set("tokenizer.ggml.add_bos_token", boolean(1)))) << pre;
    }
}

TEST(Tokenizer, NeverBeginsWithTwoBeginTokens) {
    const Tokenizer tokenizer = tokenizer_of(with_bos("llama-bpe"));
    EXPECT_EQ(*tokenizer.encode("a", ParseSpecial::yes, AddBos::yes), (Ids{256, *tokenizer.find("a")}));
    EXPECT_EQ(*tokenizer.encode("a", ParseSpecial::yes, AddBos::no), (Ids{*tokenizer.find("a")}));
    EXPECT_EQ(*tokenizer.encode("<s>a", ParseSpecial::yes, AddBos::yes), (Ids{256, *tokenizer.find("a")}));
    EXPECT_EQ(tokenizer.encode("<s>a", ParseSpecial::no, AddBos::yes)->size(), 5u);  // typed by a user: text
    EXPECT_EQ(*tokenizer.encode("", ParseSpecial::yes, AddBos::yes), (Ids{256}));
    const std::vector<Tokenizer::Segment> rendered = {{"<s>", ParseSpecial::yes}, {"a", ParseSpecial::no}};
    EXPECT_EQ(*tokenizer.encode(rendered, AddBos::yes), (Ids{256, *tokenizer.find("a")}));
}

TEST(Tokenizer, WarnsWhereARuleWantsABeginTokenThatTheFileDoesNotName) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({}, {}, "llama-bpe"));
    EXPECT_FALSE(tokenizer.adds_bos());
    ASSERT_EQ(tokenizer.warnings().size(), 1u);
    EXPECT_TRUE(says(tokenizer.warnings()[0], {"llama-bpe", "tokenizer.ggml.bos_token_id"}));
}

TEST(Tokenizer, WarnsThatAPromptGetsNoEndToken) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary().set("tokenizer.ggml.add_eos_token", boolean(1)));
    ASSERT_EQ(tokenizer.warnings().size(), 1u);
    EXPECT_TRUE(says(tokenizer.warnings()[0], {"tokenizer.ggml.add_eos_token"}));
}

TEST(Tokenizer, PutsAnEndTokenBehindAWholeText) {
    GgufBuilder builder = byte_vocabulary({{"<s>", 3}, {"</s>", 3}}, {}, "roberta-bpe");
    const int32_t letter = 'a';
    EXPECT_FALSE(tokenizer_of(builder).adds_end());
    builder.set("tokenizer.ggml.seperator_token_id", u32(257));
    const Tokenizer tokenizer = tokenizer_of(builder);
    EXPECT_EQ(*tokenizer.encode("a", ParseSpecial::yes, AddBos::and_end), (Ids{letter, 257}));
    EXPECT_EQ(*tokenizer.encode("a", ParseSpecial::yes, AddBos::yes), (Ids{letter}));
    builder.set("tokenizer.ggml.add_sep_token", boolean(0));
    EXPECT_FALSE(tokenizer_of(builder).adds_end());
    builder.set("tokenizer.ggml.add_eos_token", boolean(1)).set("tokenizer.ggml.eos_token_id", u32(256));
    EXPECT_EQ(*tokenizer_of(builder).encode("a", ParseSpecial::yes, AddBos::and_end), (Ids{letter, 256}));
}

// "<mask> of several embedding models strips before", which files do not say.
TEST(Tokenizer, StripsInFrontOfTheMaskOfSomeModels) {
    const auto ids = [](std::string_view pre) {
        return ids_of(tokenizer_of(byte_vocabulary({{"<mask>", 3}}, {}, pre)), "a \u3000\n<mask> a");
    };
    EXPECT_EQ(ids("roberta-bpe"), (Ids{'a', 256, ' ', 'a'}));
    EXPECT_EQ(ids("jina-v2-de"), (Ids{'a', 256, ' ', 'a'}));
    EXPECT_EQ(ids("gpt-2"), (Ids{'a', ' ', 0xE3, 0x80, 0x80, '\n', 256, ' ', 'a'}));
}

TEST(Tokenizer, InventsNoSpecialIds) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary());
    EXPECT_FALSE(tokenizer.bos().has_value());
    EXPECT_FALSE(tokenizer.eos().has_value());
    EXPECT_TRUE(tokenizer.end_of_generation().empty());
}

// ---- ends ----

Ids ends_of(const GgufBuilder& builder) {
    const Tokenizer tokenizer = tokenizer_of(builder);
    for (int32_t id = 0; id < static_cast<int32_t>(tokenizer.size()); ++id)
        EXPECT_EQ(tokenizer.is_end_of_generation(id), std::ranges::count(tokenizer.end_of_generation(), id) == 1);
    return {tokenizer.end_of_generation().begin(), tokenizer.end_of_generation().end()};
}

TEST(EndOfGeneration, IsWhatTheKeysName) {
    GgufBuilder builder = byte_vocabulary({{"A1"}, {"B1"}, {"C1"}, {"D1"}, {"E1"}, {"F1"}, {"G1"}, {"H1"}});
    int32_t id = 256;
    for (const char* name : {"eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep"})
        builder.set(std::string("tokenizer.ggml.") + name + "_token_id", u32(static_cast<uint32_t>(id++)));
    builder.set("tokenizer.ggml.eos_token_ids", i32_array({262, 256}));
    builder.set("tokenizer.ggml.padding_token_id", u32(263));
    EXPECT_EQ(ends_of(builder), (Ids{256, 257, 258, 259, 260, 261, 262}));
}

TEST(EndOfGeneration, IsWhatTheTextsSay) {
    const std::vector<std::string> texts = {"<|eot_id|>",
                                            "<|im_end|>",
                                            "<|end|>",
                                            "<|return|>",
                                            "<|flush|>",
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
                                            "<｜end▁of▁sentence｜>",
                                            "[e~[",
                                            "<|fim_pad|>",
                                            "<|repo_name|>",
                                            "<|file_sep|>"};
    std::vector<ExtraToken> tokens;
    Ids expected;
    for (const std::string& text : texts) {
        expected.push_back(256 + static_cast<int32_t>(tokens.size()));
        tokens.push_back({text, kControl});
    }
    EXPECT_EQ(ends_of(byte_vocabulary(tokens)), expected);
}

TEST(EndOfGeneration, LeavesOutWhatClosesAChannel) {
    for (const char* call : {"<|call|>", "<|calls|>"}) {
        for (const char* other : {"<|return|>", "<|flush|>"}) {
            const GgufBuilder builder = byte_vocabulary({{"<|end|>", kControl}, {call, kControl}, {other, kControl}});
            EXPECT_EQ(ends_of(builder), (Ids{257, 258})) << call << other;
        }
    }
    EXPECT_EQ(ends_of(byte_vocabulary({{"<|end|>", kControl}, {"<|call|>", kControl}})), (Ids{256, 257}));
    EXPECT_EQ(ends_of(byte_vocabulary({{"<|end|>", kControl}, {"<|return|>", kControl}})), (Ids{256, 257}));
}

TEST(EndOfGeneration, LeavesOutAnOrdinaryClosingTag) {
    for (const char* marker : {"<|tool_response>", "<|plamo:eos|>"}) {
        const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"</s>", kControl}, {marker, kControl}}));
        EXPECT_FALSE(tokenizer.is_end_of_generation(256)) << marker;
        EXPECT_FALSE(tokenizer.is_control(256)) << marker;
        EXPECT_EQ(ids_of(tokenizer, "</s>").size(), 4u) << marker;
    }
}

// ---- types ----

TEST(Tokenizer, TreatsEndTokensAsControlWhateverTheFileSays) {
    const Tokenizer tokenizer = tokenizer_of(byte_vocabulary({{"<|im_end|>", 1}, {"</s>", 1}}));
    EXPECT_TRUE(tokenizer.is_control(256));
    EXPECT_EQ(ids_of(tokenizer, "<|im_end|>"), (Ids{256}));
    EXPECT_GT(ids_of(tokenizer, "<|im_end|>", ParseSpecial::no).size(), 1u);
    ASSERT_EQ(tokenizer.warnings().size(), 1u);
    EXPECT_TRUE(says(tokenizer.warnings()[0], {"token 256", "<|im_end|>", "type 1", "type 3"}));
    // Qwen's vocabularies have </s> as a piece of HTML, which their published tokenizers do not cut out.
    EXPECT_FALSE(tokenizer.is_control(257));
    EXPECT_EQ(ids_of(tokenizer, "</s>").size(), 4u);
    EXPECT_TRUE(tokenizer.is_end_of_generation(257));
}

TEST(Tokenizer, WarnsWhereTheFileHasNoTypes) {
    const Tokenizer tokenizer =
        tokenizer_of(byte_vocabulary({{"<|im_end|>"}, {"<x>"}}).erase("tokenizer.ggml.token_type"));
    EXPECT_TRUE(tokenizer.is_control(256));
    EXPECT_FALSE(tokenizer.is_control(257));
    ASSERT_EQ(tokenizer.warnings().size(), 1u);
    EXPECT_TRUE(says(tokenizer.warnings()[0], {"tokenizer.ggml.token_type"}));
}

TEST(Tokenizer, HidesControlTokensUnlessAskedOrMarkingAChannel) {
    const Tokenizer tokenizer = tokenizer_of(
        byte_vocabulary({{"<c>", kControl}, {"<u>", kUserDefined}, {"<unk>", kUnknown}, {"<|channel|>", kControl}}));
    const Ids ids = {256, 257, 258, 259, *tokenizer.find("a")};
    EXPECT_EQ(tokenizer.decode(ids), "<u><|channel|>a");
    EXPECT_EQ(tokenizer.decode(ids, Tokenizer::ShowControl::yes), "<c><u><unk><|channel|>a");
    EXPECT_GT(ids_of(tokenizer, "<|channel|>", ParseSpecial::no).size(), 1u);  // shown, but no user may type it
}

// Falcon's digits are cut out of the stand-ins of bytes: that of 0xBD, a part of "\u00bd" and of "\u043d", is a number.
TEST(Tokenizer, CutsFalconsWordsWhereBytesLookLikeNumbers) {
    const std::vector<ExtraToken> pair = {{stand_in(0xC2) + stand_in(0xBD)}, {stand_in(0xD0) + stand_in(0xBD)}};
    const std::vector<std::string> merges = {stand_in(0xC2) + " " + stand_in(0xBD),
                                             stand_in(0xD0) + " " + stand_in(0xBD)};
    for (const auto& [text, bytes, merged] :
         {std::tuple("\u00bd", Ids{0xC2, 0xBD}, 256), {"\u043d", {0xD0, 0xBD}, 257}}) {
        EXPECT_EQ(ids_of(tokenizer_of(byte_vocabulary(pair, merges, "falcon")), text), bytes);
        EXPECT_EQ(ids_of(tokenizer_of(byte_vocabulary(pair, merges, "gpt-2")), text), (Ids{merged}));
    }
}

}  // namespace tokenizer_test
}  // namespace riftjit::models
