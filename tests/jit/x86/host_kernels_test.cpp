#include "jit/x86/host_kernels.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit::x86 {
namespace host_kernels_test {

TEST(HostKernels, RunOnceTheyAreSealed) {
    const Scratch scratch;
    for (const bool is_second_run : {false, true}) {
        KernelCache cache(compile_test_object, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
        HostKernels kernels(cache);
        const KernelFunction first = kernels.get(test_spec(), Isa::avx2).value();
        ASSERT_TRUE(kernels.seal());
        const KernelFunction later = kernels.get(test_spec(2048), Isa::avx2).value();  // to fresh pages
        uint32_t stored = 0;
        first(&stored, 7, 8);
        EXPECT_EQ(stored, 7u);
        ASSERT_TRUE(kernels.seal());
        later(&stored, 9, 10);
        EXPECT_EQ(stored, 9u);
        EXPECT_EQ(kernels.statistics().hits, is_second_run ? 2u : 0u);
    }
}

TEST(HostKernels, ArePlacedOnce) {
    KernelCache cache(compile_test_object, DiskCache::disabled());
    HostKernels kernels(cache), others(cache);
    const KernelFunction first = kernels.get(test_spec(), Isa::avx2).value();
    std::vector<std::future<KernelFunction>> answers;
    for (int thread = 0; thread < 8; ++thread)
        answers.push_back(std::async(std::launch::async, [&] { return kernels.get(test_spec(), Isa::avx2).value(); }));
    for (auto& answer : answers) EXPECT_EQ(answer.get(), first);
    EXPECT_NE(kernels.get(test_spec(), Isa::avx512).value(), first);
    EXPECT_NE(others.get(test_spec(), Isa::avx2).value(), first);  // each has memory of its own
    EXPECT_EQ(cache.statistics().misses, 2u);
}

TEST(HostKernels, RefuseAnObjectThatIsNoneOfThisProcessors) {
    KernelCache cache(
        [](const KernelSpec&, Target target) -> Result<CodeObject> { return CodeObject{"rj_bad", target, {}}; },
        DiskCache::disabled());
    const auto kernel = HostKernels(cache).get(test_spec(), Isa::avx2);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().kind, ErrorKind::Format);
}

TEST(HostKernels, PassOnWhyAKernelCannotBeMade) {
    KernelCache cache([](const KernelSpec&, Target) -> Result<CodeObject> { return fail(ErrorKind::Encoding, "no"); },
                      DiskCache::disabled());
    EXPECT_EQ(HostKernels(cache).get(test_spec(), Isa::avx2).error().message, "no");
}

}  // namespace host_kernels_test
}  // namespace riftjit::x86
