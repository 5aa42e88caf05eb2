#include "engine/text_stream.h"

#include <gtest/gtest.h>

namespace riftjit::engine {
namespace text_stream_test {

TEST(TextStream, HoldsACharacterBackUntilItIsWhole) {
    TextStream stream({});
    EXPECT_EQ(stream.push("a\xe2\x82"), "a");
    EXPECT_EQ(stream.push("\xac"), "\xe2\x82\xac");
    EXPECT_EQ(stream.push("\xe2"), "");
    EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(TextStream, ShowsBytesThatAreNoCharacterAsOneThatSaysSo) {
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"a\xf0\x9f\x98"}, "a\ufffd"},  // cut by the end
        {{"a\xf0\x9f", "\x98"}, "a\ufffd"},
        {{"a\xf0\x9f", "b"},
         "a\ufffd"
         "b"},
        {{"a\xff", "b\x80"},
         "a\ufffd"
         "b\ufffd"},
        {{"\xed\xa0\x80"}, "\ufffd\ufffd\ufffd"},  // a surrogate: none of its bytes begins a character
        {{"\xc0\xaf"}, "\ufffd\ufffd"},
        {{"\xf0\x9f", "\x98\x80\xe2\x82", "\xac"}, "\xf0\x9f\x98\x80\xe2\x82\xac"},
    };
    for (const auto& [pieces, expected] : cases) {
        TextStream stream({"STOP"});
        std::string out;
        for (const std::string& piece : pieces) out += stream.push(piece);
        EXPECT_EQ(out + stream.finish(), expected) << expected;
    }
}

TEST(TextStream, ShowsACharacterThatAStopWordCutsAsOneThatSaysSo) {
    TextStream stream({"\xac"});
    std::string out = stream.push("x\xe2\x82\xacy");
    out += stream.finish();
    EXPECT_EQ(out, "x\ufffd");
    EXPECT_TRUE(stream.found_stop_word());
}

TEST(TextStream, EndsBeforeAStopWordThatTokensCutAnywhere) {
    const std::string text =
        "ab\xe2\x82\xac"
        "END";
    for (size_t cut = 0; cut <= text.size(); ++cut) {
        TextStream stream(
            {"\xe2\x82\xac"
             "END"});
        std::string out = stream.push(std::string_view(text).substr(0, cut));
        out += stream.push(std::string_view(text).substr(cut));
        EXPECT_EQ(out, "ab") << cut;
        EXPECT_TRUE(stream.found_stop_word()) << cut;
        EXPECT_EQ(stream.push("more") + stream.finish(), "") << cut;
    }
}

TEST(TextStream, GivesBackTheBeginningOfAStopWordBehindWhichNothingCame) {
    TextStream stream({"END"});
    EXPECT_EQ(stream.push("xEN"), "x");
    EXPECT_EQ(stream.push("\xc3"), "");
    EXPECT_EQ(stream.finish(), "EN\ufffd");
    EXPECT_FALSE(stream.found_stop_word());
}

TEST(TextStream, FindsAStopWordInWhatWasHeldBack) {
    TextStream stream({"\xc3"});  // no character: half of one
    EXPECT_EQ(stream.push("x\xc3"), "x");
    EXPECT_EQ(stream.finish(), "");
    EXPECT_TRUE(stream.found_stop_word());
}

}  // namespace text_stream_test
}  // namespace riftjit::engine
