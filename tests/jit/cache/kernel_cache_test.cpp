#include "jit/cache/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace kernel_cache_test {

TEST(KernelCache, CompilesOnceAndKeepsTheKernel) {
    uint32_t compiled = 0;
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) {
            ++compiled;
            return compile_test_object(spec, target);
        },
        DiskCache::disabled());
    const Kernel* first = cache.get(test_spec(), Isa::avx2).value();
    EXPECT_EQ(cache.get(test_spec(), Isa::avx2).value(), first);
    EXPECT_NE(cache.get(test_spec(), Isa::avx512).value(), first);
    EXPECT_EQ(compiled, 2u);
    EXPECT_EQ(first->object.name, kernel_name(test_spec()));
    EXPECT_TRUE(first->object.target == Isa::avx2);
    EXPECT_TRUE(first->spec == test_spec());
    EXPECT_FALSE(first->from_disk);
    EXPECT_EQ(first->object.elf, test_object(test_spec(), Isa::avx2).elf);
}

TEST(KernelCache, CountsHitsMissesAndTime) {
    const Scratch scratch;
    const auto slow_compile = [](const KernelSpec& spec, Target target) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return compile_test_object(spec, target);
    };
    const auto run = [&](const std::vector<uint32_t>& widths) {
        KernelCache cache(slow_compile, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
        for (const uint32_t width : widths) EXPECT_TRUE(cache.get(test_spec(width), Isa::avx2));
        return cache.statistics();
    };
    const CacheStatistics cold = run({16, 32, 16});
    EXPECT_EQ(cold.hits, 0u);
    EXPECT_EQ(cold.misses, 2u);
    EXPECT_GE(cold.compile_ms, 4.0);
    const CacheStatistics mixed = run({16, 32, 48});
    EXPECT_EQ(mixed.hits, 2u);
    EXPECT_EQ(mixed.misses, 1u);
    EXPECT_GT(mixed.load_ms, 0.0);
    const CacheStatistics warm = run({16, 32, 48});
    EXPECT_EQ(warm.misses, 0u);
    EXPECT_EQ(warm.compile_ms, 0.0);
}

TEST(KernelCache, PublishesAtItsEndAtTheLatest) {
    const Scratch scratch;
    {
        KernelCache cache(compile_test_object, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
        for (Isa isa : all_isas()) EXPECT_TRUE(cache.get(test_spec(), isa));
    }  // without publish()
    DiskCache disk = DiskCache::open(scratch.path("cache"), CacheMode::require, {});
    for (Isa isa : all_isas()) EXPECT_TRUE(disk.load(test_spec(), isa));
}

TEST(KernelCache, GoesOnPublishingWhatIsAskedForLater) {
    const Scratch scratch;
    {
        KernelCache cache(compile_test_object, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
        ASSERT_TRUE(cache.get(test_spec(16), Isa::avx2));
        cache.publish();
        ASSERT_TRUE(cache.get(test_spec(32), Isa::avx2));
    }
    EXPECT_EQ(CacheAdmin::open(scratch.path("cache"))->verify()->sound, 2u);
}

TEST(KernelCache, NeverKeepsAFailure) {
    const Scratch scratch;
    uint32_t attempts = 0;
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) -> Result<CodeObject> {
            if (++attempts == 1) return fail(ErrorKind::Encoding, "the first attempt");
            return compile_test_object(spec, target);
        },
        DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
    const auto first = cache.get(test_spec(), Isa::avx2);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().kind, ErrorKind::Encoding);
    EXPECT_EQ(first.error().message, "the first attempt");
    EXPECT_TRUE(cache.kernels().empty());
    EXPECT_TRUE(cache.get(test_spec(), Isa::avx2));
    EXPECT_EQ(attempts, 2u);
}

TEST(KernelCache, ValidatesBeforeItAsksAnyone) {
    uint32_t compiled = 0;
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) {
            ++compiled;
            return compile_test_object(spec, target);
        },
        DiskCache::disabled());
    const auto kernel = cache.get(test_spec(0), Isa::avx2);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().message, "quantize: width 0");
    EXPECT_EQ(compiled, 0u);
}

