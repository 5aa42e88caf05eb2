// s_clause: memory instructions of one kind that stand together are issued together. A hint.
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

bool may_stand_in_clause(Generation generation, const InstructionInfo& row) {
    if (row.format == Format::SMEM) return row.destinations != 0;
    if (!is_vector_memory(row.format)) return false;
    return row.memory == MemoryKind::load || (row.memory == MemoryKind::store && generation != Generation::gfx10);
}

bool same_kind(const InstructionInfo& a, const InstructionInfo& b) {
    return a.format == b.format && a.memory == b.memory;
}

}  // namespace

void insert_clauses(PassContext& context) {
    const unsigned longest = context.generation() == Generation::gfx10 ? 63 : 32;
    for (LineId i = context.first(); i != kNoLine;) {
        const LineId first = i;
        const InstructionInfo& row = *context.facts(first).row;
        i = context.next(first);
        if (!may_stand_in_clause(context.generation(), row)) continue;
        unsigned count = 1;
        while (i != kNoLine && count < longest && context.line(i).labels.empty() &&
               same_kind(row, *context.facts(i).row)) {
            i = context.next(i);
            ++count;
        }
        if (count < 2) continue;
        Instruction clause;
        clause.opcode = Opcode::s_clause;
        clause.simm16 = static_cast<uint16_t>(count - 1);
        context.insert_before(first, clause, Origin::hints);
    }
}

}  // namespace riftjit::rdna
