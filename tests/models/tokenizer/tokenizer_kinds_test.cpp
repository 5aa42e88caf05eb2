// Kinds of vocabularies besides byte-level BPE, on small ones made here: what each says a text is, against the
// definition written out in its slow form, and how much time long texts take. Published vocabularies:
// tokenizer_peers_test.cpp.
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <random>

#include "models/tokenizer/tokenizer.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace tokenizer_kinds_test {

using namespace test;
using Ids = std::vector<int32_t>;

Ids encoded(const Tokenizer& tokenizer, std::string_view text, AddBos add_bos,
            ParseSpecial parse_special = ParseSpecial::yes) {
    const auto ids = tokenizer.encode(text, parse_special, add_bos);
    check(ids.has_value(), ids ? "" : ids.error().message);
    return *ids;
}

std::string pieces_of(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    for (const int32_t id : ids) text += (text.empty() ? "" : "|") + std::string(tokenizer.piece(id));
    return text;
}
std::string cut(const Tokenizer& tokenizer, std::string_view text) {
    return pieces_of(tokenizer, encoded(tokenizer, text, AddBos::no));
}

// Bytes that are valid UTF-8 for the most part: letters of the small vocabularies, spaces, and what they lack.
std::string random_text(std::mt19937_64& random, size_t longest) {
    static const std::vector<std::string> parts = {"a",  "b",      "c",      "ab",     "abc",      " ",       "  ",
                                                   "\n", "\u00e9", "\u20ac", "\xff",   "\u2581",   "<s>",     "</s>",
                                                   "x",  "\u4e2d", "0",      "<0x41>", "\xe2\x96", "\xcc\x81"};
    std::string text;
    for (size_t count = random() % longest; count > 0; --count) text += parts[random() % parts.size()];
    return text;
}

