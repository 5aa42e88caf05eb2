// Which rows have an expectation of their own, by test file; valu_coverage_test.cpp asks for every row.
#pragma once

#include <vector>

#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna::emulator {

std::vector<Opcode> expected_integer_opcodes();
std::vector<Opcode> expected_float_opcodes();
std::vector<Opcode> expected_conversion_opcodes();
std::vector<Opcode> expected_dot_opcodes();
std::vector<Opcode> expected_cross_lane_opcodes();

}  // namespace riftjit::rdna::emulator
