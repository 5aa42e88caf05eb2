// Every vector row of the instruction table is executed, or listed here with its reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "jit/rdna/emulator/valu/valu.h"
#include "jit/rdna/emulator/valu/valu_lane.h"
#include "tests/jit/rdna/emulator/valu/valu_expectations.h"

namespace riftjit::rdna::emulator {
namespace valu_coverage_test {

const std::set<std::string> kNotImplemented = {};

bool is_vector_row(const InstructionInfo& row) {
    return row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC ||
           row.format == Format::VOP3 || row.format == Format::VOP3P;
}

TEST(ValuCoverage, ExecutesEveryVectorRowOfTheTable) {
    size_t rows = 0;
    for (const InstructionInfo& row : all_instructions()) {
        if (!is_vector_row(row)) continue;
        ++rows;
        const bool listed = kNotImplemented.contains(std::string(row.name));
        EXPECT_EQ(valu_kind(row.opcode) == ValuKind::unsupported, listed) << row.name;
    }
    EXPECT_GE(rows, 550u);
}

TEST(ValuCoverage, ExpectsSomethingIndependentOfEveryVectorRow) {
    std::set<Opcode> expected;
    for (const auto& opcodes : {expected_integer_opcodes(), expected_float_opcodes(), expected_conversion_opcodes(),
                                expected_dot_opcodes(), expected_cross_lane_opcodes()})
        expected.insert(opcodes.begin(), opcodes.end());
    for (const InstructionInfo& row : all_instructions())
        EXPECT_EQ(expected.contains(row.opcode), is_vector_row(row)) << row.name;
}

TEST(ValuCoverage, ExecutesEveryOperationOfVopd) {
    for (const DualInfo& dual : dual_instructions())
        EXPECT_EQ(valu_kind(dual.opcode), ValuKind::lane_wise) << info(dual.opcode).name;
}

TEST(ValuCoverage, ClaimsNoRowOfAnotherUnit) {
    for (const InstructionInfo& row : all_instructions())
        EXPECT_EQ(valu_kind(row.opcode) == ValuKind::not_a_valu, !is_vector_row(row)) << row.name;
}

TEST(ValuCoverage, HasOneFunctionForEachRow) {
    std::set<Opcode> seen;
    for (const auto file :
         {integer_semantics(), integer16_semantics(), bit_semantics(), float_semantics(), minmax_semantics(),
          transcendental_semantics(), division_semantics(), conversion_semantics(), float8_semantics(),
          compare_semantics(), packed_semantics(), dot_semantics()})
        for (const LaneSemantics& row : file) EXPECT_TRUE(seen.insert(row.opcode).second) << info(row.opcode).name;
}

}  // namespace valu_coverage_test
}  // namespace riftjit::rdna::emulator
