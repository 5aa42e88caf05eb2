#include "engine/text_stream.h"

#include <gtest/gtest.h>

namespace riftjit::engine {
namespace text_stream_test {

TEST(TextStream, HoldsACharacterBackUntilItIsWhole) {
    TextStream stream({});
    EXPECT_EQ(stream.push("a\xe2\x82"), "a");
    EXPECT_EQ(stream.push("\xac"), "\xe2\x82\xac");
    EXPECT_EQ(stream.push("\xe2"), "");
    EXPECT_EQ(stream.finish(), "\xe2");
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
    EXPECT_EQ(stream.finish(), "EN\xc3");
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