double seconds_for(const Tokenizer& tokenizer, const std::string& part, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += part;
    const std::clock_t start = std::clock();
    encoded(tokenizer, text, AddBos::no);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// A quadratic loop would take hours.
void expect_linear_time(const Tokenizer& tokenizer) {
    for (const char* part : {"a", " ", "ab", "\n", "1", "\xff", "\u00e9", "\u0301", "the quick brown fox "})
        EXPECT_LT(seconds_for(tokenizer, part, 1'000'000), 20.0) << part;
}

// ---- SPM ----

TEST(SpmTokenizer, MergesByScoreAndSpellsTheRest) {
    const Tokenizer tokenizer = tokenizer_of(sentence_vocabulary(
        "llama", {{"\u2581", -1}, {"a", -2}, {"b", -3}, {"ab", -4}, {"\u2581a", -5}, {"bb", -3.5f}, {"\u2581ab", -9}}));
    EXPECT_EQ(tokenizer.kind(), "SPM");
    EXPECT_EQ(tokenizer.pre(), "");
    EXPECT_EQ(cut(tokenizer, "ab"), " ab");
    EXPECT_EQ(cut(tokenizer, "abb"), " a|bb");  // bb has the higher score
    EXPECT_EQ(cut(tokenizer, "a\u20ac"), " a|\xe2|\x82|\xac");
    EXPECT_EQ(cut(tokenizer, "a b"), " a| |b");
    EXPECT_EQ(cut(tokenizer, ""), "");
    EXPECT_EQ(cut(tokenizer, "<0x41>"), " |<|0|x|4|1|>");  // a byte's name in a text is text
}

TEST(SpmTokenizer, BeginsEachTextAndWhatFollowsASpecialTokenWithASpace) {
    GgufBuilder builder = sentence_vocabulary("llama", {{"\u2581", -1}, {"a", -2}, {"\u2581a", -3}, {"<u>", 0, 4}});
    builder.set("tokenizer.ggml.bos_token_id", u32(1)).set("tokenizer.ggml.eos_token_id", u32(2));
    const Tokenizer tokenizer = tokenizer_of(builder);
    const int32_t word = *tokenizer.find("\u2581a"), letter = *tokenizer.find("a"), user = *tokenizer.find("<u>");
    EXPECT_TRUE(tokenizer.adds_bos());
    EXPECT_FALSE(tokenizer.adds_end());
    EXPECT_EQ(encoded(tokenizer, "a</s>a<u><u>a", AddBos::and_end), (Ids{1, word, 2, word, user, user, word}));
    EXPECT_EQ(encoded(tokenizer, "", AddBos::yes), (Ids{1}));
    EXPECT_EQ(encoded(tokenizer, "a<u>", AddBos::no, ParseSpecial::no), (Ids{word, user}));
    EXPECT_EQ(tokenizer.decode(Ids{1, word, word}), "a a");
    builder.set("tokenizer.ggml.add_space_prefix", boolean(0)).set("tokenizer.ggml.add_bos_token", boolean(0));
    builder.set("tokenizer.ggml.add_eos_token", boolean(1));
    const Tokenizer without = tokenizer_of(builder);
    EXPECT_EQ(encoded(without, "a a", AddBos::and_end), (Ids{letter, word, 2}));
    EXPECT_EQ(encoded(without, "a a", AddBos::yes), (Ids{letter, word}));
    EXPECT_EQ(without.decode(Ids{word}), " a");
}

TEST(SpmTokenizer, CollapsesSpacesWhereTheFileSaysSo) {
    const auto builder = sentence_vocabulary("llama", {{"\u2581", -1}, {"a", -2}});
    const Tokenizer kept = tokenizer_of(builder);
    EXPECT_EQ(cut(kept, "  a  a "), " | | |a| | |a| ");
    const Tokenizer collapsed =
        tokenizer_of(GgufBuilder(builder).set("tokenizer.ggml.remove_extra_whitespaces", boolean(1)));
    EXPECT_EQ(cut(collapsed, "  a  a "), " |a| |a");
    EXPECT_EQ(cut(collapsed, "   "), "");
}

TEST(SpmTokenizer, TakesUnusedTokensApartAgain) {
    const Tokenizer tokenizer = tokenizer_of(
        sentence_vocabulary("llama", {{"a", -1}, {"b", -1}, {"c", -1}, {"ab", -2, 5}, {"abc", -3}, {"cab", -1, 5}}));
    EXPECT_EQ(cut(tokenizer, "abc"), "\xe2|\x96|\x81|abc");  // there is no token for a space
    EXPECT_EQ(cut(tokenizer, "ab"), "\xe2|\x96|\x81|a|b");
}

TEST(SpmTokenizer, UsesTheUnknownTokenWhereThereAreNoBytes) {
    const Tokenizer tokenizer = tokenizer_of(sentence_vocabulary("llama", {{"\u2581", -1}, {"a", -2}}, WithBytes::no)
                                                 .set("tokenizer.ggml.unknown_token_id", u32(0)));
    const int32_t space = *tokenizer.find("\u2581"), a = *tokenizer.find("a");
    EXPECT_EQ(encoded(tokenizer, "axya z", AddBos::no), (Ids{space, a, 0, a, space, 0}));
}

// The definition: characters; of all neighbours whose texts join to a token, those of the highest score, the leftmost.
std::vector<std::string> merge_slowly(std::vector<std::string> symbols, const std::map<std::string, float>& scores) {
    for (;;) {
        size_t best = symbols.size();
        float best_score = 0;
        for (size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto found = scores.find(symbols[i] + symbols[i + 1]);
            if (found == scores.end() || (best < symbols.size() && found->second <= best_score)) continue;
            best = i;
            best_score = found->second;
        }
        if (best == symbols.size()) return symbols;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

std::vector<std::string> characters_of(std::string_view text) {
    std::vector<std::string> characters;
    for (const char* position = text.data(); position < text.data() + text.size();) {
        const size_t length = decode_code_point(position, text.data() + text.size()).length_bytes;
        characters.emplace_back(position, length);
        position += length;
    }
    return characters;
}

std::string with_marks(std::string_view text) {
    std::string marked;
    for (const char c : text) marked += c == ' ' ? "\u2581" : std::string(1, c);
    return marked;
}

TEST(SpmTokenizer, FollowsTheDefinitionOnRandomVocabulariesAndTexts) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 40; ++round) {
        std::map<std::string, float> scores;
        while (scores.size() < 25) {
            const std::string text = with_marks(random_text(random, 6));
            if (!text.empty() && !text.contains('<') && valid_utf8_prefix(text) == text.size())
                scores[text] = static_cast<float>(random() % 8) - 4;  // with ties
        }
        std::vector<ScoredToken> tokens;
        for (const auto& [text, score] : scores) tokens.push_back({text, score});
        const Tokenizer tokenizer = tokenizer_of(sentence_vocabulary("llama", tokens));
        for (int i = 0; i < 200; ++i) {
            const std::string text = random_text(random, 30);
            if (text.empty()) continue;
            Ids expected;
            for (const std::string& symbol : merge_slowly(characters_of(with_marks(" " + text)), scores)) {
                if (scores.contains(symbol)) {
                    expected.push_back(*tokenizer.find(symbol));
                } else {
                    for (const char c : symbol) expected.push_back(3 + static_cast<uint8_t>(c));
                }
            }
            ASSERT_EQ(encoded(tokenizer, text, AddBos::no, ParseSpecial::no), expected) << printable(text);
        }
    }
}

// Every byte string comes back, but for U+2581, which is what a space is written as.
TEST(SpmTokenizer, GivesBackEveryText) {
    const Tokenizer tokenizer =
        tokenizer_of(sentence_vocabulary("llama", {{"\u2581", -1}, {"a", -2}, {"ab", -3}, {"\u2581\u2581", -2}}));
    std::mt19937_64 random(11);
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (size_t count = random() % 20; count > 0; --count) text += static_cast<char>(random());
        if (text.contains("\u2581")) continue;
        EXPECT_EQ(tokenizer.decode(encoded(tokenizer, text, AddBos::no, ParseSpecial::no)), text) << printable(text);
    }
}

