#include "jit/rdna/text/parse_operand.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "host/half.h"
#include "jit/rdna/table/inline_floats.h"
#include "jit/rdna/text/expression.h"
#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

struct RegisterName {
    std::string_view name;
    uint16_t code;
    uint8_t dwords;  // 0: any
};
// m0 and null differ between the generations and are looked up apart.
constexpr RegisterName kRegisterNames[] = {
    {"vcc", 106, 2},
    {"vcc_lo", 106, 1},
    {"vcc_hi", 107, 1},
    {"exec", 126, 2},
    {"exec_lo", 126, 1},
    {"exec_hi", 127, 1},
    {"src_shared_base", 235, 0},
    {"src_shared_limit", 236, 0},
    {"src_private_base", 237, 0},
    {"src_private_limit", 238, 0},
    {"src_pops_exiting_wave_id", 239, 0},
    {"shared_base", 235, 0},
    {"shared_limit", 236, 0},
    {"private_base", 237, 0},
    {"private_limit", 238, 0},
    {"pops_exiting_wave_id", 239, 0},
    {"src_scc", 253, 0},
    {"scc", 253, 0},
};

struct NamedRegisters {
    Operand first;
    unsigned dwords;
};

struct RegisterFile {
    std::string_view prefix;
    unsigned first_code, count;
};
constexpr std::array<RegisterFile, 3> kFiles = {{{"v", Operand::kFirstVgpr, 256}, {"s", 0, 106}, {"ttmp", 108, 16}}};

std::optional<unsigned> small_number(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}
std::optional<unsigned> register_number(std::string_view text) {  // in brackets
    const std::optional<int64_t> value = parse_number(text);
    return value && *value >= 0 && *value < 256 ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

// "5", "[5]" or "[4:5]" after the prefix of a register file.
std::optional<NamedRegisters> parse_range(const RegisterFile& file, std::string_view text) {
    std::optional<unsigned> first, last;
    if (text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
        const size_t colon = text.find(':');
        first = register_number(trim(text.substr(0, colon)));
        last = colon == std::string_view::npos ? first : register_number(trim(text.substr(colon + 1)));
    } else {
        first = last = small_number(text);
    }
    if (!first || !last || *first > *last || *last >= file.count) return std::nullopt;
    return NamedRegisters{{static_cast<uint16_t>(file.first_code + *first)}, *last - *first + 1};
}

std::optional<NamedRegisters> parse_register(Generation generation, std::string_view text);

// "[s4, s5]": neighbours that make up one range.
std::optional<NamedRegisters> parse_register_list(Generation generation, std::string_view text) {
    std::optional<NamedRegisters> whole;
    for (const std::string_view item : list_items(text)) {
        const std::optional<NamedRegisters> part = parse_register(generation, item);
        if (!part || part->dwords != 1) return std::nullopt;
        if (!whole) {
            whole = part;
        } else if (part->first.code == whole->first.code + whole->dwords) {
            ++whole->dwords;
        } else {
            return std::nullopt;
        }
    }
    return whole;
}

std::optional<NamedRegisters> parse_register(Generation generation, std::string_view text) {
    if (text == "null") return NamedRegisters{null_register(generation), 0};
    if (text == "m0") return NamedRegisters{m0_register(generation), 1};
    if (generation == Generation::gfx10) {
        if (text == "src_vccz" || text == "vccz") return NamedRegisters{{251}, 0};
        if (text == "src_execz" || text == "execz") return NamedRegisters{{252}, 0};
    }
    for (const RegisterName& known : kRegisterNames)
        if (known.name == text) return NamedRegisters{{known.code}, known.dwords};
    if (text.starts_with('[')) return parse_register_list(generation, text);
    for (const RegisterFile& file : kFiles) {
        if (!text.starts_with(file.prefix)) continue;
        if (const auto range = parse_range(file, text.substr(file.prefix.size()))) return range;
    }
    return std::nullopt;
}

// v7.l and v7.h: one half of a register.
void take_half(std::string_view& text, ParsedOperand& operand) {
    if (!text.starts_with('v') || text.size() < 4) return;
    if (!text.ends_with(".l") && !text.ends_with(".h")) return;
    operand.has_half = true;
    operand.is_high_half = text.ends_with(".h");
    text.remove_suffix(2);
}

bool unwrap(std::string_view& text, std::string_view name) {
    if (!text.starts_with(name) || text.size() < name.size() + 2) return false;
    const std::string_view rest = trim(text.substr(name.size()));
    if (!rest.starts_with('(') || !rest.ends_with(')')) return false;
    text = trim(rest.substr(1, rest.size() - 2));
    return true;
}

// Signs, bars and functions around a source; a minus sign before a number is part of the number.
void take_source_modifiers(std::string_view& text, ParsedOperand& operand) {
    if (unwrap(text, "sext")) operand.is_sign_extended = true;
    if (unwrap(text, "neg")) {
        operand.is_negated = true;
    } else if (text.size() > 1 && text.front() == '-') {
        const std::string_view rest = trim(text.substr(1));
        if (rest.front() == '|' || rest.starts_with("abs(") ||
            std::isalpha(static_cast<unsigned char>(rest.front())) != 0)
            operand.is_negated = true, text = rest;
    }
    if (unwrap(text, "abs")) {
        operand.is_absolute = true;
    } else if (text.size() > 2 && text.front() == '|' && text.back() == '|') {
        operand.is_absolute = true;
        text = trim(text.substr(1, text.size() - 2));
    }
}

// "0.5", "1e5", and "0x1.8p-3", which needs its exponent. What no float holds is refused, where LLVM takes infinity or
// 0.
Result<std::optional<double>> parse_real(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    if (text.find_first_of(is_hex ? "pP" : ".eE") == std::string_view::npos) return std::nullopt;
    if (text.find_first_not_of(is_hex ? "0123456789abcdefABCDEFxX.pP+-" : "0123456789.eE+-") != std::string_view::npos)
        return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(text.front())) == 0 && text.front() != '.') return std::nullopt;
    const std::string terminated(text);
    char* end = nullptr;
    const double value = std::strtod(terminated.c_str(), &end);
    if (end != terminated.c_str() + terminated.size()) return std::nullopt;
    if (std::isinf(value)) return fail(ErrorKind::Usage, "is too large for a float of 64 bits");
    const std::string_view digits =
        text.substr(is_hex ? 2 : 0, text.find_first_of(is_hex ? "pP" : "eE") - (is_hex ? 2 : 0));
    if (value == 0 && digits.find_first_not_of("0.") != std::string_view::npos)
        return fail(ErrorKind::Usage, "is too small for a float of 64 bits");
    return is_negative ? -value : value;
}

