// The text of one operand as a register, a number or a word, and numbers as source codes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

enum class ValueForm : uint8_t { register_, integer, real, word };

// An operand before its instruction is known.
struct ParsedOperand {
    ValueForm form = ValueForm::word;
    Operand reg;          // register_
    unsigned dwords = 0;  // register_: 0 where any width will do (null, src_scc)
    bool is_high_half = false, has_half = false;
    int64_t integer = 0;
    double real = 0;
    std::string_view word;
    bool is_negated = false, is_absolute = false, is_sign_extended = false;
};

Result<ParsedOperand> parse_operand_text(Generation generation, std::string_view text);

// A number as a source of that type: an inline constant, or code 255 and the literal. An error says why none can hold
// it.
struct SourceConstant {
    Operand operand;
    uint32_t literal = 0;
};
Result<SourceConstant> source_constant(const ParsedOperand& number, OperandType type, bool doubles_floats = false);

// The constant of fmaak and fmamk, always 32 bits.
Result<uint32_t> literal_constant(const ParsedOperand& number, OperandType type);

}  // namespace riftjit::rdna
