#include "jit/columns/column_program.h"

#include <gtest/gtest.h>

#include <numeric>

#include "jit/columns/column_reference.h"
#include "jit/kernel_spec.h"
#include "tests/jit/spec_table.h"

namespace riftjit {
namespace column_program_test {

TEST(ColumnProgram, IsDescribedInOneLineAndWrittenOneStepALine) {
    EXPECT_EQ(describe(kColumnProgram),
              "column program f64, 2 columns, 16 bytes per element, 2 scalars, 8 steps: 1 constant, 1 scalar, 1 load, "
              "1 fused_multiply_add, 1 less_equal, 1 uniform, 1 store, 1 fire");
    EXPECT_EQ(column_program_text(kColumnProgram),
              "v0 = column 0 (f64)\n"
              "v1 = uniform draw 1\n"
              "v2 = scalar 1\n"
              "v3 = fused_multiply_add v1, v2, v0\n"
              "v4 = 1\n"
              "v5 = less_equal v4, v3\n"
              "column 0 (f64) = v3\n"
              "fire where v5\n");
}

TEST(ColumnProgram, CountsTheBytesOfEachColumnOncePerDirection) {
    const ColumnProgramSpec spec{Precision::f64,
                                 0,
                                 {ColumnType::f64, ColumnType::f32, ColumnType::u8, ColumnType::u16, ColumnType::u32},
                                 {{ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::load, 0, 0, 0, 2},
                                  {ColumnOp::store, 0, 0, 0, 1},
                                  {ColumnOp::store, 0, 0, 0, 1},
                                  {ColumnOp::store, 0, 0, 0, 3}}};
    EXPECT_EQ(column_bytes(spec), 8u + 1 + 4 + 2);
}

TEST(ColumnProgram, HasOneUnitPerElementAndTheFlopsOfItsSteps) {
    EXPECT_EQ(unit_count(kColumnProgram, 1000), 1000u);
    EXPECT_EQ(cost(kColumnProgram).flops, 20u + 2 + 1);
}

TEST(ColumnReference, LoadsComputesStoresAndFires) {
    const ColumnProgramSpec spec{Precision::f64,
                                 1,
                                 {ColumnType::f64, ColumnType::u8},
                                 {{ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::scalar, 0, 0, 0, 0},
                                  {ColumnOp::id},
                                  {ColumnOp::fused_multiply_add, 0, 1, 2},
                                  {ColumnOp::store, 3, 0, 0, 0},
                                  {ColumnOp::constant, 0, 0, 0, 0, 6.5},
                                  {ColumnOp::less, 5, 3},
                                  {ColumnOp::fire, 6},
                                  {ColumnOp::constant, 0, 0, 0, 0, 3.0},
                                  {ColumnOp::select, 6, 8, 0},
                                  {ColumnOp::store, 9, 0, 0, 1}}};
    ASSERT_TRUE(validate(spec));
    std::vector<double> state(5);
    std::iota(state.begin(), state.end(), 0.0);
    std::vector<uint8_t> small(5, 9);
    void* columns[] = {state.data(), small.data()};
    const double scalar = 0.5;
    std::vector<uint32_t> fired(5 + kColumnPadding);
    ColumnProgramArgs args{columns, &scalar, fired.data(), 0, 5, 4, 0, 0};
    run_column_program(spec, args, 0, 5);
    EXPECT_EQ(state, (std::vector<double>{4, 5.5, 7, 8.5, 10}));
    EXPECT_EQ(small, (std::vector<uint8_t>{0, 1, 3, 3, 3}));
    EXPECT_EQ(args.fired_count, 3u);
    EXPECT_EQ((std::vector<uint32_t>(fired.begin(), fired.begin() + 3)), (std::vector<uint32_t>{2, 3, 4}));
}

TEST(ColumnReference, RoundsToF32AndConvertsColumns) {
    const ColumnProgramSpec spec{Precision::f32,
                                 0,
                                 {ColumnType::u32, ColumnType::f64},
                                 {{ColumnOp::load, 0, 0, 0, 0}, {ColumnOp::store, 0, 0, 0, 1}}};
    uint32_t in = (1u << 24) + 1;
    double out = 0;
    void* columns[] = {&in, &out};
    ColumnProgramArgs args{columns, nullptr, nullptr, 0, 1, 0, 0, 0};
    run_column_program(spec, args, 0, 1);
    EXPECT_EQ(out, double(1u << 24));
}

}  // namespace column_program_test
}  // namespace riftjit
