#include "jit/formats/quant_grids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace riftjit {
namespace quant_grids_test {

struct Shape {
    QuantGrid grid;
    size_t rows;
    uint8_t columns;
};
// The GGUF specification's sizes (ggml-common.h). The entries themselves are checked by the decoders' goldens, which
// use every row.
constexpr Shape kShapes[] = {{QuantGrid::iq2xxs, 256, 8}, {QuantGrid::iq2xs, 512, 8}, {QuantGrid::iq2s, 1024, 8},
                             {QuantGrid::iq3xxs, 256, 4}, {QuantGrid::iq3s, 512, 4},  {QuantGrid::iq1s, 2048, 8}};

TEST(QuantGrids, ExpandToTheirShapes) {
    for (const Shape& shape : kShapes) {
        EXPECT_EQ(packed_grid(shape.grid).rows.size(), shape.rows);
        EXPECT_EQ(packed_grid(shape.grid).columns, shape.columns);
        EXPECT_EQ(grid_bytes(shape.grid).size(), shape.rows * shape.columns);
    }
}

TEST(QuantGrids, RowsAreDistinctAndEveryValueIsUsed) {
    for (const Shape& shape : kShapes) {
        const auto bytes = grid_bytes(shape.grid);
        std::set<std::vector<int8_t>> rows;
        for (size_t row = 0; row < shape.rows; ++row)
            rows.emplace(bytes.begin() + row * shape.columns, bytes.begin() + (row + 1) * shape.columns);
        EXPECT_EQ(rows.size(), shape.rows);
        const auto values = packed_grid(shape.grid).values;
        const std::set<int8_t> used(bytes.begin(), bytes.end());
        EXPECT_TRUE(std::ranges::equal(used, values)) << "grid " << int(shape.grid);
    }
}

TEST(QuantGrids, SignCodesExpandToAnEvenNumberOfSigns) {
    for (uint32_t code = 0; code < 128; ++code) {
        EXPECT_EQ(expand_sign_code(code) & 127, static_cast<int>(code));
        EXPECT_EQ(std::popcount(expand_sign_code(code)) % 2, 0) << code;
    }
}

}  // namespace quant_grids_test
}  // namespace riftjit