TEST(SpmTokenizer, TakesLittleMoreThanLinearTime) {
    const std::vector<ScoredToken> tokens = {{"\u2581", -1}, {"a", -1},
                                             {"aa", -2},     {"aaaa", -3},
                                             {"ab", -2},     {"\u2581\u2581", -3},
                                             {"abab", -4},   {"\u2581\u2581\u2581\u2581", -5}};
    expect_linear_time(tokenizer_of(sentence_vocabulary("llama", tokens)));
}

// "Phi-3 strips whitespace after special tokens", which files do not say.
TEST(SpmTokenizer, StripsBehindSpecialTokensOfPhi3) {
    GgufBuilder builder = sentence_vocabulary("llama", {{"\u2581", -1}, {"a", -2}, {"<|end|>", 0, 3}});
    EXPECT_EQ(cut(tokenizer_of(builder), "a<|end|>\n a"), " |a|<|end|>| |\n| |a");
    builder.set("general.architecture", string("phi3"));
    EXPECT_EQ(cut(tokenizer_of(builder), "a<|end|>\n a<s> a"), " |a|<|end|>| |a|<s>| | |a");
}

// ---- UGM ----

TEST(UgmTokenizer, TakesTheCutWhoseScoresAddUpToMost) {
    GgufBuilder builder = sentence_vocabulary(
        "t5", {{"\u2581", -2}, {"a", -3}, {"b", -3}, {"ab", -4}, {"\u2581a", -4}, {"bb", -3}, {"\u2581abb", -20}},
        WithBytes::no);
    builder.set("tokenizer.ggml.unknown_token_id", u32(0)).set("tokenizer.ggml.eos_token_id", u32(2));
    const Tokenizer tokenizer = tokenizer_of(builder);
    EXPECT_EQ(tokenizer.kind(), "UGM");
    EXPECT_EQ(cut(tokenizer, "abb"), " a|bb");
    EXPECT_EQ(cut(tokenizer, "ab"), " |ab");  // -6 against -7
    EXPECT_EQ(cut(tokenizer, "a\u20ac\u20acb"), " a|<unk>|b");
    EXPECT_TRUE(tokenizer.adds_end());
    EXPECT_FALSE(tokenizer.adds_bos());
    EXPECT_EQ(encoded(tokenizer, "", AddBos::and_end), (Ids{2}));
    EXPECT_EQ(tokenizer.decode(encoded(tokenizer, "ab bb", AddBos::and_end)), "ab bb");
}

