#include <gtest/gtest.h>

#include "tests/jit/x86/ops/cache_reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/paged_batch.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace value_store_test {

constexpr uint32_t kTokens = 5, kPosition = 253,  // over the end of a page
    kPositions = kPosition + kTokens;

void expect_defined_bytes(const ValueStoreSpec& spec, double size) {
    Random random(spec.head_dim);
    const uint32_t width = spec.kv_heads * spec.head_dim;
    GuardedBuffer<float> v((kTokens - 1) * spec.row_stride + width);
    for (size_t i = 0; i < v.size(); ++i) v[i] = random.normal(size);
    const CacheLayout layout{spec.cache_type, spec.kv_heads, spec.head_dim, reversed_pages(kPositions)};
    const PagedBatch batch(kTokens, kPosition, layout.pages, kMaxTileRows);
    GuardedBuffer<std::byte> expected(layout.value_bytes(kPositions));
    for (uint32_t token = 0; token < kTokens; ++token)
        for (uint32_t head = 0; head < spec.kv_heads; ++head) {
            const std::span values(v.data() + token * spec.row_stride + head * spec.head_dim, spec.head_dim);
            store_value(layout, expected.data(), kPosition + token, head, values);
        }
    for (Isa isa : machine_isas()) {
        GuardedBuffer<std::byte> cache(layout.value_bytes(kPositions));
        const ValueStoreArgs args{v.data(), cache.data(), batch.state()};
        const RunnableKernel kernel(spec, isa);
        kernel(&args, 3, kTokens);
        kernel(&args, 0, 3);
        EXPECT_EQ(cache, expected) << name(isa) << " " << kernel_name(spec) << " size " << size;
    }
}

TEST(ValueStoreX86, WritesTheDefinedBytesAndNoOthers) {
    for (const ValueStoreSpec& spec : kernel_cases::value_store()) expect_defined_bytes(spec, 1.0);
}

TEST(ValueStoreX86, RoundsToNearestOverTheWholeRangeOfHalves) {
    for (double size : {1e-9, 1e-7, 1e-5, 1e-3, 1e3, 3e4, 1e5})  // zero, subnormal, normal, infinite
        for (DType type : kCacheTypes) expect_defined_bytes({2, 64, 128, type}, size);
}

}  // namespace value_store_test
}  // namespace riftjit::x86
