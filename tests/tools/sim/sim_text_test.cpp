#include "tools/sim/sim_text.h"

#include <gtest/gtest.h>

namespace riftjit::tools {
namespace sim_text_test {

TEST(SimText, KeepsMessagesOfUsualLength) {
    for (const std::string text : {"", "net.toml:3:1: there is no 'X'", " two  blanks "})
        EXPECT_EQ(shortened(text), text);
    const std::string path(256, 'p');
    EXPECT_EQ(shortened("error: " + path), "error: " + path);
}

TEST(SimText, CutsLongWordsInTheirMiddle) {
    const std::string word = "a" + std::string(20'000, 'x') + "z";
    EXPECT_EQ(shortened("no " + word + " here"),
              "no a" + std::string(127, 'x') + "..." + std::string(63, 'x') + "z here");
}

TEST(SimText, CutsLongMessagesAtTheirEnd) {
    std::string message;
    for (int i = 0; i < 5000; ++i) message += "word ";
    EXPECT_EQ(shortened(message), message.substr(0, 1000) + "...");
}

TEST(SimText, CutsNoCharacterInTwo) {
    std::string word;
    for (int i = 0; i < 1000; ++i) word += "\u20ac";  // three bytes: 128 and 64 are no multiples
    const std::string cut = shortened(word);
    EXPECT_EQ((cut.size() - 3) % 3, 0u);
    EXPECT_TRUE(cut.starts_with("\u20ac\u20ac") && cut.ends_with("\u20ac")) << cut;
}

}  // namespace sim_text_test
}  // namespace riftjit::tools
