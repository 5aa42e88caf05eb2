// s_clause: memory instructions of one kind that stand together are issued together. A hint.
#include "jit/rdna/passes/effects.h"
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

void insert_clauses(Program& program) {
    const Generation generation = rdna::generation(program.target);
    const size_t longest = generation == Generation::gfx10 ? 63 : 32;
    for (size_t i = 0; i < program.lines.size(); ++i) {
        const InstructionInfo& first = info(program.lines[i].instruction.opcode);
        if (!may_stand_in_clause(generation, first)) continue;
        size_t end = i + 1;
        while (end < program.lines.size() && end - i < longest && program.lines[end].labels.empty() &&
               same_kind(first, info(program.lines[end].instruction.opcode)))
            ++end;
        const size_t count = end - i;
        if (count < 2) continue;
        Instruction clause;
        clause.opcode = Opcode::s_clause;
        clause.simm16 = static_cast<uint16_t>(count - 1);
        insert_before(program, i, clause, Origin::hints);
        i += count;
    }
}

}  // namespace riftjit::rdna