TEST(UgmTokenizer, FollowsTheDefinitionOnRandomVocabulariesAndTexts) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 30; ++round) {
        std::map<std::string, float> scores = {{"\u2581", -3.0f}};
        while (scores.size() < 20) {
            const std::string text = with_marks(random_text(random, 5));
            if (!text.empty() && !text.contains('<') && valid_utf8_prefix(text) == text.size())
                scores[text] = -static_cast<float>(random() % 4096) / 512;
        }
        std::vector<ScoredToken> tokens;
        float lowest = 0;
        for (const auto& [text, score] : scores) {
            tokens.push_back({text, score});
            lowest = std::min(lowest, score);
        }
        const Tokenizer tokenizer = tokenizer_of(
            sentence_vocabulary("t5", tokens, WithBytes::no).set("tokenizer.ggml.unknown_token_id", u32(0)));
        for (int i = 0; i < 100; ++i) {
            std::string text = random_text(random, 20);
            if (text.empty() || valid_utf8_prefix(text) != text.size()) continue;
            // The best sum of every beginning, over whole characters.
            const std::string marked = with_marks(" " + text);
            const std::vector<std::string> characters = characters_of(marked);
            std::vector<double> best(characters.size() + 1, -1e300);
            best[0] = 0;
            for (size_t begin = 0; begin < characters.size(); ++begin) {
                std::string part;
                for (size_t end = begin + 1; end <= characters.size(); ++end) {
                    part += characters[end - 1];
                    const auto found = scores.find(part);
                    if (found != scores.end()) best[end] = std::max(best[end], best[begin] + found->second);
                    if (end == begin + 1 && found == scores.end())
                        best[end] = std::max(best[end], best[begin] + lowest - 10);
                }
            }
            double sum = 0;
            std::string joined;
            for (const int32_t id : encoded(tokenizer, text, AddBos::no, ParseSpecial::no)) {
                if (id == 0) {
                    sum = 1e300;  // how many characters it stands for is not known here
                } else {
                    const std::string piece = with_marks(tokenizer.piece(id));
                    sum += scores.at(piece);
                    joined += piece;
                }
            }
            if (sum > 1e200) continue;
            EXPECT_EQ(joined, marked);
            EXPECT_NEAR(sum, best.back(), 1e-9) << printable(text);
        }
    }
}

TEST(UgmTokenizer, TakesLinearTime) {
    expect_linear_time(
        tokenizer_of(sentence_vocabulary(
                         "t5", {{"\u2581", -1}, {"a", -1}, {"aa", -2}, {"ab", -2}, {"\u2581\u2581", -3}}, WithBytes::no)
                         .set("tokenizer.ggml.unknown_token_id", u32(0))));
}

// A map of its own: "ab" becomes "c", and nothing else changes. The double array is worked out by hand.
std::string tiny_charsmap() {
    constexpr uint32_t kHasValue = 1 << 8, kIsValue = 1u << 31;
    std::vector<uint32_t> units(512, 0);
    units[0] = 256u << 10;                  // root: children at 256 ^ byte
    units[256 ^ 'a'] = 'a' | (128u << 10);  // children at (256 ^ 'a') ^ 128 ^ byte
    const uint32_t below = 256 ^ 'a' ^ 128;
    units[below ^ 'b'] = 'b' | kHasValue | (1u << 10);  // the value lies beside it
    units[below ^ 'b' ^ 1] = kIsValue | 0;              // offset 0 of the replacements
    std::string map = raw(static_cast<uint32_t>(units.size() * 4));
    for (const uint32_t unit : units) map += raw(unit);
    return map + std::string("c\0", 2);
}

TEST(UgmTokenizer, ReplacesWhatTheMapSays) {
    GgufBuilder builder =
        sentence_vocabulary("t5", {{"\u2581", -1}, {"a", -1}, {"b", -1}, {"c", -1}, {"\ufffd", -1}}, WithBytes::no)
            .set("tokenizer.ggml.unknown_token_id", u32(0));
    EXPECT_EQ(cut(tokenizer_of(builder), "aab"), " |a|a|b");
    const std::string map = tiny_charsmap();
    builder.set("tokenizer.ggml.precompiled_charsmap", array_of(GgufType::u8, map.size(), map));
    EXPECT_EQ(cut(tokenizer_of(builder), "aab"), " |a|c");
    EXPECT_EQ(cut(tokenizer_of(builder), "ba"), " |b|a");
    EXPECT_EQ(cut(tokenizer_of(builder), "a\xff"), " |a|\ufffd");
}

