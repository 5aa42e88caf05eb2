// Compiled kernels that multiply and accumulate: f64, f16, integer dot products, matrices through LDS and WMMA. The
// host computes in the same order with the same fused steps, or on integers small enough that order does not matter.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "host/half.h"
#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna::emulator {
namespace compiler_matrix_test {

KernelCase tiled_matmul() {
    const auto a = filled<float>(256, [](uint32_t i) { return std::sin(static_cast<float>(i)); });
    const auto b = filled<float>(256, [](uint32_t i) { return std::cos(static_cast<float>(i)); });
    const auto expected = filled<float>(256, [&](uint32_t i) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; ++k) sum = std::fma(a[i / 16 * 16 + k], b[k * 16 + i % 16], sum);
        return sum;
    });
    return {"tiled_matmul", bytes_of(a), bytes_of(b), bytes_of(expected)};
}

// A product of halves is exact in f32; these sums are exact too (|a b| < 64 in steps of 2^-10, |c| < 64 in steps of
// 2^-5), so the one rounding is the one to half.
KernelCase saxpy_half() {
    return make_case<uint16_t>(
        "saxpy_half", [](uint32_t i) { return float_to_half((static_cast<float>(i) - 61) / 32 + 3); },
        [](uint32_t i) { return float_to_half(static_cast<float>(i * 37 % 2048) / 32 - 32); },
        [](const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
            return filled<uint16_t>(kItems, [&](uint32_t i) {
                return float_to_half(half_to_float(a[0]) * half_to_float(a[i]) + half_to_float(b[i]));
            });
        });
}

KernelCase newton_dot() {
    return make_case<double>(
        "newton_dot", [](uint32_t i) { return i * 0.37 - 20.1; }, [](uint32_t i) { return std::sin(i * 1.0); },
        [](const std::vector<double>& a, const std::vector<double>& b) {
            std::vector<double> out(kItems + kGroups);
            for (uint32_t i = 0; i < kItems; ++i) {
                double x = 1.0f / static_cast<float>(a[i]);
                for (int k = 0; k < 4; ++k) x = std::fma(x, std::fma(-a[i], x, 1.0), x);
                EXPECT_NEAR(x * a[i], 1.0, 0x1p-52);
                out[i] = x;
                const double product = x * b[i];
                out[kItems + i / kGroupItems] += product;
            }
            return out;
        });
}

KernelCase dot4() {
    return make_case<uint32_t>(
        "dot4", [](uint32_t i) { return i * 0x9E3779B9; }, [](uint32_t i) { return ~i * 0x85EBCA6B; },
        [](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
            return filled<uint32_t>(kItems, [&](uint32_t i) {
                uint32_t both_signed = i * 1000 - 5, neither = both_signed;
                for (unsigned k = 0; k < 4; ++k) {
                    const uint32_t x = a[i] >> 8 * k & 0xFF, y = b[i] >> 8 * k & 0xFF;
                    both_signed += static_cast<uint32_t>(static_cast<int8_t>(x) * static_cast<int8_t>(y));
                    neither += x * y;
                }
                return both_signed ^ neither;
            });
        });
}

constexpr uint32_t kTiles = 4, kTileElements = 256;

// Row times column (which lies contiguous) plus row - column, of small integers: exact in every order.
template <class Result>
std::vector<Result> tile_products(const auto& a, const auto& b) {
    return filled<Result>(kTiles * kTileElements, [&](uint32_t i) {
        const uint32_t tile = i / kTileElements * kTileElements, row = i % kTileElements / 16, column = i % 16;
        int32_t sum = static_cast<int32_t>(row) - static_cast<int32_t>(column);
        for (uint32_t k = 0; k < 16; ++k) sum += a[tile + row * 16 + k] * b[tile + column * 16 + k];
        return sum;
    });
}

std::vector<KernelCase> wmma_cases() {
    const auto a = filled<int8_t>(kTiles * kTileElements, some_number);
    const auto b = filled<uint8_t>(kTiles * kTileElements, [](uint32_t i) { return other_number(i) >> 3; });
    // Halves from -16 to 15 and 0 to 31: sums stay under 16 * 16 * 31, which f32 and the products hold exactly.
    const auto small_a = filled<int>(a.size(), [&](uint32_t i) { return a[i] / 8; });
    const auto small_b = filled<int>(b.size(), [&](uint32_t i) { return b[i] / 8; });
    const auto halves = [](const std::vector<int>& from) {
        return filled<uint16_t>(static_cast<uint32_t>(from.size()),
                                [&](uint32_t i) { return float_to_half(static_cast<float>(from[i])); });
    };
    return {{"wmma_half", bytes_of(halves(small_a)), bytes_of(halves(small_b)),
             bytes_of(tile_products<float>(small_a, small_b))},
            {"wmma_bytes", bytes_of(a), bytes_of(b), bytes_of(tile_products<int32_t>(a, b))}};
}

class CompiledMatrices : public testing::TestWithParam<Target> {};

TEST_P(CompiledMatrices, AreExactUnderEverySchedule) {
    const KernelCase cases[] = {tiled_matmul(), saxpy_half(), newton_dot(), dot4()};
    run_everywhere("matrix.cl", GetParam(), cases);
}

TEST_P(CompiledMatrices, ThroughWmmaAreExactUnderEverySchedule) {
    if (generation(GetParam()) == Generation::gfx10) GTEST_SKIP() << "gfx10 has no WMMA";
    run_everywhere("matrix.cl", GetParam(), wmma_cases());
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledMatrices, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace compiler_matrix_test
}  // namespace riftjit::rdna::emulator
