// Bytes that come in pieces, as lines.
#include "server/mcp/lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace riftjit::server {
namespace lines_test {

using Lines = std::vector<std::string>;

Lines cut(LineCutter& cutter, std::string_view bytes, size_t piece) {
    Lines lines;
    for (size_t at = 0; at < bytes.size(); at += piece)
        cutter.push(bytes.substr(at, piece), [&](std::string line) { lines.push_back(std::move(line)); });
    return lines;
}

TEST(LineCutter, GivesTheSameLinesHoweverTheyCome) {
    const std::string bytes("one\ntwo\r\n\n\r\na\0b\n\xff\n half", 23);
    const Lines expected = {"one", "two", std::string("a\0b", 3), "\xff"};
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
        LineCutter cutter(100);
        EXPECT_EQ(cut(cutter, bytes, piece), expected) << piece;
        EXPECT_EQ(cut(cutter, "\n", 1), Lines{" half"}) << piece;
        EXPECT_EQ(cutter.dropped(), 0u);
    }
}

TEST(LineCutter, DropsLinesThatAreTooLongAndNothingElse) {
    for (size_t piece : {1, 2, 3, 7, 100}) {
        LineCutter cutter(8);
        EXPECT_EQ(cut(cutter, "12345678\n123456789\nshort\n" + std::string(50, 'x') + "\nend\n", piece),
                  (Lines{"12345678", "short", "end"}))
            << piece;
        EXPECT_EQ(cutter.dropped(), 2u);
    }
}

}  // namespace lines_test
}  // namespace riftjit::server
