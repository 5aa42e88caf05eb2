// Constants as operands: inline codes where they exist, a literal otherwise.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna {

struct ConstantOperand {
    uint16_t code;         // an inline constant, or Operand::kLiteral
    uint32_t literal = 0;  // as it is encoded
};

// None if no operand of that type can hold the value: an integer beyond 32 bits, a double whose low half is not zero,
// or a number other than 0 written as an integer where a float is read.
std::optional<ConstantOperand> integer_constant(int64_t value, OperandType type);
std::optional<ConstantOperand> float_constant(double value, OperandType type);

}  // namespace riftjit::rdna
