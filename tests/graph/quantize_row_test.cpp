#include "graph/quantize_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/dequantize.h"

namespace riftjit::graph {
namespace quantize_row_test {

// 64 blocks within half of 1, exact in f32.
std::vector<float> some_floats() {
    std::vector<float> x(64 * 32);
    for (uint32_t i = 0; i < x.size(); ++i) x[i] = float(i * 2654435761u >> 8) * 0x1p-24f - 0.5f;
    x[31] = 0;
    return x;
}

uint64_t fnv1a(std::span<const std::byte> bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const std::byte byte : bytes) hash = (hash ^ uint64_t(byte)) * 0x100000001b3;
    return hash;
}

std::vector<float> back(DType type, std::span<const float> x) {
    std::vector<float> values(x.size());
    dequantize_row(type, quantize_row(type, x).data(), uint32_t(x.size()), values.data());
    return values;
}

// What llama.cpp's quantize_row_*_ref made of the same floats (libggml-base of llama_cpp_python 0.3.36).
TEST(QuantizeRow, GivesTheBlocksOfLlamaCpp) {
    for (const auto& [type, hash] : {std::pair(DType::Q4_0, 0xdd263a1e94ab02c6ull),
                                     {DType::Q4_1, 0xa7177adb899ba9beull},
                                     {DType::Q5_0, 0xf538b2571762b57ull},
                                     {DType::Q5_1, 0xa6182420b6b0d498ull},
                                     {DType::IQ4_NL, 0x389d00661a660d2bull}})
        EXPECT_EQ(fnv1a(quantize_row(type, some_floats())), hash) << name(type);
}

// Half a step, or less: of the range of a block's values by its codes, and what a scale of 11 bits adds.
TEST(QuantizeRow, IsOffByHalfAStepAtMost) {
    const std::vector<float> x = some_floats();
    for (const DType type : kCacheTypes) {
        const auto packed = packed_cache(type);
        // At most 1 is spread over the codes: twice the largest magnitude, of which one end has no code of its own
        // where there is no minimum. The table goes from -127 to 113 of a scale that is fitted.
        const double step = packed                ? packed->table != nullptr ? 0.14 : 1.0 / packed->largest_code()
                                           : type == DType::Q8_0 ? 0.5 / 127
                            : type == DType::BF16 ? 0x1p-9
                            : type == DType::F16  ? 0x1p-12
                                                  : 0;
        const double bound = (packed && packed->table == nullptr && !packed->has_minimum ? 1 : 0.5) * step * 1.02;
        const std::vector<float> values = back(type, x);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(values[i] - x[i]), bound) << name(type) << " " << i;
    }
}

// Max, "Quantizing for minimum distortion" (1960): the best 16 levels for a normal distribution leave 0.009497 of its
// variance. Scales that follow each block's own deviation, by least squares, leave less.
TEST(QuantizeRow, CodesOfRotatedCachesLeaveNoMoreThanTheBestSixteenLevelsForAll) {
    std::mt19937 random(1);
    std::normal_distribution<float> values(0, 3);
    std::vector<float> x(32 * 4000);
    std::ranges::generate(x, [&] { return values(random); });
    const std::vector<float> found = back(DType::RQ4, x);
    double error = 0, variance = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        error += std::pow(double(found[i]) - x[i], 2);
        variance += double(x[i]) * x[i];
    }
    EXPECT_LE(error / variance, 0.009497);
}

TEST(QuantizeRow, KeepsZerosAndTellsWhatIsNoNumber) {
    for (const DType type : kCacheTypes) {
        std::vector<float> x(32);
        EXPECT_EQ(back(type, x), x) << name(type);
        x[7] = NAN;
        EXPECT_TRUE(std::isnan(back(type, x)[7]) || packed_cache(type)) << name(type);
    }
}

}  // namespace quantize_row_test
}  // namespace riftjit::graph