TEST(UgmTokenizer, RefusesDamagedMaps) {
    const std::string map = tiny_charsmap();
    const auto message = [](const std::string& bytes, GgufType type = GgufType::u8) {
        const auto tokenizer =
            open_tokenizer(sentence_vocabulary("t5", {{"\u2581", -1}}, WithBytes::no)
                               .set("tokenizer.ggml.unknown_token_id", u32(0))
                               .set("tokenizer.ggml.precompiled_charsmap",
                                    array_of(type, type == GgufType::i32 ? bytes.size() / 4 : bytes.size(), bytes)));
        return tokenizer ? "" : tokenizer.error().message;
    };
    EXPECT_EQ(message(map), "");
    EXPECT_EQ(message(map, GgufType::i8), "");
    EXPECT_TRUE(says(message(map.substr(0, 3)), {"precompiled_charsmap", "with 3 bytes", "no room"}));
    EXPECT_TRUE(says(message(map.substr(0, 100)), {"precompiled_charsmap", "2048 bytes"}));
    EXPECT_TRUE(says(message(map.substr(0, map.size() - 1)), {"precompiled_charsmap", "does not end in NUL"}));
    EXPECT_TRUE(says(message(map, GgufType::i32), {"precompiled_charsmap", "array of i32"}));
    std::string outside = map;
    const size_t value = 4 + 4 * (256 ^ 'a' ^ 128 ^ 'b' ^ 1);
    outside.replace(value, 4, raw(0x80000002u));
    EXPECT_TRUE(says(message(outside), {"precompiled_charsmap", "a value outside"}));
    std::mt19937_64 random(3);
    for (int i = 0; i < 300; ++i) {  // whatever else is wrong, nothing is read outside
        std::string damaged = map;
        for (int k = 0; k < 8; ++k) damaged[4 + random() % (damaged.size() - 5)] = static_cast<char>(random());
        const auto tokenizer = open_tokenizer(
            sentence_vocabulary("t5", {{"\u2581", -1}, {"a", -1}}, WithBytes::no)
                .set("tokenizer.ggml.unknown_token_id", u32(0))
                .set("tokenizer.ggml.precompiled_charsmap", array_of(GgufType::u8, damaged.size(), damaged)));
        if (tokenizer) encoded(*tokenizer, "aab abab \xff", AddBos::no);
    }
}

// ---- WPM ----

GgufBuilder word_pieces(const std::vector<std::string>& more) {
    std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
    std::vector<int32_t> types(4, 3);
    for (const std::string& text : more) {
        tokens.push_back(text);
        types.push_back(1);
    }
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", string("bert"))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.token_type", i32_array(types))
        .set("tokenizer.ggml.unknown_token_id", u32(1))
        .set("tokenizer.ggml.cls_token_id", u32(2))
        .set("tokenizer.ggml.seperator_token_id", u32(3));
    return builder;
}

TEST(WpmTokenizer, CutsWordsIntoTheLongestPieces) {
    const Tokenizer tokenizer = tokenizer_of(
        word_pieces({"\u2581un", "\u2581unaff", "aff", "able", "\u2581,", "\u2581\u4e2d", "\u2581\u00f8"}));
    EXPECT_EQ(tokenizer.kind(), "WPM");
    EXPECT_EQ(cut(tokenizer, "unaffable"), " unaff|able");
    EXPECT_EQ(cut(tokenizer, "unable,un"), " un|able| ,| un");
    EXPECT_EQ(cut(tokenizer, "unx un"), "[UNK]| un");  // a word that is not covered is one token
    EXPECT_EQ(cut(tokenizer, "un\u4e2d\u4e2dun"), " un| \u4e2d| \u4e2d| un");
    EXPECT_EQ(cut(tokenizer, "UN\u0301A\u00e0ble"), "[UNK]");
    EXPECT_EQ(cut(tokenizer, "\u00dcN\u0301 \u00d8\u0001"), " un| \u00f8");
    EXPECT_EQ(cut(tokenizer, " \t\n"), "");
    EXPECT_EQ(encoded(tokenizer, "un", AddBos::and_end), (Ids{2, *tokenizer.find("\u2581un"), 3}));
    EXPECT_EQ(encoded(tokenizer, "", AddBos::and_end), (Ids{2, 3}));
    EXPECT_EQ(encoded(tokenizer, "[SEP]un", AddBos::no), (Ids{3, *tokenizer.find("\u2581un")}));
    EXPECT_EQ(tokenizer.decode(encoded(tokenizer, "unable, un", AddBos::and_end)), "unable , un");
}