std::optional<uint16_t> inline_integer(int64_t value) {
    if (value >= 0 && value <= 64) return static_cast<uint16_t>(128 + value);
    if (value >= -16 && value < 0) return static_cast<uint16_t>(192 - value);
    return std::nullopt;
}

SourceConstant literal(uint64_t bits) { return {{Operand::kLiteral}, static_cast<uint32_t>(bits)}; }

SourceConstant inline_or_literal(FloatFormat format, uint64_t bits, uint64_t literal_bits) {
    const std::optional<uint16_t> code = inline_float_code(format, bits);
    return code ? SourceConstant{{*code}} : literal(literal_bits);
}

bool fits(int64_t value, unsigned bits) { return value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << bits); }

FloatFormat float_format(OperandType type) {
    switch (type) {
        case OperandType::f16:
        case OperandType::i16:
        case OperandType::f16x2:
        case OperandType::k16:
            return FloatFormat::f16;
        case OperandType::bf16:
        case OperandType::bf16x2:
            return FloatFormat::bf16;
        case OperandType::f64:
        case OperandType::i64:
        case OperandType::b64:
            return FloatFormat::f64;
        default:
            return FloatFormat::f32;
    }
}

// `doubles_floats`: an inline float stands for two of them.
Result<SourceConstant> typed_integer(int64_t value, OperandType type, bool doubles_floats) {
    const bool is_half = type == OperandType::i16 || type == OperandType::f16 || type == OperandType::bf16;
    if (const std::optional<uint16_t> code = inline_integer(value)) return SourceConstant{{*code}};
    if (is_half) {
        if (!fits(value, 16)) return fail(ErrorKind::Usage, "{} does not fit 16 bits", value);
        const auto bits = static_cast<uint16_t>(value);
        if (type == OperandType::i16) return literal(bits);
        if (const auto code = inline_integer(static_cast<int16_t>(bits))) return SourceConstant{{*code}};
        return inline_or_literal(float_format(type), bits, bits);
    }
    const bool is_wide = float_format(type) == FloatFormat::f64;
    const auto wide_bits = static_cast<uint64_t>(value);
    if (is_wide)
        if (const auto code = inline_float_code(FloatFormat::f64, wide_bits)) return SourceConstant{{*code}};
    if (type == OperandType::f64 && (wide_bits & 0xFFFFFFFF) == 0) return literal(wide_bits >> 32);
    if (!fits(value, 32)) return fail(ErrorKind::Usage, "{} does not fit 32 bits", value);
    const auto bits = static_cast<uint32_t>(value);
    if (type == OperandType::f64) return inline_or_literal(FloatFormat::f64, uint64_t{bits} << 32, bits);
    if (is_wide) return literal(bits);
    if (const auto code = inline_integer(static_cast<int32_t>(bits))) return SourceConstant{{*code}};
    if (!doubles_floats) return inline_or_literal(float_format(type), bits, bits);
    return bits >> 16 == (bits & 0xFFFF) ? inline_or_literal(float_format(type), bits & 0xFFFF, bits) : literal(bits);
}

