#include "jit/rdna/encode/refusal.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/rdna/table/print_operand.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

std::string operand_text(Generation generation, unsigned dwords, Operand operand) {
    if (!operand.exists()) return "";
    if (operand.is_literal()) return " (a literal)";
    if (operand.is_inline_constant()) return fmt::format(" ({})", print_constant(OperandType::i32, operand, 0));
    return fmt::format(" ({})", print_register(generation, operand, dwords));
}

bool is_number(OperandType type) { return type == OperandType::imm || type == OperandType::length; }

bool has_resource(const InstructionInfo& row) {
    return std::ranges::any_of(row.source_operands(),
                               [](const OperandInfo& source) { return source.type == OperandType::rsrc; });
}

// The registers of an address by the name of their field.
std::string part_text(std::string_view part, Generation generation, const Instruction& instruction) {
    const Address& address = instruction.address;
    const InstructionInfo& row = info(instruction.opcode);
    if (part == "vaddr") return operand_text(generation, vaddr_dwords(row, address), address.vaddr);
    if (part == "sbase") return operand_text(generation, has_resource(row) ? 4 : 2, address.saddr);
    if (part == "saddr") return operand_text(generation, row.format == Format::SCRATCH ? 1 : 2, address.saddr);
    if (part == "srsrc") return operand_text(generation, 4, address.resource);
    if (part == "soffset") return operand_text(generation, 1, address.soffset);
    return part == "offset" ? fmt::format(" {}", address.offset) : "";
}

std::string describe_operand(const Refusal& refusal, Generation generation, WaveSize wave,
                             const Instruction& instruction) {
    const auto index = static_cast<size_t>(refusal.operand);
    const bool is_half = refusal.half >= 0;
    const VopdHalf& half = instruction.dual[is_half ? static_cast<size_t>(refusal.half) : 0];
    const InstructionInfo& row = info(is_half ? half.opcode : instruction.opcode);
    const Operand operand = is_half ? half.operands[index] : instruction.operands[index];
    const unsigned dwords = row.operands[index].size(wave);
    const std::string text = is_number(row.operands[index].type) ? fmt::format(" ({})", operand.code)
                                                                 : operand_text(generation, dwords, operand);
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
    if (refusal.part != nullptr)
        text += fmt::format("{}{} ", refusal.part, part_text(refusal.part, generation, instruction));
    if (refusal.operand >= 0) text += describe_operand(refusal, generation, wave, instruction) + " ";
    text += refusal.why;
    return refusal.last != 0 ? fmt::format("{} {} to {}", text, refusal.first, refusal.last) : text;
}

}  // namespace riftjit::rdna
