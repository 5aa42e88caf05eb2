#include "host/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace riftjit {
namespace json_text_test {

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonText, IsReadToTheDepthThatTheStackHolds) {
    EXPECT_TRUE(parse_json<nlohmann::json>(nested(kMostJsonNesting)).is_array());
    EXPECT_TRUE(parse_json<nlohmann::json>(nested(kMostJsonNesting + 1)).is_discarded());
    EXPECT_TRUE(parse_json<nlohmann::ordered_json>("{\"x\":" + nested(1'000'000) + "}").is_discarded());
    EXPECT_TRUE(parse_json<nlohmann::json>(std::string(1'000'000, '{')).is_discarded());
}

TEST(JsonText, CountsNoBracketsOfStrings) {
    const std::string brackets = "\"" + std::string(5000, '[') + "\\\"" + std::string(5000, '{') + "\\\\\"";
    EXPECT_TRUE(parse_json<nlohmann::json>("[" + brackets + "]").is_array());
    EXPECT_TRUE(parse_json<nlohmann::json>("[]]").is_discarded());
    std::string flat = "[";
    for (int i = 0; i < 5000; ++i) flat += "[],{},";
    EXPECT_TRUE(parse_json<nlohmann::json>(flat + "1]").is_array());
}

TEST(JsonText, DoesNotEndAtANulByte) {
    EXPECT_TRUE(parse_json<nlohmann::json>(std::string("{\"text\":\"a\"}\0garbage", 20)).is_discarded());
    EXPECT_TRUE(parse_json<nlohmann::json>("{\"text\":\"a\\u0000\"}").is_object());
    EXPECT_TRUE(parse_json<nlohmann::json>("").is_discarded());
}

TEST(JsonText, IsWrittenAsUtf8) {
    EXPECT_EQ(json_text(nlohmann::ordered_json{{"a\xff", "b\xe2\x82"}}), "{\"a\uFFFD\":\"b\uFFFD\"}");
    EXPECT_EQ(json_text(nlohmann::json{1, "é"}, 1), "[\n 1,\n \"é\"\n]");
}

}  // namespace json_text_test
}  // namespace riftjit
