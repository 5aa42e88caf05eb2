#include "jit/cache/cache_directory.h"

#include <gtest/gtest.h>

#include "jit/cache/disk_cache.h"
#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace cache_directory_test {

using Variables = std::vector<std::pair<std::string, std::string>>;

// What resolves for these variables and no others, or the reason why nothing does.
std::string resolved(const Variables& variables, const std::string& flag = "") {
    return in_child([&] {
        for (const char* name : {"RIFTJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
        for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
        std::string reason;
        const auto directory = resolve_cache_directory(flag, reason);
        return directory ? directory->string() : "reason: " + reason;
    });
}

TEST(CacheDirectory, ComesFromTheFlagThenTheVariablesInOrder) {
    const Variables all = {{"RIFTJIT_CACHE_DIR", "/own"}, {"XDG_CACHE_HOME", "/xdg"}, {"HOME", "/home/user"}};
    EXPECT_EQ(resolved(all, "/flag"), "/flag/v1");
    EXPECT_EQ(resolved(all), "/own/v1");
    EXPECT_EQ(resolved({all[1], all[2]}), "/xdg/riftjit/v1");
    EXPECT_EQ(resolved({all[2]}), "/home/user/.cache/riftjit/v1");
    EXPECT_EQ(resolved({}), "reason: no directory: HOME is not set");
}

TEST(CacheDirectory, IgnoresEmptyVariablesAndARelativeXdgCacheHome) {
    const std::pair<std::string, std::string> home = {"HOME", "/home/user"};
    EXPECT_EQ(resolved({{"RIFTJIT_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, home}), "/home/user/.cache/riftjit/v1");
    EXPECT_EQ(resolved({{"XDG_CACHE_HOME", "cache"}, home}), "/home/user/.cache/riftjit/v1");
    EXPECT_EQ(resolved({{"XDG_CACHE_HOME", "./cache"}, home}), "/home/user/.cache/riftjit/v1");
}

TEST(CacheDirectory, TakesARelativeFlagFromTheWorkingDirectory) {
    EXPECT_EQ(resolved({}, "some/where"), (std::filesystem::current_path() / "some/where/v1").string());
    EXPECT_EQ(resolved({{"RIFTJIT_CACHE_DIR", "where"}}), (std::filesystem::current_path() / "where/v1").string());
}

TEST(CacheDirectory, RefusesARelativeHome) {
    EXPECT_EQ(resolved({{"HOME", "user"}}), "reason: no directory: HOME is relative (\"user\")");
}

TEST(CacheDirectory, CreatesWhatIsMissingBelowTheHomeDirectoryButNotTheHomeDirectory) {
    const Scratch scratch;
    const CachePlace inside{scratch.directory() / ".cache" / "riftjit", scratch.directory()};
    EXPECT_TRUE(open_cache_directory(inside, Absent::create).value());
    const std::filesystem::path home = scratch.directory() / "no-such-user";
    const auto opened = open_cache_directory({home / ".cache" / "riftjit", home}, Absent::create);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message, "cannot use " + home.string() + ": No such file or directory");
}

TEST(CacheDirectory, CreatesNothingWhenAskedToReport) {
    const Scratch scratch;
    const CachePlace place{scratch.directory() / "cache", {}};
    EXPECT_FALSE(open_cache_directory(place, Absent::report).value());
    EXPECT_FALSE(std::filesystem::exists(place.root));
    std::filesystem::create_directory(place.root);
    EXPECT_FALSE(open_cache_directory(place, Absent::report).value());
    EXPECT_FALSE(std::filesystem::exists(place.entries()));
}

TEST(CacheDirectory, MayBeALinkToAPrivateDirectory) {
    const Scratch scratch;
    std::filesystem::create_directory(scratch.path("real"));
    std::filesystem::permissions(scratch.path("real"), std::filesystem::perms::owner_all);
    std::filesystem::create_symlink(scratch.path("real"), scratch.path("link"));
    EXPECT_TRUE(open_cache_directory({scratch.path("link"), {}}, Absent::create).value());
    EXPECT_TRUE(std::filesystem::exists(scratch.path("real/v1")));
}

TEST(CacheDirectory, KnowsNetworkFileSystemsByTheirStatfsType) {
    EXPECT_EQ(network_file_system(0x6969), "nfs");
    EXPECT_EQ(network_file_system(long(0xff534d42)), "cifs");
    EXPECT_EQ(network_file_system(int32_t(0xff534d42)), "cifs");  // f_type may be sign-extended
    EXPECT_EQ(network_file_system(0xef53), std::nullopt);         // ext4
    EXPECT_EQ(network_file_system(0x01021994), std::nullopt);     // tmpfs
}

}  // namespace cache_directory_test
}  // namespace riftjit