TEST(KernelCache, ListsKernelsInOrderOfFirstUse) {
    KernelCache cache(compile_test_object, DiskCache::disabled());
    for (const uint32_t width : {48, 16, 32, 16, 48}) ASSERT_TRUE(cache.get(test_spec(width), Isa::avx2));
    std::vector<std::string> names;
    for (const Kernel* kernel : cache.kernels()) names.push_back(kernel->object.name);
    EXPECT_EQ(names, (std::vector<std::string>{"rj_quantize_w48_i16", "rj_quantize_w16_i16", "rj_quantize_w32_i16"}));
}

TEST(KernelCache, CompilesAKernelOnceForManyThreads) {
    const Scratch scratch;
    std::atomic<uint32_t> compiled = 0;
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) {
            ++compiled;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return compile_test_object(spec, target);
        },
        DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
    std::vector<std::future<const Kernel*>> answers;
    for (int thread = 0; thread < 8; ++thread)
        answers.push_back(std::async(std::launch::async, [&cache, thread]() -> const Kernel* {
            const Kernel* kernel = nullptr;
            for (uint32_t width = 16; width <= 64; width += 16) {
                kernel = cache.get(test_spec(width), Isa::avx2).value();
                if (thread == 0) cache.publish();
            }
            return kernel;
        }));
    const Kernel* expected = cache.get(test_spec(64), Isa::avx2).value();
    for (auto& answer : answers) EXPECT_EQ(answer.get(), expected);
    EXPECT_EQ(compiled, 4u);
}

TEST(KernelCache, CompilesOtherKernelsWhileOneIsSlow) {
    std::promise<void> may_finish;
    auto finish = may_finish.get_future().share();
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) {
            if (spec == test_spec(16)) finish.wait();
            return compile_test_object(spec, target);
        },
        DiskCache::disabled());
    auto slow = std::async(std::launch::async, [&] { return cache.get(test_spec(16), Isa::avx2).has_value(); });
    EXPECT_TRUE(cache.get(test_spec(32), Isa::avx2));  // would hang if a lock were held while compiling
    EXPECT_EQ(cache.kernels().size(), 1u);
    may_finish.set_value();
    EXPECT_TRUE(slow.get());
    EXPECT_EQ(cache.kernels().size(), 2u);
}

TEST(KernelCache, AThreadThatWaitedForAFailureTriesItself) {
    std::atomic<int> attempts = 0;
    std::promise<void> may_fail;
    auto fail_now = may_fail.get_future().share();
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) -> Result<CodeObject> {
            if (++attempts > 1) return compile_test_object(spec, target);
            fail_now.wait();
            return fail(ErrorKind::Encoding, "the first attempt");
        },
        DiskCache::disabled());
    auto first = std::async(std::launch::async, [&] { return cache.get(test_spec(), Isa::avx2).has_value(); });
    while (attempts == 0) std::this_thread::yield();
    auto second = std::async(std::launch::async, [&] { return cache.get(test_spec(), Isa::avx2).has_value(); });
    std::this_thread::sleep_for(
        std::chrono::milliseconds(5));  // most likely it waits by now; if not, the outcome is the same
    may_fail.set_value();
    EXPECT_FALSE(first.get());
    EXPECT_TRUE(second.get());
}

TEST(KernelCache, PublishesEvenWhenNoThreadCanBeStarted) {
    const Scratch scratch;
    const std::string answer = in_child([&]() -> std::string {
        // RLIMIT_NPROC does not bind root, so the child becomes nobody where it can.
        if (is_root() &&
            (chown(scratch.directory().c_str(), kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0))
            return "cannot become nobody";
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NPROC, &none);
        return to_text(run_once(scratch.path("cache")));
    });
    EXPECT_EQ(answer, "answered=true from_disk=false compiled=1 warnings=0");
    EXPECT_EQ(names_in(scratch.path("cache/v1")).size(), 1u);
}

}  // namespace kernel_cache_test
}  // namespace riftjit
