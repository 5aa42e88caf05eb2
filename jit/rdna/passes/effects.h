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

// What stays of a register that is written in part counts as read: no pass may reuse or reorder it.
struct SlotEffect {
    uint8_t slot, dwords;
    bool reads, writes;
};
using SlotEffects = InlineVector<SlotEffect, 16>;
SlotEffects slot_effects(Target target, WaveSize wave, const Instruction& instruction);

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
