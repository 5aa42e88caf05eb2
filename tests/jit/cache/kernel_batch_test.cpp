#include "jit/cache/kernel_batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace kernel_batch_test {

std::vector<KernelRequest> requests_of(std::initializer_list<uint32_t> widths) {
    std::vector<KernelRequest> requests;
    for (const uint32_t width : widths) requests.push_back({test_spec(width), Isa::avx2});
    return requests;
}

TEST(KernelBatch, MakesEachOnceOnAnyNumberOfThreads) {
    for (const uint32_t threads : {0u, 1u, 2u, 7u, 100u}) {
        std::atomic<uint32_t> compiled = 0;
        KernelCache cache(
            [&](const KernelSpec& spec, Target target) {
                ++compiled;
                return compile_test_object(spec, target);
            },
            DiskCache::disabled());
        ASSERT_TRUE(make_kernels(cache, requests_of({16, 32, 16, 48, 64, 32}), threads));
        EXPECT_EQ(compiled, 4u);
        EXPECT_EQ(cache.statistics().misses, 4u);
        EXPECT_EQ(cache.get(test_spec(48), Isa::avx2).value()->object.elf, test_object(test_spec(48), Isa::avx2).elf);
        EXPECT_EQ(compiled, 4u);
    }
}

TEST(KernelBatch, NothingIsAskedFor) {
    KernelCache cache(compile_test_object, DiskCache::disabled());
    EXPECT_TRUE(make_kernels(cache, {}));
}

TEST(KernelBatch, TellsTheFirstFailureInOrderThoughALaterOneWasSooner) {
    KernelCache cache(
        [](const KernelSpec& spec, Target target) -> Result<CodeObject> {
            if (spec == test_spec(32)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return fail(ErrorKind::Encoding, "the second");
            }
            if (spec == test_spec(48)) return fail(ErrorKind::Encoding, "the third");
            return compile_test_object(spec, target);
        },
        DiskCache::disabled());
    const auto made = make_kernels(cache, requests_of({16, 32, 48, 64}), 3);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "the second");
}

// Two threads that compile for the same 5 ms and more are one wait for the user.
TEST(KernelBatch, TimeIsWhatAUserWaitsFor) {
    std::atomic<uint32_t> inside = 0;
    KernelCache cache(
        [&](const KernelSpec& spec, Target target) {
            ++inside;
            while (inside < 2) std::this_thread::yield();  // both are there
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return compile_test_object(spec, target);
        },
        DiskCache::disabled());
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(make_kernels(cache, requests_of({16, 32}), 2));
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    EXPECT_GE(cache.statistics().compile_ms, 5.0);
    EXPECT_LE(cache.statistics().compile_ms, wall.count());
}

}  // namespace kernel_batch_test
}  // namespace riftjit
