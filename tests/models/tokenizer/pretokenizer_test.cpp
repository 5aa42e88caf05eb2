#include "models/tokenizer/pretokenizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <set>

#include "host/utf8.h"
#include "models/tokenizer/pretokenizer_scanner.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace pretokenizer_test {

using namespace test;

std::vector<size_t> split(const Pretokenizer& pretokenizer, std::string_view text) {
    std::vector<size_t> ends;
    const auto done = pretokenizer.split(text, ends);
    check(done.has_value(), done ? "" : done.error().message);
    return ends;
}

std::vector<std::string> words(std::string_view pre, std::string_view text) {
    std::vector<std::string> words;
    size_t begin = 0;
    for (const size_t end : split(Pretokenizer(find_pretokenizer_rule(pre)->family), text)) {
        words.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

using Words = std::vector<std::string>;

// A text that exercises every branch: letters of several scripts, marks, numbers, spaces, invalid bytes.
std::string random_text(std::mt19937& random, size_t length) {
    static const std::vector<std::string> kAlphabet = {"a",
                                                       "B",
                                                       "s",
                                                       "T",
                                                       "LL",
                                                       "'",
                                                       "'s",
                                                       "'RE",
                                                       "1",
                                                       "12",
                                                       "½",
                                                       "Ⅻ",
                                                       "٣",
                                                       " ",
                                                       "  ",
                                                       "\t",
                                                       "\n",
                                                       "\r\n",
                                                       "\u3000",
                                                       "\u00a0",
                                                       "\u0085",
                                                       "\u180e",
                                                       "é",
                                                       "ß",
                                                       "ſ",
                                                       "Ж",
                                                       "中",
                                                       "の",
                                                       "한",
                                                       "ʰ",
                                                       "ª",
                                                       "ǅ",
                                                       "\u0301",
                                                       "\u3099",
                                                       "!",
                                                       "/",
                                                       "_",
                                                       "（",
                                                       "。",
                                                       "€",
                                                       "🙂",
                                                       "\u200d",
                                                       "\xff",
                                                       "\xc3",
                                                       "\xed\xa0\x80",
                                                       "\xf5\x80",
                                                       "\xef\xbf\xbf",
                                                       "\x01"};
    std::string text;
    for (size_t i = 0; i < length; ++i) text += kAlphabet[random() % kAlphabet.size()];
    return text;
}

bool is_byte_level(const PretokenizerRule& rule) { return rule.pieces == PieceForm::stand_ins; }

TEST(Pretokenizer, KnowsAllNames) {
    std::set<std::string_view> names, of_characters;
    for (const PretokenizerRule& rule : pretokenizer_rules())
        (is_byte_level(rule) ? names : of_characters).insert(rule.name);
    EXPECT_EQ(names.size(), 87u);
    EXPECT_EQ(of_characters,
              (std::set<std::string_view>{"gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"}));
    EXPECT_EQ(find_pretokenizer_rule("no-such-name"), nullptr);
}

// Another engine (Oniguruma, in Hugging Face's tokenizers) runs the expressions as they were published.
TEST(Pretokenizer, SplitsAsAnotherEngineDoes) {
    const nlohmann::json data = read_json("tests/data/tokenizers/splits.json");
    for (const auto& [name, cases] : data["lengths"].items()) {
        const PretokenizerRule* rule = find_pretokenizer_rule(name);
        ASSERT_NE(rule, nullptr) << name;
        for (const SplitEngine engine : {SplitEngine::fastest, SplitEngine::expressions}) {
            const Pretokenizer pretokenizer(rule->family, engine);
            for (size_t i = 0; i < cases.size(); ++i) {
                std::vector<size_t> expected;
                for (const size_t length : cases[i])
                    expected.push_back(length + (expected.empty() ? 0 : expected.back()));
                const auto text = data["texts"][i].get<std::string>();
                EXPECT_EQ(split(pretokenizer, text), expected) << name << ": " << data["texts"][i];
            }
        }
    }
}

TEST(Pretokenizer, EveryFamilyIsComparedWithAnotherEngine) {
    const nlohmann::json data = read_json("tests/data/tokenizers/splits.json");
    std::set<SplitFamily> compared;
    for (const auto& [name, cases] : data["lengths"].items()) compared.insert(find_pretokenizer_rule(name)->family);
    for (const PretokenizerRule& rule : pretokenizer_rules())
        if (is_byte_level(rule)) {
            EXPECT_TRUE(compared.contains(rule.family)) << rule.name;
        }
}

TEST(Pretokenizer, ScannersAgreeWithTheirExpressions) {
    std::mt19937 random(7);
    for (const char* name : {"qwen2", "qwen35", "llama-bpe", "gpt-2", "smollm"}) {
        const SplitFamily family = find_pretokenizer_rule(name)->family;
        ASSERT_NE(find_scanner(family), nullptr) << name;
        const Pretokenizer scanner(family), expressions(family, SplitEngine::expressions);
        for (int i = 0; i < 4000; ++i) {
            const std::string text = random_text(random, 1 + random() % 24);
            ASSERT_EQ(split(scanner, text), split(expressions, text)) << name << ": " << printable(text);
        }
    }
}

// The scanners' classes come from utf8proc 2.8 (Unicode 15), those of the expressions from PCRE2 10.42 (Unicode 14):
// these are the letters, marks and numbers that Unicode 15 added below the ideographs.
bool is_new_in_unicode_15(char32_t value) {
    constexpr std::pair<char32_t, char32_t> kAdded[] = {{0x1123F, 0x11241}, {0x11F00, 0x11F59}, {0x1342F, 0x13455},
                                                        {0x1B132, 0x1B155}, {0x1D2C0, 0x1D2D3}, {0x1DF25, 0x1DF2A},
                                                        {0x1E030, 0x1E08F}, {0x1E4D0, 0x1E4F9}};
    return std::ranges::any_of(kAdded, [&](const auto& r) { return value >= r.first && value <= r.second; });
}

TEST(Pretokenizer, ScannersClassifyEveryCodePointAsTheirExpressionsDo) {
    if (std::string_view(utf8proc_unicode_version()) != "15.0.0") GTEST_SKIP() << "wants utf8proc with Unicode 15.0";
    const Pretokenizer scanner(SplitFamily::qwen2), expressions(SplitFamily::qwen2, SplitEngine::expressions);
    for (char32_t value = 1; value < 0x20000; ++value) {  // beyond are ideographs only
        if (value >= 0xD800 && value < 0xE000) continue;
        std::string text = "a";
        append_utf8(text, value);
        text += "!";
        append_utf8(text, value);
        text += " x";
        if (split(scanner, text) != split(expressions, text)) {
            EXPECT_TRUE(is_new_in_unicode_15(value)) << fmt::format("U+{:04X}", uint32_t{value});
        }
    }
}

TEST(Pretokenizer, WordsAreTheTextForEveryFamily) {
    std::mt19937 random(11);
    for (const PretokenizerRule& rule : pretokenizer_rules()) {
        const Pretokenizer pretokenizer(rule.family);
        for (int i = 0; i < 50; ++i) {
            const std::string text = random_text(random, 1 + random() % 40);
            const std::vector<size_t> ends = split(pretokenizer, text);
            ASSERT_FALSE(ends.empty());
            EXPECT_EQ(ends.back(), text.size()) << rule.name;
            EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end(), std::less_equal{})) << rule.name;
        }
        EXPECT_TRUE(split(pretokenizer, "").empty());
    }
}