TEST(WpmTokenizer, KeepsCapitalsAndAccentsWhereTheFileSaysSo) {
    GgufBuilder builder = word_pieces({"\u2581U", "\u2581u", "\u0308", "\u2581\u00fc", "\u2581i", "\u0307"});
    EXPECT_EQ(cut(tokenizer_of(builder), "U \u00dc"), " u| u");
    builder.set("tokenizer.ggml.normalizer.strip_accents", boolean(0));
    EXPECT_EQ(cut(tokenizer_of(builder), "U \u00dc \u0130"), " u| \u00fc| i|\u0307");
    builder.set("tokenizer.ggml.normalizer.lowercase", boolean(0));
    EXPECT_EQ(cut(tokenizer_of(builder), "U \u00fc"), " U| \u00fc");
}

TEST(WpmTokenizer, TakesWordsOfMoreThanAHundredCharactersForUnknown) {
    const Tokenizer tokenizer = tokenizer_of(word_pieces({"\u2581a", "a"}));
    EXPECT_EQ(encoded(tokenizer, std::string(100, 'a'), AddBos::no).size(), 100u);
    EXPECT_EQ(encoded(tokenizer, std::string(101, 'a'), AddBos::no), (Ids{1}));
    expect_linear_time(tokenizer);
}

TEST(WpmTokenizer, WantsAnUnknownToken) {
    const auto refused = open_tokenizer(word_pieces({}).erase("tokenizer.ggml.unknown_token_id"));
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(says(refused.error().message, {"tokenizer.ggml.unknown_token_id is not set"}));
}

// ---- RWKV ----

GgufBuilder escaped_vocabulary(const std::vector<std::string>& more) {
    std::vector<std::string> tokens = {"<s>"};
    std::vector<int32_t> types = {3};
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("\\x{:02x}", byte));
    tokens.insert(tokens.end(), more.begin(), more.end());
    types.resize(tokens.size(), 1);
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", string("rwkv"))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.token_type", i32_array(types));
    return builder;
}

TEST(RwkvTokenizer, TakesTheLongestTokenAtEachPlace) {
    const Tokenizer tokenizer =
        tokenizer_of(escaped_vocabulary({"ab", "abcd", "\\n\\n", "\\t\\'\\\\", "\\xe4\\xb8\\xad", "c\\r"}));
    EXPECT_EQ(tokenizer.kind(), "RWKV");
    EXPECT_EQ(cut(tokenizer, "abcabcd\n\n\n\t'\\"), "ab|c|abcd|\n\n|\n|\t'\\");
    EXPECT_EQ(cut(tokenizer, "\u4e2d\xe4\xb8"), "\u4e2d|\xe4|\xb8");
    EXPECT_EQ(encoded(tokenizer, "<s>ab", AddBos::no), (Ids{0, 257}));
    EXPECT_FALSE(tokenizer.adds_bos());
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
        const std::string text = random_text(random, 30);
        EXPECT_EQ(tokenizer.decode(encoded(tokenizer, text, AddBos::no, ParseSpecial::no)), text);
    }
    expect_linear_time(tokenizer);
}

TEST(RwkvTokenizer, RefusesEscapesThatAreNone) {
    for (const char* text : {"a\\", "\\x4", "\\xzz", "\\x"}) {
        const auto refused = open_tokenizer(escaped_vocabulary({text}));
        ASSERT_FALSE(refused.has_value()) << text;
        EXPECT_TRUE(says(refused.error().message, {"tokenizer.ggml.tokens", "token 257", "escape"}));
    }
}

// ---- PLaMo 2 ----

