#include "host/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace riftjit {
namespace utf8_test {

std::vector<char32_t> code_points(std::string_view text) {
    std::vector<char32_t> values;
    for (const char* position = text.data(); position < text.data() + text.size();) {
        const CodePoint code_point = decode_code_point(position, text.data() + text.size());
        values.push_back(code_point.value);
        position += code_point.length_bytes;
    }
    return values;
}

using CodePoints = std::vector<char32_t>;
constexpr char32_t kBad = kInvalidByte;

TEST(Utf8, DecodesWhatItEncodes) {
    for (char32_t value = 0; value < 0x110000; ++value) {
        if (value >= 0xD800 && value < 0xE000) continue;
        std::string text;
        append_utf8(text, value);
        ASSERT_EQ(code_points(text), (CodePoints{value}));
        ASSERT_EQ(valid_utf8_prefix(text), text.size());
    }
}

// Unicode standard, table 3-7: the ill-formed sequences next to each border of the well-formed ones.
TEST(Utf8, TakesEachByteOfAnIllFormedSequenceAlone) {
    EXPECT_EQ(code_points("\x80"), (CodePoints{kBad}));
    EXPECT_EQ(code_points("\xc0\x80"), (CodePoints{kBad, kBad}));                      // over-long
    EXPECT_EQ(code_points("\xc1\xbf"), (CodePoints{kBad, kBad}));                      // over-long
    EXPECT_EQ(code_points("\xe0\x9f\xbf"), (CodePoints{kBad, kBad, kBad}));            // over-long
    EXPECT_EQ(code_points("\xed\xa0\x80"), (CodePoints{kBad, kBad, kBad}));            // surrogate
    EXPECT_EQ(code_points("\xf0\x8f\xbf\xbf"), (CodePoints{kBad, kBad, kBad, kBad}));  // over-long
    EXPECT_EQ(code_points("\xf4\x90\x80\x80"), (CodePoints{kBad, kBad, kBad, kBad}));  // beyond U+10FFFF
    EXPECT_EQ(code_points("\xf5\x80\x80\x80"), (CodePoints{kBad, kBad, kBad, kBad}));
    EXPECT_EQ(code_points("\xc3"), (CodePoints{kBad}));                  // cut
    EXPECT_EQ(code_points("\xe2\x82z"), (CodePoints{kBad, kBad, 'z'}));  // cut
    EXPECT_EQ(code_points("\xc3\xc3\xa9"), (CodePoints{kBad, 0xE9}));
}

TEST(Utf8, FindsTheFirstInvalidByte) {
    EXPECT_EQ(valid_utf8_prefix(""), 0u);
    EXPECT_EQ(valid_utf8_prefix("plain text, longer than eight bytes"), 35u);
    EXPECT_EQ(valid_utf8_prefix("plain text, \xe2\x82\xac and \xff"), 20u);
    EXPECT_EQ(valid_utf8_prefix("12345678\xe2\x82"), 8u);
}

TEST(Utf8Stream, HoldsBackWhatMayStillBecomeACharacter) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("a\xf0\x9f"), "a");
    EXPECT_EQ(stream.push("\x99"), "");
    EXPECT_EQ(stream.push("\x82"
                          "b"),
              "\xf0\x9f\x99\x82"
              "b");
    EXPECT_EQ(stream.push("\xe2\x82"), "");
    EXPECT_EQ(stream.finish(), "\xe2\x82");
    EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, LetsThroughWhatCannotBecomeACharacter) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("\xff"), "\xff");
    EXPECT_EQ(stream.push("\xed\xa0"), "\xed\xa0");  // would be a surrogate
    EXPECT_EQ(stream.push("\x80"), "\x80");
    EXPECT_EQ(stream.push("\xe2"), "");
    EXPECT_EQ(stream.push("x"), "\xe2x");
}

TEST(Utf8Stream, JoinsToWhatWentInHoweverItIsCut) {
    std::mt19937 random(3);
    const std::vector<std::string> parts = {
        "a", "é", "€", "🙂", "\xff", "\xe2\x82", "\xf0\x9f\x99", "\x80", "\xed\xa0\x80", "\n"};
    for (int i = 0; i < 2000; ++i) {
        std::string text, out;
        for (int n = random() % 12; n >= 0; --n) text += parts[random() % parts.size()];
        Utf8Stream stream;
        for (size_t begin = 0; begin < text.size();) {
            const size_t end = std::min(text.size(), begin + 1 + random() % 4);
            out += stream.push(std::string_view(text).substr(begin, end - begin));
            ASSERT_LE(end - out.size(), 3u);  // held back
            begin = end;
        }
        out += stream.finish();
        ASSERT_EQ(out, text);
    }
}

// What is shown is never cut inside a character: valid text comes out valid, push by push.
TEST(Utf8Stream, ShowsWholeCharactersOfValidText) {
    std::mt19937 random(4);
    const std::vector<std::string> parts = {"a", "é", "€", "🙂", "\u0301"};
    for (int i = 0; i < 500; ++i) {
        std::string text;
        for (int n = 0; n < 20; ++n) text += parts[random() % parts.size()];
        Utf8Stream stream;
        for (size_t begin = 0, length = 0; begin < text.size(); begin += length) {
            length = 1 + random() % 5;
            const std::string shown = stream.push(std::string_view(text).substr(begin, length));
            ASSERT_EQ(valid_utf8_prefix(shown), shown.size());
        }
        ASSERT_EQ(stream.finish(), "");
    }
}

TEST(Utf8, SpellsOutWhatIsNoTextInMessages) {
    EXPECT_EQ(escape_unprintable("n\xff.toml: é \x1b[31m\x7f\n\xe2\x82"), "n\\xff.toml: é \\x1b[31m\\x7f\n\\xe2\\x82");
}

}  // namespace utf8_test
}  // namespace riftjit
