#include "engine/stop_words.h"

#include <gtest/gtest.h>

namespace riftjit::engine {
namespace stop_words_test {

std::string feed(StopWords& words, std::string_view text) {
    std::string out;
    for (char c : text) out += words.push({&c, 1});
    return out + words.finish();
}

TEST(StopWords, CutTheTextAtTheFirstOfThem) {
    StopWords words({"END", "STOP"});
    EXPECT_EQ(feed(words, "one STOP two END"), "one ");
    EXPECT_TRUE(words.is_found());
}

TEST(StopWords, FindAWordThatASinglePieceEndsBeyond) {
    StopWords words({"END"});
    EXPECT_EQ(words.push("aENDb"), "a");
    EXPECT_EQ(words.push("c"), "");
    EXPECT_EQ(words.finish(), "");
}

TEST(StopWords, ReleaseWhatOnlyLookedLikeABeginning) {
    StopWords words({"END"});
    EXPECT_EQ(words.push("E"), "");
    EXPECT_EQ(words.push("N"), "");
    EXPECT_EQ(words.push("T"), "ENT");
    EXPECT_EQ(words.push("EN"), "");
    EXPECT_EQ(words.finish(), "EN");
    EXPECT_FALSE(words.is_found());
}

TEST(StopWords, WithoutWordsPassEverything) {
    StopWords none({}), empty({""});
    EXPECT_EQ(feed(none, "text"), "text");
    EXPECT_EQ(feed(empty, "text"), "text");
}

}  // namespace stop_words_test
}  // namespace riftjit::engine
