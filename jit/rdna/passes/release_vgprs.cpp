// gfx11 and later: a wave whose last stores are under way gives its VGPRs back before it ends. The message needs an
// s_nop before it.
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

constexpr uint16_t kMessageReleaseVgprs = 3;

// Whether a store may be outstanding after the line.
bool store_outstanding(const Line& line, Generation generation, bool before) {
    const Instruction& instruction = line.instruction;
    switch (instruction.opcode) {
        case Opcode::s_waitcnt_vscnt:
        case Opcode::s_wait_storecnt:
            return before && instruction.simm16 != 0;
        case Opcode::s_wait_storecnt_dscnt:
            return before && instruction.simm16 >> 8 != 0;
        default:
            return before || memory_events(generation, instruction).raises.has(Counter::store);
    }
}

std::vector<bool> outstanding_at_entry(const Program& program, const std::vector<Block>& blocks) {
    const Generation generation = rdna::generation(program.target);
    std::vector<bool> at_entry(blocks.size(), false);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < blocks.size(); ++b) {
            bool outstanding = at_entry[b];
            for (size_t i = blocks[b].begin; i < blocks[b].end; ++i)
                outstanding = store_outstanding(program.lines[i], generation, outstanding);
            for (const size_t next : blocks[b].successors)
                if (outstanding && !at_entry[next]) at_entry[next] = changed = true;
        }
    }
    return at_entry;
}

}  // namespace

void insert_vgpr_release(Program& program) {
    const Generation generation = rdna::generation(program.target);
    if (generation == Generation::gfx10) return;
    const std::vector<Block> blocks = control_flow(program);
    const std::vector<bool> at_entry = outstanding_at_entry(program, blocks);
    for (size_t b = blocks.size(); b-- > 0;) {
        const size_t last = blocks[b].end - 1;
        if (!ends_wave(program.lines[last].instruction.opcode)) continue;
        bool outstanding = at_entry[b];
        for (size_t i = blocks[b].begin; i < last; ++i)
            outstanding = store_outstanding(program.lines[i], generation, outstanding);
        if (!outstanding) continue;
        Instruction message, nop;
        message.opcode = Opcode::s_sendmsg;
        message.simm16 = kMessageReleaseVgprs;
        nop.opcode = Opcode::s_nop;
        insert_before(program, last, message, Origin::hints);
        insert_before(program, last, nop, Origin::hazards);
    }
}

}  // namespace riftjit::rdna