TEST(Plamo2Tokenizer, FollowsTheDefinitionOnRandomVocabulariesAndTexts) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 30; ++round) {
        std::map<std::string, float> scores;
        while (scores.size() < 20) {
            const std::string text = random_text(random, 5);
            if (!text.empty() && !text.contains('<') && valid_utf8_prefix(text) == text.size())
                scores[text] = -static_cast<float>(random() % 4096) / 512;
        }
        std::vector<ScoredToken> tokens;
        for (const auto& [text, score] : scores) tokens.push_back({text, score});
        const Tokenizer tokenizer = tokenizer_of(sentence_vocabulary("plamo2", tokens));
        EXPECT_EQ(tokenizer.kind(), "PLaMo 2");
        for (int i = 0; i < 100; ++i) {
            const std::string text = random_text(random, 20);
            const std::vector<std::string> characters = characters_of(text);
            std::vector<int64_t> best(characters.size() + 1, INT64_MIN / 2);  // from each place to the end
            best.back() = 0;
            for (size_t begin = characters.size(); begin-- > 0;) {
                best[begin] = best[begin + 1] - 10'000'000;
                std::string part;
                for (size_t end = begin + 1; end <= characters.size(); ++end) {
                    part += characters[end - 1];
                    if (const auto found = scores.find(part); found != scores.end())
                        best[begin] = std::max(best[begin], best[end] + std::lround(found->second * 1e4));
                }
            }
            const Ids ids = encoded(tokenizer, text, AddBos::no, ParseSpecial::no);
            EXPECT_EQ(tokenizer.decode(ids), text);
            int64_t sum = 0;
            size_t spelled = 0;
            for (const int32_t id : ids) {
                if (const auto found = scores.find(std::string(tokenizer.piece(id)));
                    id >= 259 && found != scores.end())
                    sum += std::lround(found->second * 1e4);
                else
                    ++spelled;
            }
            if (spelled == 0) {
                EXPECT_EQ(sum, best[0]) << printable(text);
            }
        }
        if (round == 0) expect_linear_time(tokenizer);
    }
}

// ---- characters ----

TEST(CharacterTokenizer, MergesCharactersAndSpellsTheRest) {
    GgufBuilder builder = sentence_vocabulary(
        "gemma4", {{"\u2581", 0}, {"a", 0}, {"b", 0}, {"ab", 0}, {"\u2581ab", 0}, {"\n", 0}, {"\n\n", 0}});
    builder.erase("tokenizer.ggml.scores")
        .set("tokenizer.ggml.merges", string_array({"a b", "\u2581 ab"}))
        .set("tokenizer.ggml.bos_token_id", u32(1));
    const Tokenizer tokenizer = tokenizer_of(builder);
    EXPECT_EQ(tokenizer.pre(), "gemma4");
    EXPECT_EQ(cut(tokenizer, "ab ab\n\na\u00e9\xff"), "ab| ab|\n\n|a|\xc3|\xa9|\xff");
    EXPECT_EQ(encoded(tokenizer, "a", AddBos::yes), (Ids{1, *tokenizer.find("a")}));
    const Tokenizer forced = tokenizer_of(builder.set("tokenizer.ggml.add_bos_token", boolean(0)));
    EXPECT_TRUE(forced.adds_bos());
    ASSERT_EQ(forced.warnings().size(), 1u);
    EXPECT_TRUE(says(forced.warnings()[0], {"add_bos_token is false", "gemma4"}));
    expect_linear_time(tokenizer);
    for (const char* pre : {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}) {
        builder.set("tokenizer.ggml.model", string("gpt2")).set("tokenizer.ggml.pre", string(pre));
        EXPECT_EQ(cut(tokenizer_of(builder), "ab ab"), "ab| ab") << pre;
    }
}

TEST(CharacterTokenizer, DropsSpacesWherePiecesAreWords) {
    GgufBuilder builder = sentence_vocabulary("whitespace", {{"a", 0}, {"b", 0}, {"ab", 0}}, WithBytes::no);
    builder.erase("tokenizer.ggml.scores").set("tokenizer.ggml.merges", string_array({"a b"}));
    const Tokenizer tokenizer = tokenizer_of(builder);
    EXPECT_EQ(cut(tokenizer, "ab  a\u3000b\n"), "ab|a|b");
    ByteSet left_out;
    EXPECT_EQ(tokenizer.encode("aAb", ParseSpecial::no, AddBos::no, &left_out)->size(), 1u);
    EXPECT_TRUE(left_out['A']);
    EXPECT_EQ(cut(tokenizer_of(builder.set("tokenizer.ggml.normalizer.lowercase", boolean(1))), "A B AB"), "a|b|ab");
}

}  // namespace tokenizer_kinds_test
}  // namespace riftjit::models
