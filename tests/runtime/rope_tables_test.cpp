#include "runtime/rope_tables.h"

#include <gtest/gtest.h>

#include <cmath>

namespace riftjit::runtime {
namespace rope_tables_test {

graph::RopeAngles table(uint32_t rotary_dims, float base, float scale) { return {rotary_dims, base, scale}; }

std::vector<BatchRow> rows_at(uint32_t position, uint32_t count) {
    std::vector<BatchRow> rows;
    for (uint32_t row = 0; row < count; ++row) rows.push_back({0, position + row});
    return rows;
}

// The angle in 80-bit arithmetic; a correctly rounded float is within half a unit in the last place, 2^-25 below 1, and
// the double angle of position 10^6 is off by less than 2^-33.
constexpr double kBound = 0x1p-24;

TEST(RopeTables, EqualTheFormulaUpToFarPositions) {
    for (const auto& [dims, base, scale] : {std::tuple{64u, 10000.0f, 1.0f}, {128u, 1e6f, 1.0f}, {6u, 500.0f, 0.25f}}) {
        const RopeTable rope(table(dims, base, scale), {});
        std::vector<float> room(3 * dims);
        ASSERT_EQ(rope.floats_per_row(), dims);
        for (uint32_t position : {0u, 1u, 1000u, 1'000'000u}) {
            const auto filled = rope.fill(rows_at(position, 3), 4096, room);
            ASSERT_EQ(filled.size(), 3u * dims);
            for (uint32_t token = 0; token < 3; ++token) {
                for (uint32_t pair = 0; pair < dims / 2; ++pair) {
                    const long double angle =
                        (long double)(position + token) * scale * std::pow((long double)base, -2.0L * pair / dims);
                    EXPECT_NEAR(filled[token * dims + 2 * pair], double(std::cos(angle)), kBound);
                    EXPECT_NEAR(filled[token * dims + 2 * pair + 1], double(std::sin(angle)), kBound);
                }
            }
        }
    }
}

TEST(RopeTables, FactorsDivideTheFrequencies) {
    const std::vector<float> factors = {1, 2, 8, 0, 0};  // padded, as vectors of weights are
    const RopeTable rope(table(6, 10000, 1), factors);
    std::vector<float> room(6);
    const auto filled = rope.fill(rows_at(5, 1), 4096, room);
    for (uint32_t pair = 0; pair < 3; ++pair) {
        const double angle = 5 * std::pow(10000.0, -2.0 * pair / 6) / factors[pair];
        EXPECT_NEAR(filled[2 * pair], std::cos(angle), kBound);
        EXPECT_NEAR(filled[2 * pair + 1], std::sin(angle), kBound);
    }
}

TEST(RopeTables, APositionsRowDoesNotDependOnItsBatch) {
    const RopeTable rope(table(64, 10000, 1), {});
    std::vector<float> batch_room(16 * 64), room(64);
    const auto all = rope.fill(rows_at(100, 16), 4096, batch_room);
    for (uint32_t token = 0; token < 16; ++token) {
        const auto one = rope.fill(rows_at(100 + token, 1), 4096, room);
        EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + token * 64));
    }
}

}  // namespace rope_tables_test
}  // namespace riftjit::runtime