TEST(Pretokenizer, CutsLinesAndWordsForVocabulariesOfCharacters) {
    EXPECT_EQ(split(Pretokenizer(SplitFamily::lines), "a b\n\nc\xff\n"), (std::vector<size_t>{3, 5, 7, 8}));
    EXPECT_EQ(split(Pretokenizer(SplitFamily::spaced), "a  b\u3000c"), (std::vector<size_t>{1, 3, 4, 7, 8}));
}

TEST(Pretokenizer, AnInvalidByteIsOneCodePointOfNoClass) {
    for (const char* pre : {"qwen2", "gpt-2", "deepseek-v3", "gpt-4o"}) {  // scanners and expressions
        EXPECT_EQ(words(pre,
                        "ab\xff"
                        "cd")
                      .size(),
                  words(pre,
                        "ab\u0378"
                        "cd")
                      .size())
            << pre;  // unassigned
        EXPECT_EQ(words(pre, "\xe2\x82"), (Words{"\xe2\x82"})) << pre;
    }
    EXPECT_EQ(words("qwen2", "ab \xff\xfe cd"), (Words{"ab", " \xff\xfe", " cd"}));
    EXPECT_EQ(words("qwen2",
                    "ab\xff"
                    "cd"),
              (Words{"ab",
                     "\xff"
                     "cd"}));
    EXPECT_EQ(words("seed-coder", "ab \xff\xfe cd\xc3"), (Words{"ab", " \xff\xfe", " cd", "\xc3"}));
}

