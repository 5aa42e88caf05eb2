#include "jit/cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "jit/cache/build_id.h"
#include "tests/host/oracle.h"
#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace disk_cache_test {

mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
}

int64_t modified(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mtim.tv_sec;
}

void set_modified(const std::string& path, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(DiskCache, AnswersTheSecondRun) {
    const Scratch scratch;
    const CacheRun first = run_once(scratch.path("cache"));
    EXPECT_TRUE(first.is_answered);
    EXPECT_EQ(first.compiled, 1u);
    const CacheRun second = run_once(scratch.path("cache"));
    EXPECT_TRUE(second.is_answered);
    EXPECT_TRUE(second.from_disk);
    EXPECT_EQ(second.compiled, 0u);
    EXPECT_TRUE(first.warnings.empty());
    EXPECT_TRUE(second.warnings.empty());
}

TEST(DiskCache, ReturnsTheBytesThatWereStored) {
    const FilledCache filled;
    DiskCache disk = DiskCache::open(filled.directory(), CacheMode::ro, {});
    const auto object = disk.load(test_spec(), Isa::avx2);
    ASSERT_TRUE(object && *object);
    EXPECT_EQ((*object)->elf, test_object(test_spec(), Isa::avx2).elf);
    EXPECT_FALSE(disk.load(test_spec(), Isa::avx512).value());
    EXPECT_FALSE(disk.load(test_spec(2048), Isa::avx2).value());
}

TEST(DiskCache, IsPrivateUnderAnyUmask) {
    for (const mode_t mask : {mode_t(0), mode_t(022), mode_t(0777)}) {
        const Scratch scratch;
        const std::string cache = scratch.path("a/b/cache");
        const std::string answer = in_child([&] {
            umask(mask);
            return to_text(run_once(cache));
        });
        EXPECT_EQ(answer, "answered=true from_disk=false compiled=1 warnings=0") << mask;
        EXPECT_EQ(mode_of(scratch.path("a")), 0700u);
        EXPECT_EQ(mode_of(cache), 0700u);
        EXPECT_EQ(mode_of(cache + "/v1"), 0700u);
        EXPECT_EQ(mode_of(cache + "/v1/" + entry_file_name(cache_key(test_spec(), Isa::avx2))), 0600u);
    }
}

TEST(DiskCache, LeavesOneFilePerEntryAndNoTemporaries) {
    const FilledCache filled;
    EXPECT_EQ(names_in(filled.entries()), std::vector<std::string>{filled.entry_name()});
}

TEST(DiskCache, ReadOnlyModeWritesNothingAtAll) {
    const Scratch scratch;
    const CacheRun run = run_once(scratch.path("cache"), CacheMode::ro);
    EXPECT_EQ(to_text(run), "answered=true from_disk=false compiled=1 warnings=0");
    EXPECT_FALSE(std::filesystem::exists(scratch.path("cache")));

    const FilledCache filled;
    set_modified(filled.entry_path(), 1000);
    EXPECT_TRUE(run_once(filled.directory(), CacheMode::ro).from_disk);
    EXPECT_EQ(modified(filled.entry_path()), 1000);
    run_once(filled.directory(), CacheMode::ro, {test_spec(2048)});
    EXPECT_EQ(names_in(filled.entries()).size(), 1u);
}

TEST(DiskCache, OffModeNeitherReadsNorWrites) {
    const FilledCache filled;
    EXPECT_EQ(to_text(run_once(filled.directory(), CacheMode::off)),
              "answered=true from_disk=false compiled=1 warnings=0");
    run_once(filled.directory(), CacheMode::off, {test_spec(2048)});
    EXPECT_EQ(names_in(filled.entries()).size(), 1u);
    EXPECT_EQ(DiskCache::disabled().mode(), CacheMode::off);
}

TEST(DiskCache, RequireModeReadsAndNeverCompiles) {
    const FilledCache filled;
    EXPECT_EQ(to_text(run_once(filled.directory(), CacheMode::require)),
              "answered=true from_disk=true compiled=0 warnings=0");
    const CacheRun missing = run_once(filled.directory(), CacheMode::require, {test_spec(2048)});
    EXPECT_FALSE(missing.is_answered);
    EXPECT_EQ(missing.compiled, 0u);
    EXPECT_EQ(missing.error_kind, ErrorKind::Cache);
    EXPECT_TRUE(has_text(missing.error, "cache: rj_quantize_w2048_i16: missing: " + filled.entries()));
    EXPECT_TRUE(has_text(missing.error, "no such entry"));

    const Scratch scratch;
    const CacheRun absent = run_once(scratch.path("nowhere"), CacheMode::require);
    EXPECT_TRUE(has_text(absent.error, "missing: there is no " + scratch.path("nowhere/v1")));
    EXPECT_FALSE(std::filesystem::exists(scratch.path("nowhere")));
}

TEST(DiskCache, KnowsItsModesByName) {
    EXPECT_EQ(cache_mode_from_name("rw"), CacheMode::rw);
    EXPECT_EQ(cache_mode_from_name("ro"), CacheMode::ro);
    EXPECT_EQ(cache_mode_from_name("off"), CacheMode::off);
    EXPECT_EQ(cache_mode_from_name("require"), CacheMode::require);
    EXPECT_EQ(cache_mode_from_name("RW"), std::nullopt);
    EXPECT_EQ(cache_mode_from_name(""), std::nullopt);
}

TEST(DiskCache, UsesTheBuildIdOfTheRunningImage) {
    if (!has_command("readelf")) return lack_oracle("binutils (readelf)");
    std::string id;
    for (std::byte byte : running_build_id()) id += fmt::format("{:02x}", std::to_integer<int>(byte));
    EXPECT_TRUE(has_text(output_of(fmt::format("readelf -n /proc/{}/exe", getpid())), "Build ID: " + id + "\n"));
    EXPECT_EQ(id.size(), 40u);
}

TEST(DiskCache, KeepsTheOrderOfUseWithinAnHour) {
    const FilledCache filled;
    const int64_t now = time(nullptr);
    for (const int64_t wrong : {int64_t(0), now - 4000, now + 1'000'000}) {  // epoch, long ago, the future
        set_modified(filled.entry_path(), wrong);
        EXPECT_EQ(to_text(run_once(filled.directory())), "answered=true from_disk=true compiled=0 warnings=0");
        EXPECT_NEAR(modified(filled.entry_path()), now, 60);
    }
    set_modified(filled.entry_path(), now - 1000);
    run_once(filled.directory());
    EXPECT_EQ(modified(filled.entry_path()), now - 1000);
}

TEST(DiskCache, CollectsTemporariesOlderThanAnHour) {
    const FilledCache filled;
    const std::string old_file = filled.entries() + "/.tmp-0000000000000001",
                      young_file = filled.entries() + "/.tmp-0000000000000002";
    write_file(old_file, test_code().bytes);
    write_file(young_file, test_code().bytes);
    set_modified(old_file, time(nullptr) - 3700);
    run_once(filled.directory(), CacheMode::rw, {test_spec(2048)});  // compiles, so it cleans up
    EXPECT_FALSE(std::filesystem::exists(old_file));
    EXPECT_TRUE(std::filesystem::exists(young_file));
}

TEST(DiskCache, LeavesEntriesOfANewerFormatAlone) {
    const FilledCache filled;
    std::vector<std::byte> newer = read_file(filled.entry_path());
    newer[8] = std::byte{2};
    write_file(filled.entry_path(), newer);
    const CacheRun run = run_once(filled.directory());
    EXPECT_TRUE(run.is_answered);
    EXPECT_EQ(run.compiled, 1u);
    ASSERT_EQ(run.warnings.size(), 1u);
    EXPECT_TRUE(has_text(run.warnings[0], "format version 2, not 1; compiling instead"));
    EXPECT_EQ(read_file(filled.entry_path()), newer);
}

TEST(DiskCache, WarnsOnceForManyBadEntries) {
    const Scratch scratch;
    std::vector<KernelSpec> specs;
    for (uint32_t width = 16; width <= 160; width += 16) specs.push_back(test_spec(width));
    run_once(scratch.path("cache"), CacheMode::rw, specs);
    for (const std::string& name : names_in(scratch.path("cache/v1"))) write_file(scratch.path("cache/v1/" + name), {});
    const CacheRun run = run_once(scratch.path("cache"), CacheMode::rw, specs);
    EXPECT_TRUE(run.is_answered);
    EXPECT_EQ(run.compiled, specs.size());
    EXPECT_EQ(run.warnings.size(), 1u);
    EXPECT_EQ(run_once(scratch.path("cache"), CacheMode::rw, specs).compiled, 0u);
}

TEST(DiskCache, RefusesAnotherKernelUnderTheRightKey) {
    const FilledCache filled;
    const CacheKey key = cache_key(test_spec(), Isa::avx2);
    write_file(filled.entry_path(), encode_entry(key, test_object(test_spec(2048), Isa::avx2)));
    const CacheRun wrong_kernel = run_once(filled.directory(), CacheMode::require);
    EXPECT_TRUE(has_text(wrong_kernel.error,
                         "stale: " + filled.entry_path() + ": holds rj_quantize_w2048_i16 for x86_64-avx2"));
    write_file(filled.entry_path(), encode_entry(key, test_object(test_spec(), Isa::avx512)));
    const CacheRun wrong_level = run_once(filled.directory(), CacheMode::require);
    EXPECT_TRUE(has_text(wrong_level.error, "holds rj_quantize_w1024_i16 for x86_64-avx512"));
}

}  // namespace disk_cache_test
}  // namespace riftjit
