#include "jit/rdna/refusal.h"

#include <fmt/format.h>

#include "jit/rdna/print_operand.h"

namespace riftjit::rdna {
namespace {

std::string operand_text(Generation generation, unsigned dwords, Operand operand) {
    if (!operand.exists()) return "";
    if (operand.is_literal()) return " (a literal)";
    if (operand.is_inline_constant()) return fmt::format(" ({})", print_constant(OperandType::i32, operand, 0));
    return fmt::format(" ({})", print_register(generation, operand, dwords));
}

std::string describe_operand(const Refusal& refusal, Generation generation, WaveSize wave,
                             const Instruction& instruction) {
    const auto index = static_cast<size_t>(refusal.operand);
    const bool is_half = refusal.half >= 0;
    const VopdHalf& half = instruction.dual[is_half ? static_cast<size_t>(refusal.half) : 0];
    const InstructionInfo& row = info(is_half ? half.opcode : instruction.opcode);
    const Operand operand = is_half ? half.operands[index] : instruction.operands[index];
    const unsigned dwords = index < row.operands.size() ? row.operands[index].size(wave) : 1;
    const std::string text = operand_text(generation, dwords, operand);
    if (index >= row.destinations) return fmt::format("source {}{}", index - row.destinations, text);
    return row.destinations == 1 ? "destination" + text : fmt::format("destination {}{}", index, text);
}

}  // namespace

std::string_view name(DecodeError error) {
    switch (error) {
        case DecodeError::truncated:
            return "truncated";
        case DecodeError::no_format:
            return "no format";
        case DecodeError::family_left_out:
            return "family left out";
        case DecodeError::unknown_opcode:
            return "unknown opcode";
        case DecodeError::reserved_bits:
            return "reserved bits";
        case DecodeError::operand:
            return "operand";
        case DecodeError::form:
            return "form";
    }
    return "?";
}

std::string describe(const Refusal& refusal, Generation generation, WaveSize wave, const Instruction& instruction) {
    std::string text;
    if (refusal.half >= 0) text += refusal.half == 0 ? "X half: " : "Y half: ";
    if (refusal.part != nullptr) text += std::string(refusal.part) + " ";
    if (refusal.operand >= 0) text += describe_operand(refusal, generation, wave, instruction) + " ";
    return text + refusal.why;
}

}  // namespace riftjit::rdna
