// What the passes ask of an instruction: its accesses (jit/rdna/table/accesses.h) as they see them, and its counters.
#pragma once

#include <cstdint>
#include <span>

#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/passes/program.h"
#include "jit/rdna/table/accesses.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// A hardware register by its operand code, vector ones from Operand::kFirstVgpr on.
inline constexpr unsigned kRegisterCodes = Operand::kFirstVgpr + kMaxVgprs;

SlotEffects slot_effects(Target target, WaveSize wave, const Instruction& instruction);

// The same of a line, as it was noted there if it was.
inline SlotEffects slots_of(const Program& program, const Line& line) {
    return line.slots ? *line.slots : slot_effects(program.target, program.wave_size, line.instruction);
}

using RegisterRanges = InlineVector<RegisterRange, 16>;
struct Effects {
    RegisterRanges reads, writes;
    bool reads_any(RegisterRange range) const;
    bool writes_any(RegisterRange range) const;
};
// With hardware registers in place. The null register is no register.
Effects effects(Target target, WaveSize wave, const Instruction& instruction);

inline bool is_wmma(Opcode opcode) { return info(opcode).wmma; }  // SWMMAC too
bool is_compare_to_exec(const InstructionInfo& row);
bool is_branch(Opcode opcode);  // to a label
bool ends_wave(Opcode opcode);

// Which counters the instruction raises, and how its results come back.
struct MemoryEvents {
    CounterSet raises;
    bool in_order = true;  // among the events of its counter
};
MemoryEvents memory_events(Generation generation, const Instruction& instruction);

}  // namespace riftjit::rdna
