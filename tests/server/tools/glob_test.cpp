// Patterns of paths.
#include "server/tools/glob.h"

#include <gtest/gtest.h>

#include <chrono>

namespace riftjit::server {
namespace glob_test {

bool matches(std::string_view pattern, std::string_view path) {
    const auto glob = Glob::parse(pattern);
    EXPECT_TRUE(glob) << pattern;
    return glob && glob->matches(path);
}

TEST(Glob, TakesNamesAtAnyDepthAndWholePaths) {
    for (const auto& [pattern, path] :
         std::initializer_list<std::pair<const char*, const char*>>{{"*.cpp", "a.cpp"},
                                                                    {"*.cpp", "x/y/a.cpp"},
                                                                    {"**", "x/y"},
                                                                    {"**", "x"},
                                                                    {"a?c", "d/abc"},
                                                                    {"src/**/*.h", "src/a.h"},
                                                                    {"src/**/*.h", "lib/src/x/y/a.h"},
                                                                    {"/src/*.h", "src/a.h"},
                                                                    {"**/a/**", "x/a/y"},
                                                                    {"**/a/**", "a/y"},
                                                                    {"*.{cpp,h}", "a.h"},
                                                                    {"{a,b{c,d}}.txt", "bd.txt"},
                                                                    {"[a-c][!0-9].x", "bz.x"},
                                                                    {"[]x]", "]"},
                                                                    {"\\*.x", "*.x"},
                                                                    {"{a.x", "{a.x"},
                                                                    {"{one}", "{one}"},
                                                                    {"*a*b*", "xxaxxbxx"},
                                                                    {"[ab", "[ab"},
                                                                    {"*", ".hidden"}})
        EXPECT_TRUE(matches(pattern, path)) << pattern << " " << path;
    for (const auto& [pattern, path] :
         std::initializer_list<std::pair<const char*, const char*>>{{"*.cpp", "a.cpp.bak"},
                                                                    {"*.cpp", "a.cpp/x"},
                                                                    {"a*c", "ab/c"},
                                                                    {"a?c", "ac"},
                                                                    {"/src/*.h", "lib/src/a.h"},
                                                                    {"src/*.h", "src/x/a.h"},
                                                                    {"[a-c].x", "d.x"},
                                                                    {"[!a-c].x", "a.x"},
                                                                    {"\\*.x", "a.x"},
                                                                    {"*.{cpp,h}", "a.c"}})
        EXPECT_FALSE(matches(pattern, path)) << pattern << " " << path;
}

TEST(Glob, RefusesWhatIsTooLargeAndTakesNoLongerForBadOnes) {
    EXPECT_FALSE(Glob::parse(std::string(5000, 'a')));
    std::string doubled;
    for (int i = 0; i < 40; ++i) doubled += "{a,b}";
    EXPECT_FALSE(Glob::parse(doubled));
    EXPECT_TRUE(matches(std::string(2000, '{'), std::string(2000, '{')));
    std::string stars;
    for (int i = 0; i < 400; ++i) stars += "*a";
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_FALSE(matches(stars + "b", std::string(4000, 'a')));
    std::string folders, path;
    for (int i = 0; i < 600; ++i) folders += "**/a/", path += "a/";
    EXPECT_FALSE(matches(folders + "b", path + "c"));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

}  // namespace glob_test
}  // namespace riftjit::server
