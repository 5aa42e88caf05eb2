// Many processes on one cache directory, without locks.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace cache_concurrency_test {

// Forks `count` children that all start at once; returns how many exited with 0.
int run_children(int count, const std::function<bool(int)>& body) {
    int gate[2];
    if (pipe(gate) != 0) return -1;
    std::vector<pid_t> children;
    for (int index = 0; index < count; ++index) {
        const pid_t child = fork();
        if (child == 0) {
            close(gate[1]);
            char unused;
            std::ignore = read(gate[0], &unused, 1);  // until the parent closes its end
            _exit(body(index) ? 0 : 1);
        }
        children.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    int succeeded = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        succeeded += status == 0;
    }
    return succeeded;
}

std::vector<KernelSpec> some_specs(uint32_t count) {
    std::vector<KernelSpec> specs;
    for (uint32_t index = 1; index <= count; ++index) specs.push_back(test_spec(index * 16));
    return specs;
}

bool is_quiet_success(const CacheRun& run) { return run.is_answered && run.warnings.empty(); }

void expect_only_sound_entries(const std::string& directory, size_t count) {
    const CacheAdmin admin = CacheAdmin::open(directory).value();
    const CacheVerdict verdict = admin.verify().value();
    EXPECT_EQ(verdict.sound, count);
    EXPECT_TRUE(verdict.bad.empty());
    EXPECT_EQ(admin.totals()->temporaries.files, 0u);
}

TEST(CacheConcurrency, Lets64ProcessesFillAnEmptyCache) {
    const Scratch scratch;
    const std::string directory = scratch.path("a/cache");
    EXPECT_EQ(
        run_children(64, [&](int) { return is_quiet_success(run_once(directory, CacheMode::rw, some_specs(4))); }), 64);
    expect_only_sound_entries(directory, 4);
}

TEST(CacheConcurrency, Lets16ProcessesWriteTheSameKey) {
    const FilledCache cache;
    EXPECT_EQ(run_children(16,
                           [&](int) {
                               bool is_sound = true;
                               DiskCache disk = DiskCache::open(cache.directory(), CacheMode::rw,
                                                                [&](const std::string&) { is_sound = false; });
                               for (int round = 0; round < 5; ++round) {
                                   disk.store(test_spec(), test_object(test_spec(), Isa::avx2));
                                   const auto object = disk.load(test_spec(), Isa::avx2);
                                   is_sound = is_sound && object && *object;
                               }
                               return is_sound;
                           }),
              16);
    expect_only_sound_entries(cache.directory(), 1);
}

TEST(CacheConcurrency, TakesAnEntryThatIsPrunedOrClearedForAMiss) {
    const Scratch scratch;
    const std::string directory = scratch.path("cache");
    const std::vector<KernelSpec> specs = some_specs(8);
    run_once(directory, CacheMode::rw, specs);
    const int succeeded = run_children(4, [&](int index) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
        const CacheAdmin admin = CacheAdmin::open(directory).value();
        bool is_fine = true;
        while (std::chrono::steady_clock::now() < end) {
            if (index == 0)
                is_fine = is_fine && admin.prune(0) && admin.list() && admin.clear();
            else if (index == 1)
                is_fine = is_fine && admin.verify()->bad.empty();
            else
                is_fine = is_fine && is_quiet_success(run_once(directory, CacheMode::rw, specs));
        }
        return is_fine;
    });
    EXPECT_EQ(succeeded, 4);
    EXPECT_TRUE(CacheAdmin::open(directory)->verify()->bad.empty());
}

TEST(CacheConcurrency, IsClearedDuringRunsWithoutAWarning) {
    const Scratch scratch;
    const std::string directory = scratch.path("cache");
    const int succeeded = run_children(3, [&](int index) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        bool is_fine = true;
        while (std::chrono::steady_clock::now() < end) {
            // clear() takes the temporary files of those who are writing, too: there is nothing to warn of.
            if (index == 0)
                is_fine = is_fine && CacheAdmin::open(directory)->clear();
            else
                is_fine = is_fine && is_quiet_success(run_once(directory, CacheMode::rw, some_specs(4)));
        }
        return is_fine;
    });
    EXPECT_EQ(succeeded, 3);
    EXPECT_TRUE(CacheAdmin::open(directory)->verify()->bad.empty());
}

TEST(CacheConcurrency, LetsAForkedChildEndWhileTheParentPublishes) {
    const Scratch scratch;
    const auto compile = [](const KernelSpec& spec, Target target) -> Result<CodeObject> {
        return test_object(spec, target);
    };
    auto cache = std::make_unique<KernelCache>(compile, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
    for (const KernelSpec& spec : some_specs(4)) ASSERT_TRUE(cache->get(spec, Isa::avx2));
    cache->publish();
    const std::string answer = in_child([&]() -> std::string {
        alarm(20);  // a child that waits for its parent's thread would wait for ever
        const auto kernel = cache->get(test_spec(16), Isa::avx2);
        const std::string name = kernel ? (*kernel)->object.name : kernel.error().message;
        cache.reset();
        return name;
    });
    EXPECT_EQ(answer, "rj_quantize_w16_i16");
    cache.reset();
    expect_only_sound_entries(scratch.path("cache"), 4);
}

TEST(CacheConcurrency, KeepsEntriesOfTwoBuildsApart) {
    const std::byte other_build[20] = {};
    const FilledCache cache;
    const CacheKey other = cache_key(test_spec(), Isa::avx2, other_build);
    write_file(cache.entries() + "/" + entry_file_name(other),
               encode_entry(other, test_object(test_spec(), Isa::avx2, 128)));
    DiskCache disk = DiskCache::open(cache.directory(), CacheMode::require, {});
    EXPECT_EQ(disk.load(test_spec(), Isa::avx2).value()->elf, test_object(test_spec(), Isa::avx2).elf);
    expect_only_sound_entries(cache.directory(), 2);
}

}  // namespace cache_concurrency_test
}  // namespace riftjit
