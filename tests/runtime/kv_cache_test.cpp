#include "runtime/kv_cache.h"

#include <gtest/gtest.h>

namespace riftjit::runtime {
namespace {

TEST(KvCache, SizeIsThatOfItsElements) {
    // 2 layers, 3 heads of 64: 384 elements per position and layer; f16 keys, f32 values, 512 positions.
    EXPECT_EQ(kv_bytes({2, 3, 64, 512, DType::F16, DType::F32}), 2u * 512 * 192 * (2 + 4));
    // Positions are rounded up to a segment of 256.
    EXPECT_EQ(kv_bytes({1, 1, 64, 257, DType::F16, DType::F16}), 512u * 64 * (2 + 2));
    // Q8_0: 34 bytes for 32 elements.
    EXPECT_EQ(kv_bytes({1, 2, 64, 256, DType::Q8_0, DType::Q8_0}), 2u * 256 * 128 / 32 * 34);
    // The published shape of Qwen3-0.6B at its full context: 28 layers, 8 heads of 128, 40,960 positions, 112 KiB each.
    EXPECT_EQ(kv_bytes({28, 8, 128, 40960, DType::F16, DType::F16}), 40960ull * 112 * 1024);
}

}  // namespace
}  // namespace riftjit::runtime
