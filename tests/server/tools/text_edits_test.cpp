// Texts replaced in a text: all or none.
#include "server/tools/text_edits.h"

#include <gtest/gtest.h>

namespace riftjit::server {
namespace text_edits_test {

std::string edited(std::string_view text, const std::vector<TextEdit>& edits) {
    const auto result = apply_edits(text, edits);
    return result ? *result : "error: " + result.error().message;
}

TEST(TextEdits, AreOfTheTextAsItIsBefore) {
    EXPECT_EQ(edited("one two three", {{"three", "one"}, {"one", "two"}, {"two", ""}}), "two  one");
    EXPECT_EQ(edited("a\r\nb\n", {{"a\r\n", ""}}), "b\n");
    EXPECT_EQ(edited("ab", {{"a", "x"}, {"b", "y"}}), "xy") << "neighbours do not overlap";
    EXPECT_EQ(edited("ab", {{"ab", ""}}), "");
}

TEST(TextEdits, AreRefusedByTheirNumber) {
    EXPECT_EQ(edited("a", {{"a", "b"}, {"c", "d"}}),
              "error: edits[1].old_text is not there; it must be the file's text, to the byte");
    EXPECT_EQ(edited("aXa", {{"a", "b"}}), "error: edits[0].old_text must be unique, and is there more than once");
    EXPECT_EQ(edited("aaa", {{"aa", "b"}}), "error: edits[0].old_text must be unique, and is there more than once");
    EXPECT_EQ(edited("abc", {{"bc", "x"}, {"ab", "y"}}), "error: edits[1] and edits[0] overlap");
    EXPECT_EQ(edited("abc", {{"", "x"}}), "error: edits[0].old_text is empty");
    EXPECT_EQ(edited("abc", {{"b", "b"}}), "error: the edits change nothing");
}

}  // namespace text_edits_test
}  // namespace riftjit::server
