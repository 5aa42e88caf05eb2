// Destinations that must not lie over sources, which neither LLVM's assembler nor its hazard pass reports: the 64-bit
// multiply-add of gfx1100 to gfx1103 (none at all), and WMMA (the sums as a whole or not at all, the factors never).
#include <fmt/format.h>

#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/register_allocation.h"

namespace riftjit::rdna {
namespace {

RegisterRange range_of(const Program& program, const Instruction& instruction, unsigned slot) {
    const OperandInfo& operand = info(instruction.opcode).operands[slot];
    return {instruction.operands[slot].code, static_cast<uint16_t>(operand.size(program.wave_size))};
}

void check_line(const Program& program, size_t line) {
    const Instruction& instruction = program.lines[line].instruction;
    const InstructionInfo& row = info(instruction.opcode);
    const RegisterRange destination = range_of(program, instruction, 0);
    for (unsigned i = 0; i < row.sources; ++i) {
        const unsigned slot = row.destinations + i;
        if (!instruction.operands[slot].is_vgpr()) continue;
        const RegisterRange source = range_of(program, instruction, slot);
        constexpr unsigned kAddend = 2;
        if (!source.overlaps(destination) || (row.wmma && i == kAddend && source == destination)) continue;
        throw AssemblyError(fmt::format("{}: instruction {}, {}: the destination lies over source {}, which {} forbids",
                                        program.name, line, row.name, i, name(program.target)));
    }
}

}  // namespace

void check_overlaps(const Program& program) {
    const bool limits_multiply = info(program.target).mad_u64_overlap;
    for (size_t i = 0; i < program.lines.size(); ++i) {
        const InstructionInfo& row = info(program.lines[i].instruction.opcode);
        if (row.wmma || (limits_multiply && row.wide_mad)) check_line(program, i);
    }
}

}  // namespace riftjit::rdna
