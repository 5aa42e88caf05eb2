#include "jit/cache/cache_admin.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <ctime>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace cache_admin_test {

void set_modified(const std::string& path, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// Entries of test_spec(16), test_spec(32) and test_spec(48), of growing size, last used in this order.
class ThreeEntries {
public:
    ThreeEntries() {
        for (int index = 0; index < 3; ++index) {
            run_once(directory(), CacheMode::rw, {spec(index)}, size_t(1000) * (index + 1));
            set_modified(path(index), 1000 + index);
        }
    }
    static KernelSpec spec(int index) { return test_spec(16 * (uint32_t(index) + 1)); }
    std::string directory() const { return scratch_.path("cache"); }
    std::string path(int index) const {
        return directory() + "/v1/" + entry_file_name(cache_key(spec(index), Isa::avx2));
    }
    uint64_t bytes(int index) const { return std::filesystem::file_size(path(index)); }
    bool has(int index) const { return std::filesystem::exists(path(index)); }
    CacheAdmin admin() const { return CacheAdmin::open(directory()).value(); }
    const Scratch& scratch() const { return scratch_; }

private:
    Scratch scratch_;
};

TEST(CacheAdmin, TakesAnAbsentDirectoryForAnEmptyCache) {
    const Scratch scratch;
    const CacheAdmin admin = CacheAdmin::open(scratch.path("none")).value();
    EXPECT_TRUE(admin.list()->empty());
    EXPECT_EQ(admin.totals()->entries.files, 0u);
    EXPECT_TRUE(admin.verify()->bad.empty());
    EXPECT_EQ(admin.prune(0)->files, 0u);
    EXPECT_EQ(admin.clear()->files, 0u);
    EXPECT_FALSE(std::filesystem::exists(scratch.path("none")));
}

TEST(CacheAdmin, ListsEveryEntryByKey) {
    const ThreeEntries cache;
    const auto listings = cache.admin().list().value();
    ASSERT_EQ(listings.size(), 3u);
    EXPECT_TRUE(std::is_sorted(listings.begin(), listings.end(), [](auto& a, auto& b) { return a.key < b.key; }));
    for (int index = 0; index < 3; ++index) {
        const std::string key = cache_key(ThreeEntries::spec(index), Isa::avx2).hex;
        const auto found =
            std::find_if(listings.begin(), listings.end(), [&](auto& listing) { return listing.key == key; });
        ASSERT_NE(found, listings.end());
        EXPECT_EQ(found->kernel, kernel_name(ThreeEntries::spec(index)));
        EXPECT_EQ(found->target, "x86_64-avx2");
        EXPECT_EQ(found->bytes, cache.bytes(index));
        EXPECT_EQ(found->modified_s, 1000 + index);
        EXPECT_EQ(found->problem, "");
    }
}

TEST(CacheAdmin, ListsWhatItCannotReadWithTheReason) {
    const ThreeEntries cache;
    std::filesystem::resize_file(cache.path(1), 10);
    size_t problems = 0;
    const auto listings = cache.admin().list().value();
    for (const CacheListing& listing : listings) {
        if (listing.problem.empty()) continue;
        ++problems;
        EXPECT_EQ(listing.key, cache_key(ThreeEntries::spec(1), Isa::avx2).hex);
        EXPECT_EQ(listing.problem, "corrupt: truncated to 10 bytes");
        EXPECT_EQ(listing.kernel, "");
    }
    EXPECT_EQ(problems, 1u);
}

TEST(CacheAdmin, CountsEntriesTemporariesAndOtherFiles) {
    const ThreeEntries cache;
    write_file(cache.directory() + "/v1/.tmp-0123456789abcdef", std::vector<std::byte>(7));
    write_file(cache.directory() + "/v1/notes.txt", std::vector<std::byte>(9));
    std::filesystem::resize_file(cache.path(2), 0);
    const CacheTotals totals = cache.admin().totals().value();
    EXPECT_EQ(totals.entries.files, 3u);
    EXPECT_EQ(totals.entries.bytes, cache.bytes(0) + cache.bytes(1));
    EXPECT_EQ(totals.temporaries.files, 1u);
    EXPECT_EQ(totals.temporaries.bytes, 7u);
    EXPECT_EQ(totals.other_files, 1u);
    EXPECT_EQ(totals.by_target.at("x86_64-avx2").files, 2u);
    EXPECT_EQ(totals.by_target.at("unreadable").files, 1u);
}

TEST(CacheAdmin, VerifyNamesForeignFilesAndIgnoresTemporaries) {
    const ThreeEntries cache;
    write_file(cache.directory() + "/v1/.tmp-0123456789abcdef", std::vector<std::byte>(7));
    write_file(cache.directory() + "/v1/notes.txt", std::vector<std::byte>(9));
    const CacheVerdict verdict = cache.admin().verify().value();
    EXPECT_EQ(verdict.sound, 3u);
    ASSERT_EQ(verdict.bad.size(), 1u);
    EXPECT_EQ(verdict.bad[0].file, "notes.txt");
    EXPECT_EQ(verdict.bad[0].reason, "foreign");
}

TEST(CacheAdmin, VerifySeesAnEntryUnderAnotherName) {
    const ThreeEntries cache;
    std::filesystem::rename(cache.path(0), cache.path(1));
    const CacheVerdict verdict = cache.admin().verify().value();
    EXPECT_EQ(verdict.sound, 1u);
    ASSERT_EQ(verdict.bad.size(), 1u);
    EXPECT_EQ(verdict.bad[0].reason, "stale");
    EXPECT_TRUE(
        has_text(verdict.bad[0].text, "holds the entry of key " + cache_key(ThreeEntries::spec(0), Isa::avx2).hex));
}

TEST(CacheAdmin, PrunesTheLeastRecentlyUsedFirst) {
    const ThreeEntries cache;
    const uint64_t total = cache.bytes(0) + cache.bytes(1) + cache.bytes(2);
    EXPECT_EQ(cache.admin().prune(total)->files, 0u);
    const Removed removed = cache.admin().prune(total - 1).value();
    EXPECT_EQ(removed.files, 1u);
    EXPECT_FALSE(cache.has(0));
    EXPECT_TRUE(cache.has(1) && cache.has(2));
    run_once(cache.directory(), CacheMode::rw, {ThreeEntries::spec(1)});  // uses the older of the two
    EXPECT_EQ(cache.admin().prune(cache.bytes(1))->files, 1u);
    EXPECT_TRUE(cache.has(1));
    EXPECT_FALSE(cache.has(2));
}

TEST(CacheAdmin, ClearsWhateverLiesUnderItsNamesAndNothingElse) {
    const ThreeEntries cache;
    write_file(cache.directory() + "/v1/.tmp-0123456789abcdef", std::vector<std::byte>(7));
    write_file(cache.directory() + "/v1/notes.txt", std::vector<std::byte>(9));
    write_file(cache.scratch().path("outside"), std::vector<std::byte>(9));
    std::filesystem::remove(cache.path(0));
    std::filesystem::create_directory(cache.path(0));
    std::filesystem::remove(cache.path(1));
    std::filesystem::create_symlink(cache.scratch().path("outside"), cache.path(1));
    EXPECT_EQ(cache.admin().clear()->files, 4u);
    EXPECT_EQ(names_in(cache.directory() + "/v1"), std::vector<std::string>{"notes.txt"});
    EXPECT_TRUE(std::filesystem::exists(cache.scratch().path("outside")));
}

// What was warmed on one machine goes to others as files: nothing in an entry knows where it lies.
TEST(CacheAdmin, FindsEntriesSoundThatWereCopiedToAnotherDirectory) {
    const ThreeEntries cache;
    const std::string other = cache.scratch().path("other");
    std::filesystem::copy(cache.directory(), other, std::filesystem::copy_options::recursive);
    std::filesystem::permissions(other, std::filesystem::perms::owner_all);
    EXPECT_EQ(CacheAdmin::open(other)->verify()->sound, 3u);
    EXPECT_TRUE(run_once(other, CacheMode::require, {ThreeEntries::spec(0), ThreeEntries::spec(1)}).is_answered);
}

// ---- scale ----------------------------------------------------------------------------------------------------------

// Hard links make many entries quickly; a file system allows at least 32000 per file (ext2).
void make_entries(const FilledCache& cache, uint32_t count) {
    const std::vector<std::byte> entry = read_file(cache.entry_path());
    std::string source;
    for (uint32_t index = 0; index < count; ++index) {
        const std::string path = fmt::format("{}/{:032x}.rjk", cache.entries(), uint64_t(index) * 2654435761u);
        if (index % 30000 == 0)
            write_file(source = path, entry);
        else
            ASSERT_EQ(link(source.c_str(), path.c_str()), 0);
    }
}

// Processor time, since what else runs on this machine is not the program's doing.
double cpu_seconds(const std::function<void()>& body) {
    const std::clock_t start = std::clock();
    body();
    return double(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(CacheAdmin, ListsAHundredThousandEntriesAndReadsOneWithoutTheOthers) {
    const FilledCache cache;
    make_entries(cache, 100'000);
    size_t listed = 0;
    const double list_s = cpu_seconds([&] { listed = CacheAdmin::open(cache.directory())->list()->size(); });
    EXPECT_EQ(listed, 100'001u);
    bool from_disk = false;
    const double hit_s = cpu_seconds([&] { from_disk = run_once(cache.directory()).from_disk; });
    EXPECT_TRUE(from_disk);
    EXPECT_LT(hit_s, list_s / 20);
}

}  // namespace cache_admin_test
}  // namespace riftjit