TEST(Pretokenizer, KeepsOneSpaceForTheNextWord) {
    EXPECT_EQ(words("qwen2", "   x"), (Words{"  ", " x"}));
    EXPECT_EQ(words("qwen2", "x   "), (Words{"x", "   "}));
    EXPECT_EQ(words("smollm", "x   1"), (Words{"x", "   ", "1"}));  // numbers are cut out first
    EXPECT_EQ(words("gpt-2", "x   1"), (Words{"x", "  ", " 1"}));
}

TEST(Pretokenizer, CutsNumbersAsItsFamilyDoes) {
    EXPECT_EQ(words("qwen2", "1234567"), (Words{"1", "2", "3", "4", "5", "6", "7"}));
    EXPECT_EQ(words("llama-bpe", "1234567"), (Words{"123", "456", "7"}));
    EXPECT_EQ(words("gpt-2", "1234567"), (Words{"1234567"}));
    EXPECT_EQ(words("afmoe", "1234567"), (Words{"1", "234", "567"}));
    EXPECT_EQ(words("tiny_aya", "1234567"), (Words{"1", "234", "567"}));
    EXPECT_EQ(words("tiny_aya", "1234567a"), (Words{"123", "456", "7", "a"}));
    EXPECT_EQ(words("superbpe", "½1234567"), (Words{"½1", "234", "567"}));
}

// Of U+180E (no white space since Unicode 6.3) and the long s (an s without regard to case) engines think differently.
TEST(Pretokenizer, FollowsUnicodeInRareCharacters) {
    EXPECT_EQ(words("seed-coder", "x\u180ey"), (Words{"x", "\u180ey"}));
    EXPECT_EQ(words("qwen2", "it'\u017f"), (Words{"it", "'\u017f"}));
    EXPECT_EQ(words("gpt-2", "it'\u017f"), (Words{"it", "'", "\u017f"}));  // lower case only
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Long runs, each before something that their end could depend on. A quadratic search takes 10^9 steps and some
// seconds, a linear one hundredths of a second, tenths with sanitizers. Processor time: the machine may be busy.
TEST(Pretokenizer, TakesLinearTimeForEveryFamily) {
    std::set<SplitFamily> seen;
    for (const PretokenizerRule& rule : pretokenizer_rules()) {
        if (!seen.insert(rule.family).second) continue;
        const Pretokenizer pretokenizer(rule.family, SplitEngine::expressions);
        for (const char* unit : {" ", "a", "\n", "1", "a ", "日A", "\u0301", "IMGIMGA", "\xff"}) {
            std::string text;
            for (const char* ending : {"x", "1", "一"}) {
                for (int i = 0; i < 30000; ++i) text += unit;
                text += ending;
            }
            const double start = processor_seconds();
            EXPECT_EQ(split(pretokenizer, text).back(), text.size());
            EXPECT_LT(processor_seconds() - start, 1.0) << rule.name << ", " << printable(unit);
        }
    }
}

}  // namespace pretokenizer_test
}  // namespace riftjit::models
