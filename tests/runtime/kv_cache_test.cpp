#include "runtime/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/x86/backend.h"
#include "runtime/cpu/cpu_device.h"

namespace riftjit::runtime {
namespace kv_cache_test {

std::vector<graph::StateSlot> slots_of(uint32_t count, uint32_t heads, uint32_t head_dim) {
    return std::vector<graph::StateSlot>(count, {"kv", graph::KvSlot{heads, head_dim}});
}

TEST(KvCache, SizeIsThatOfItsElements) {
    const Backend& backend = x86::backend(Isa::avx2);
    // 2 layers, 3 heads of 64: 384 elements per position and layer; f16 keys, f32 values, 512 positions.
    EXPECT_EQ(kv_bytes({slots_of(2, 3, 64), 512, DType::F16, DType::F32}, backend), 2u * 512 * 192 * (2 + 4));
    // Positions are rounded up to a page of 256.
    EXPECT_EQ(kv_bytes({slots_of(1, 1, 64), 257, DType::F16, DType::F16}, backend), 512u * 64 * (2 + 2));
    // Q8_0: 34 bytes for 32 elements.
    EXPECT_EQ(kv_bytes({slots_of(1, 2, 64), 256, DType::Q8_0, DType::Q8_0}, backend), 2u * 256 * 128 / 32 * 34);
    // The published shape of Qwen3-0.6B at its full context: 28 layers, 8 heads of 128, 40,960 positions, 112 KiB each.
    EXPECT_EQ(kv_bytes({slots_of(28, 8, 128), 40960, DType::F16, DType::F16}, backend), 40960ull * 112 * 1024);
}

TEST(KvCache, SlotsHaveShapesOfTheirOwn) {
    KernelCache kernels(x86::compile, DiskCache::disabled());
    const auto device = CpuDevice::create(Isa::avx2, 1, Helpers::always, kernels);
    ASSERT_TRUE(device);
    const KvShape shape{{{"blk.0.kv", graph::KvSlot{2, 64}},
                         {"blk.1.ssm", graph::RunningSlot{8, 16}},
                         {"blk.2.kv", graph::KvSlot{1, 32}}},
                        512,
                        DType::F16,
                        DType::F32};
    const auto cache = reserve_kv_cache(shape, **device);
    ASSERT_TRUE(cache) << cache.error().message;
    EXPECT_EQ(cache->bytes, 512u * (2 * 64 + 32) * (2 + 4));
    EXPECT_EQ(cache->keys[1], nullptr);
    EXPECT_EQ(cache->values[1], nullptr);
    EXPECT_EQ(cache->values[0], cache->keys[0] + 512 * 2 * 64 * 2);
    EXPECT_EQ(cache->keys[2], cache->values[0] + 512 * 2 * 64 * 4);

    // A copied page is that of every slot, and the neighbours stay as they are.
    const auto mark = [](Address page, uint64_t bytes, int value) { std::fill_n(page, bytes, std::byte(value)); };
    for (const size_t slot : {0u, 2u}) {
        mark(cache->keys[slot] + cache->key_page_bytes[slot], cache->key_page_bytes[slot], 1);
        mark(cache->values[slot] + cache->value_page_bytes[slot], cache->value_page_bytes[slot], 2);
    }
    ASSERT_TRUE(cache->copy_page({1, 0}, **device));
    for (const size_t slot : {0u, 2u}) {
        const auto holds = [](Address begin, uint64_t bytes, int value) {
            return std::all_of(begin, begin + bytes, [&](std::byte byte) { return byte == std::byte(value); });
        };
        EXPECT_TRUE(holds(cache->keys[slot], 2 * cache->key_page_bytes[slot], 1));
        EXPECT_TRUE(holds(cache->values[slot], 2 * cache->value_page_bytes[slot], 2));
    }
}

TEST(KvCache, SaysWhichContextIsBeyondAllAddresses) {
    KernelCache kernels(x86::compile, DiskCache::disabled());
    const auto device = CpuDevice::create(Isa::avx2, 1, Helpers::always, kernels);
    ASSERT_TRUE(device);
    const KvShape shape{slots_of(1000, 64, 128), 4'000'000'000, DType::F32, DType::F32};
    const auto cache = reserve_kv_cache(shape, **device);
    ASSERT_FALSE(cache);
    EXPECT_TRUE(
        cache.error().message.starts_with("the KV cache of 4000000000 positions (-c) needs 262144000000000000 bytes"))
        << cache.error().message;
}

}  // namespace kv_cache_test
}  // namespace riftjit::runtime
