#include "jit/rdna/encode/constants.h"

#include <array>
#include <bit>
#include <limits>

#include "host/half.h"
#include "jit/rdna/table/inline_floats.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {
namespace {

bool reads_float(OperandType type) {
    switch (type) {
        case OperandType::f16:
        case OperandType::bf16:
        case OperandType::f32:
        case OperandType::f64:
        case OperandType::f16x2:
        case OperandType::bf16x2:
        case OperandType::k16:
        case OperandType::k32:
            return true;
        default:
            return false;
    }
}

std::optional<uint32_t> literal_bits(double value, OperandType type) {
    switch (type) {
        case OperandType::f64: {
            const auto bits = std::bit_cast<uint64_t>(value);
            if ((bits & 0xFFFFFFFFu) != 0) return std::nullopt;
            return static_cast<uint32_t>(bits >> 32);
        }
        case OperandType::f16:
        case OperandType::k16:
            return float_to_half(static_cast<float>(value));
        case OperandType::f32:
        case OperandType::k32:
        case OperandType::b32:
        case OperandType::i32:
            return std::bit_cast<uint32_t>(static_cast<float>(value));
        default:
            return std::nullopt;  // packed halves and 64-bit integers have no single meaning
    }
}

bool has_inline_floats(OperandType type) {
    return type == OperandType::f64 || type == OperandType::f32 || type == OperandType::f16 ||
           type == OperandType::b32 || type == OperandType::i32;
}

}  // namespace

std::optional<ConstantOperand> integer_constant(int64_t value, OperandType type) {
    if (value != 0 && reads_float(type) && type != OperandType::f16x2 && type != OperandType::bf16x2)
        return std::nullopt;
    if (value >= 0 && value <= 64) return ConstantOperand{static_cast<uint16_t>(128 + value)};
    if (value >= -16 && value < 0) return ConstantOperand{static_cast<uint16_t>(192 - value)};
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max())
        return std::nullopt;
    return ConstantOperand{Operand::kLiteral, static_cast<uint32_t>(value)};
}

std::optional<ConstantOperand> float_constant(double value, OperandType type) {
    if (has_inline_floats(type)) {
        if (std::bit_cast<uint64_t>(value) == 0) return ConstantOperand{128};
        for (size_t i = 0; i + 1 < kInlineFloats.size();
             ++i)  // 1 / (2 pi) is exact in no format: only its name gives it
            if (value == std::bit_cast<double>(kInlineFloats[i].f64))
                return ConstantOperand{static_cast<uint16_t>(kFirstInlineFloat + i)};
    }
    const std::optional<uint32_t> bits = literal_bits(value, type);
    if (!bits) return std::nullopt;
    return ConstantOperand{Operand::kLiteral, *bits};
}

}  // namespace riftjit::rdna
