#include <gtest/gtest.h>

#include "tests/jit/rdna/kernels/samples/all_kernels.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr KernelTarget kWave32 = {Target::gfx1100, WaveSize::wave32}, kWave64 = {Target::gfx1100, WaveSize::wave64};

std::string message(const Result<KernelProgram>& result) { return result ? "" : result.error().message; }

TEST(KernelRefusals, NameAWorkgroupThatIsNoPowerOfTwoOfWholeWaves) {
    EXPECT_EQ(message(vector_add(kWave32, {.group_lanes = 96})),
              "vector_add: 96 lanes in a workgroup are not a power of two from 32 to 1024");
    EXPECT_EQ(message(swiglu(kWave64, {.group_lanes = 32})),
              "swiglu: 32 lanes in a workgroup are not a power of two from 64 to 1024");
    EXPECT_EQ(message(rms_norm(kWave32, {.width = 2048, .group_lanes = 2048})),
              "rms_norm: 2048 lanes in a workgroup are not a power of two from 32 to 1024");
    EXPECT_EQ(message(gemv_q8(kWave64, {.rows_per_group = 3})),
              "gemv_q8: 192 lanes in a workgroup are not a power of two from 64 to 1024");
    EXPECT_EQ(message(rope(kWave32, {.head_width = 96})),
              "rope: 48 lanes in a workgroup are not a power of two from 32 to 1024");
    EXPECT_EQ(message(reverse_copy(kWave32, {.group_lanes = 0})),
              "reverse_copy: 0 lanes in a workgroup are not a power of two from 32 to 1024");
}

TEST(KernelRefusals, NameASizeThatIsNoMultiple) {
    EXPECT_EQ(message(rms_norm(kWave32, {.width = 1000})), "rms_norm: width 1000 is not a multiple of 128");
    EXPECT_EQ(message(softmax(kWave32, {.width = 0})), "softmax: width 0 is not a multiple of 128");
    EXPECT_EQ(message(gemv_q8(kWave32, {.columns = 48})), "gemv_q8: column count 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.m = 48})), "matmul_f16: row count m 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.n = 48})), "matmul_f16: column count n 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.k = 24})), "matmul_f16: depth k 24 is not a multiple of 16");
    EXPECT_EQ(message(transpose(kWave32, {.rows = 33})), "transpose: row count 33 is not a multiple of 32");
    EXPECT_EQ(message(transpose(kWave32, {.columns = 33})), "transpose: column count 33 is not a multiple of 32");
    EXPECT_EQ(message(dot_f64(kWave32, {.count = 100})), "dot_f64: element count 100 is not a multiple of 256");
}

TEST(KernelRefusals, NameASizeThatIsTooLarge) {
    EXPECT_EQ(message(softmax(kWave32, {.width = 128 * 17})), "softmax: elements per lane 17 is not within 1 to 16");
    EXPECT_EQ(message(rope(kWave32, {.head_width = 1024})), "rope: head width 1024 is not within 1 to 512");
    EXPECT_EQ(message(argmax(kWave32, {.width = 0})), "argmax: width 0 is not within 1 to 1073741824");
    EXPECT_EQ(message(matmul_f16(kWave32, {.m = 65536, .n = 32768})),
              "matmul_f16: bytes of a matrix 8589934592 is not within 1 to 4294967296");
    EXPECT_EQ(message(transpose(kWave32, {.rows = 65536, .columns = 32768})),
              "transpose: bytes 8589934592 is not within 1 to 4294967296");
    EXPECT_EQ(message(histogram(kWave32, {.rounds = 0})), "histogram: rounds 0 is not within 1 to 1048576");
    EXPECT_EQ(message(grid_barrier(kWave32, {.phases = 65})), "grid_barrier: phases 65 is not within 1 to 64");
    EXPECT_EQ(message(reverse_copy(kWave32, {.chunks = 65})), "reverse_copy: chunks 65 is not within 1 to 64");
}

TEST(KernelRefusals, NameGroupsThatAreNoPowerOfTwo) {
    EXPECT_EQ(message(grid_barrier(kWave32, {.groups = 6})), "grid_barrier: 6 groups are not a power of two");
}

TEST(KernelRefusals, SayThatMatrixTilesNeedWavesOf32) {
    EXPECT_EQ(message(matmul_f16(kWave64, {})), "matmul_f16: only for waves of 32 lanes");
}

}  // namespace
}  // namespace riftjit::rdna::kernels
