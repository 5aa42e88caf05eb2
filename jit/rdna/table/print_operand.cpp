#include "jit/rdna/table/print_operand.h"

#include <fmt/format.h>

#include <array>

#include "jit/rdna/table/inline_floats.h"

namespace riftjit::rdna {
namespace {

std::string range(std::string_view file, unsigned first, unsigned dwords) {
    return dwords == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
}

std::string_view half_name(std::string_view whole, std::string_view low, std::string_view high, bool is_high,
                           unsigned dwords) {
    if (dwords == 2) return whole;
    return is_high ? high : low;
}

std::string_view special_name(Generation generation, unsigned code, unsigned dwords) {
    const bool is_null = code == null_register(generation).code;
    switch (code) {
        case 106:
        case 107:
            return half_name("vcc", "vcc_lo", "vcc_hi", code == 107, dwords);
        case 124:
        case 125:
            return is_null ? "null" : "m0";
        case 126:
        case 127:
            return half_name("exec", "exec_lo", "exec_hi", code == 127, dwords);
        case 235:
            return "src_shared_base";
        case 236:
            return "src_shared_limit";
        case 237:
            return "src_private_base";
        case 238:
            return "src_private_limit";
        case 239:
            return "src_pops_exiting_wave_id";
        case 251:
            return "src_vccz";
        case 252:
            return "src_execz";
        case 253:
            return "src_scc";
        case 254:
            return "src_lds_direct";
        default:
            return "";
    }
}

std::string print_integer_or(int64_t value, std::string_view float_name, uint64_t bits) {
    if (value >= -16 && value <= 64) return fmt::to_string(value);
    return float_name.empty() ? fmt::format("{:#x}", bits) : std::string(float_name);
}

std::string print_literal(OperandType type, uint32_t literal, bool doubles_floats) {
    const auto low = static_cast<uint16_t>(literal);
    switch (type) {
        case OperandType::i16:
            return print_integer_or(static_cast<int32_t>(literal), float_name(FloatFormat::f32, literal), low);
        case OperandType::f16:
            return print_integer_or(static_cast<int16_t>(low), float_name(FloatFormat::f16, low), low);
        case OperandType::bf16:
            return print_integer_or(static_cast<int16_t>(low), float_name(FloatFormat::bf16, low), literal);
        case OperandType::f16x2:
            return print_integer_or(static_cast<int32_t>(literal),
                                    literal > 0xFFFF || doubles_floats ? "" : float_name(FloatFormat::f16, literal),
                                    literal);
        case OperandType::bf16x2:
            return print_integer_or(static_cast<int32_t>(literal),
                                    literal > 0xFFFF ? "" : float_name(FloatFormat::bf16, literal), literal);
        case OperandType::i64:
        case OperandType::b64:
            return print_integer_or(literal, "", literal);
        case OperandType::f64: {
            const uint64_t value = uint64_t{literal} << 32;
            return value == 0 ? "0" : print_integer_or(INT64_MAX, float_name(FloatFormat::f64, value), literal);
        }
        default:
            return print_integer_or(static_cast<int32_t>(literal), float_name(FloatFormat::f32, literal), literal);
    }
}

}  // namespace

std::string print_register(Generation generation, Operand operand, unsigned dwords) {
    const unsigned code = operand.code;
    if (dwords == 0) dwords = 1;
    if (operand.is_vgpr()) return range("v", operand.vgpr(), dwords);
    if (code < 106) return range("s", code, dwords);
    if (code >= 108 && code < 124) return range("ttmp", code - 108, dwords);
    const std::string_view name = special_name(generation, code, dwords);
    return name.empty() ? fmt::format("<{}>", code) : std::string(name);
}

std::string print_constant(OperandType type, Operand operand, uint32_t literal, bool doubles_floats) {
    if (operand.is_literal()) return print_literal(type, literal, doubles_floats);
    const unsigned code = operand.code;
    if (code <= 192) return fmt::to_string(code - 128);
    if (code <= 208) return fmt::to_string(192 - static_cast<int>(code));
    // An integer operand of 16 bits shows the bits that the hardware supplies.
    if (type == OperandType::i16) return fmt::format("{:#x}", inline_float_bits(FloatFormat::f16, code));
    const bool is_wide = type == OperandType::f64 || type == OperandType::i64 || type == OperandType::b64;
    return std::string(inline_float_name(is_wide ? FloatFormat::f64 : FloatFormat::f32, code));
}

}  // namespace riftjit::rdna
