#include "jit/rdna/text/parse_dual.h"

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/mnemonic_index.h"
#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/parse_match.h"
#include "jit/rdna/text/parse_operand.h"

namespace riftjit::rdna {
namespace {

constexpr std::string_view kPrefix = "v_dual_";

// The row that "v_dual_NAME" pairs, which the plain mnemonic "v_NAME" means.
Result<Opcode> dual_opcode(Target target, const std::string& mnemonic) {
    if (mnemonic.starts_with(kPrefix)) {
        const std::string plain = "v_" + mnemonic.substr(kPrefix.size());
        for (const Opcode opcode : opcodes_named(generation(target), plain))
            for (const DualInfo& dual : dual_instructions())
                if (dual.opcode == opcode && dual.first <= generation(target) && generation(target) <= dual.last)
                    return opcode;
    }
    return fail(ErrorKind::Usage, "{}: {} pairs no such instruction", mnemonic, name(target));
}

class HalfMatcher {
public:
    HalfMatcher(Target target, Instruction& instruction) : target_(target), instruction_(instruction) {}

    Result<void> match(std::string_view text, size_t column, VopdHalf& half) {
        RIFTJIT_TRY(line, split_line(text, column));
        RIFTJIT_TRY(opcode, dual_opcode(target_, line.mnemonic));
        half.opcode = opcode;
        if (!line.modifiers.empty())
            return fail(ErrorKind::Usage, "{}: modifier at column {}: takes no {} ({})", line.mnemonic,
                        line.modifiers[0].column, line.modifiers[0].name, name(target_));
        const bool has_constant = opcode == Opcode::v_fmaak_f32 || opcode == Opcode::v_fmamk_f32;
        const size_t constant_at = opcode == Opcode::v_fmaak_f32 ? 3 : 2;
        const size_t count = opcode == Opcode::v_mov_b32 ? 2 : has_constant ? 4 : 3;
        if (line.operands.size() != count)
            return fail(ErrorKind::Usage, "{}: takes {} operands, not {} ({})", line.mnemonic, count,
                        line.operands.size(), name(target_));
        size_t index = 0;
        for (size_t i = 0; i < count; ++i) {
            const bool is_constant = has_constant && i == constant_at;
            const Result<void> taken =
                is_constant ? take_constant(line.operands[i].text) : take(half, index++, line.operands[i].text);
            if (!taken) return operand_error(target_, line.mnemonic, i + 1, line.operands[i], taken.error().message);
        }
        return {};
    }

private:
    Result<void> take_constant(std::string_view text) {
        RIFTJIT_TRY(value, parse_operand_text(generation(target_), text));
        if (value.form != ValueForm::integer && value.form != ValueForm::real)
            return fail(ErrorKind::Usage, "is no number");
        RIFTJIT_TRY(bits, literal_constant(value, OperandType::k32));
        return set_literal(bits);
    }

    Result<void> take(VopdHalf& half, size_t index, std::string_view text) {
        RIFTJIT_TRY(value, parse_operand_text(generation(target_), text));
        if (value.is_negated || value.is_absolute || value.is_sign_extended)
            return fail(ErrorKind::Usage, "takes no sign modifier");
        if (value.form == ValueForm::register_) {
            if (value.dwords > 1) return fail(ErrorKind::Usage, "is more than one register");
            half.operands[index] = value.reg;
            return {};
        }
        if (index != 1 || value.form == ValueForm::word) return fail(ErrorKind::Usage, "is no register");
        RIFTJIT_TRY(constant, source_constant(value, info(half.opcode).operands[1].type));
        half.operands[index] = constant.operand;
        return constant.operand.is_literal() ? set_literal(constant.literal) : Result<void>();
    }

    Result<void> set_literal(uint32_t bits) {
        if (instruction_.has_literal && instruction_.literal != bits)
            return fail(ErrorKind::Usage, "is a second literal; a pair holds one");
        instruction_.has_literal = true;
        instruction_.literal = bits;
        return {};
    }

    Target target_;
    Instruction& instruction_;
};

}  // namespace

Result<Parsed> parse_dual(Target target, WaveSize wave, std::string_view x, std::string_view y, size_t y_column) {
    Parsed parsed;
    Instruction& instruction = parsed.instruction;
    instruction.encoding = Encoding::vopd;
    HalfMatcher matcher(target, instruction);
    RIFTJIT_TRY_VOID(matcher.match(x, 1, instruction.dual[0]));
    RIFTJIT_TRY_VOID(matcher.match(y, y_column, instruction.dual[1]));
    instruction.opcode = instruction.dual[0].opcode;
    const Result<EncodedInstruction> encoded = encode(target, wave, instruction);
    if (!encoded) return std::unexpected(encoded.error());
    instruction.size = static_cast<uint8_t>(4 * encoded->count);
    return parsed;
}

}  // namespace riftjit::rdna