// A number of the format and how far its exponents reach.
struct RoundedFloat {
    uint64_t bits;
    double value, smallest_normal;
};
RoundedFloat rounded(double value, FloatFormat format) {
    const auto single = static_cast<float>(value);
    switch (format) {
        case FloatFormat::f16: {
            const uint16_t half = float_to_half(single);
            return {half, half_to_float(half), 0x1p-14};
        }
        case FloatFormat::bf16: {
            const uint16_t bfloat = float_to_bfloat(single);
            return {bfloat, bfloat_to_float(bfloat), 0x1p-126};
        }
        case FloatFormat::f32:
            return {std::bit_cast<uint32_t>(single), single, 0x1p-126};
        default:
            return {std::bit_cast<uint64_t>(value), value, 0};
    }
}

// Rounded to the format, but neither to infinity nor where it has fewer digits than elsewhere (LLVM's rule too).
Result<uint64_t> float_bits(double value, FloatFormat format) {
    const RoundedFloat number = rounded(value, format);
    const unsigned width = format == FloatFormat::f32 ? 32 : 16;
    if (std::isinf(number.value)) return fail(ErrorKind::Usage, "is too large for a float of {} bits", width);
    if (std::abs(number.value) < number.smallest_normal && number.value != value)
        return fail(ErrorKind::Usage, "is too small for a float of {} bits", width);
    return number.bits;
}

Result<SourceConstant> real_constant(double value, OperandType type) {
    const FloatFormat format = float_format(type);
    RIFTJIT_TRY(bits, float_bits(value, format));
    // The least floats have the bits of inline integers; of 16-bit integers a float is another number.
    if (bits == 0 || (bits <= 64 && type != OperandType::i16))
        return SourceConstant{{static_cast<uint16_t>(128 + bits)}};
    // "0.15915494" is the constant's spelling in every format, though not its nearest number in some.
    if (std::abs(value - std::bit_cast<double>(kInlineFloats[8].f64)) < 1e-8)
        return SourceConstant{{static_cast<uint16_t>(kLastInlineFloat)}};
    // The literal of a 64-bit integer is its low half, so no other decimal has one.
    if (format == FloatFormat::f64 && type != OperandType::f64 && !inline_float_code(format, bits))
        return fail(ErrorKind::Usage, "is no constant of 64-bit integers: they take integers and inline floats");
    // 16-bit integers read the lower half of a float's 32 bits.
    if (type == OperandType::i16)
        return inline_or_literal(format, bits, std::bit_cast<uint32_t>(static_cast<float>(value)));
    return inline_or_literal(format, bits, format == FloatFormat::f64 ? bits >> 32 : bits);
}

}  // namespace

Result<ParsedOperand> parse_operand_text(Generation generation, std::string_view text) {
    ParsedOperand operand;
    text = trim(text);
    if (text.empty()) return fail(ErrorKind::Usage, "is empty");
    take_source_modifiers(text, operand);
    operand.word = text;
    const bool is_modified = operand.is_negated || operand.is_absolute || operand.is_sign_extended;
    if (const std::optional<int64_t> integer = is_modified ? parse_integer(text) : parse_number(text)) {
        operand.form = ValueForm::integer;
        operand.integer = *integer;
        return operand;
    }
    RIFTJIT_TRY(real, parse_real(text));
    if (real) {
        operand.form = ValueForm::real;
        operand.real = *real;
        return operand;
    }
    std::string_view name = text;
    take_half(name, operand);
    if (const std::optional<NamedRegisters> range = parse_register(generation, name)) {
        operand.form = ValueForm::register_;
        operand.reg = range->first;
        operand.dwords = range->dwords;
    }
    return operand;
}

Result<SourceConstant> source_constant(const ParsedOperand& number, OperandType type, bool doubles_floats) {
    if (number.form != ValueForm::integer) return real_constant(number.real, type);
    return typed_integer(number.integer, type, doubles_floats);
}

Result<uint32_t> literal_constant(const ParsedOperand& number, OperandType type) {
    if (number.form == ValueForm::real) {
        RIFTJIT_TRY(real, float_bits(number.real, float_format(type)));
        return static_cast<uint32_t>(real);
    }
    const unsigned bits = type == OperandType::k16 ? 16 : 32;
    if (!fits(number.integer, bits)) return fail(ErrorKind::Usage, "{} does not fit {} bits", number.integer, bits);
    return static_cast<uint32_t>(number.integer) & (bits == 16 ? 0xFFFF : ~0u);
}

}  // namespace riftjit::rdna
