// gfx11 and later: a wave whose last stores are under way gives its VGPRs back before it ends, unless one of them may
// go to scratch, which is given back with them (LLVM AMDGPU backend, SIInsertWaitcnts). The message needs an s_nop
// before it.
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

constexpr uint16_t kMessageReleaseVgprs = 3;

// Stores that may be outstanding at a point.
struct Stores {
    bool any = false, to_scratch = false;
    bool operator==(const Stores&) const = default;
    Stores operator|(Stores other) const { return {any || other.any, to_scratch || other.to_scratch}; }
};

Stores after_line(const Line& line, Generation generation, Stores before) {
    const Instruction& instruction = line.instruction;
    switch (instruction.opcode) {
        case Opcode::s_waitcnt_vscnt:
        case Opcode::s_wait_storecnt:
            return instruction.simm16 == 0 ? Stores{} : before;
        case Opcode::s_wait_storecnt_dscnt:
            return instruction.simm16 >> 8 == 0 ? Stores{} : before;
        default:
            break;
    }
    const bool is_store = memory_events(generation, instruction).raises.has(Counter::store);
    const Format format = info(instruction.opcode).format;
    return before | Stores{is_store, is_store && (format == Format::SCRATCH || format == Format::FLAT)};
}

Stores after_lines(const Program& program, size_t begin, size_t end, Stores stores) {
    const Generation generation = rdna::generation(program.target);
    for (size_t i = begin; i < end; ++i) stores = after_line(program.lines[i], generation, stores);
    return stores;
}

std::vector<Stores> outstanding_at_entry(const Program& program, const std::vector<Block>& blocks) {
    std::vector<Stores> at_entry(blocks.size());
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < blocks.size(); ++b) {
            const Stores stores = after_lines(program, blocks[b].begin, blocks[b].end, at_entry[b]);
            for (const size_t next : blocks[b].successors) {
                const Stores merged = at_entry[next] | stores;
                changed |= merged != at_entry[next];
                at_entry[next] = merged;
            }
        }
    }
    return at_entry;
}

}  // namespace

void insert_vgpr_release(Program& program) {
    if (generation(program.target) == Generation::gfx10) return;
    const std::vector<Block> blocks = control_flow(program);
    const std::vector<Stores> at_entry = outstanding_at_entry(program, blocks);
    for (size_t b = blocks.size(); b-- > 0;) {
        const size_t last = blocks[b].end - 1;
        if (!ends_wave(program.lines[last].instruction.opcode)) continue;
        const Stores stores = after_lines(program, blocks[b].begin, last, at_entry[b]);
        if (!stores.any || stores.to_scratch) continue;
        Instruction message, nop;
        message.opcode = Opcode::s_sendmsg;
        message.simm16 = kMessageReleaseVgprs;
        nop.opcode = Opcode::s_nop;
        insert_before(program, last, message, Origin::hints);
        insert_before(program, last, nop, Origin::hazards);
    }
}

}  // namespace riftjit::rdna
