// What is not TOML is an error that says where, whatever its bytes are: never an abort.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "sim/network/toml_reader.h"

namespace riftjit::sim {
namespace malformed_toml_test {

struct Malformed {
    std::string text;
    std::string at;  // line and column
};

// toml++'s parser asserts that a key begins where these have none, before the branch that reports it; so that a build
// of it with assertions would abort here.
const Malformed kMalformed[] = {
    {"[}\n", "1:2"},           {"[=]\n", "1:2"},    {"[\n", "1:2"},      {"[[[\n", "1:3"},   {"[.a]\n", "1:2"},
    {"[\xC3\xA9]\n", "1:2"},   {"[\x01]\n", "1:2"}, {"a = [}\n", "1:6"}, {"a = }\n", "1:5"}, {" = 1\n", "1:2"},
    {"\xC3\xA9 = 1\n", "1:1"},
};

TEST(MalformedToml, IsRefusedAtItsPlace) {
    for (const auto& [text, at] : kMalformed) {
        const Result<toml::table> table = parse_toml(text, "net.toml");
        ASSERT_FALSE(table) << text;
        EXPECT_TRUE(table.error().message.starts_with("net.toml:" + at + ": ")) << text << table.error().message;
    }
}

TEST(MalformedToml, OfAnyPiecesIsAnErrorOrATable) {
    constexpr std::array kPieces = {"a", "=",   "{",        "}",       "[",      "]",   "[[",           "]]",
                                    ".", ",",   "\"",       "'",       "\"\"\"", "'''", "\n",           "\r",
                                    " ", "1",   "-",        "_",       "0x",     "1e",  "inf",          "true",
                                    "#", "\\u", "\xC3\xA9", "\xFF",    "\x01",   "a.b", "1979-05-27",   "07:32:00",
                                    "T", "Z",   "\x7F",     "\\U0011", "a = ",   "nan", "\xEF\xBB\xBF", "$"};
    std::mt19937 random(1);  // the engine's output is the standard's, so the texts are the same everywhere
    int refused = 0;
    constexpr int kTexts = 20000;
    for (int i = 0; i < kTexts; ++i) {
        std::string text = random() % 2 != 0 ? "a = " : "";
        for (unsigned pieces = 1 + random() % 9; pieces > 0; --pieces) text += kPieces[random() % kPieces.size()];
        const Result<toml::table> table = parse_toml(text, "net.toml");
        if (table) continue;
        ++refused;
        EXPECT_TRUE(table.error().message.starts_with("net.toml:")) << text << "\n" << table.error().message;
    }
    EXPECT_GT(refused, kTexts / 2);
    EXPECT_LT(refused, kTexts);
}

}  // namespace malformed_toml_test
}  // namespace riftjit::sim
