#include "jit/rdna/passes/pass_context.h"

#include <utility>

#include "host/result.h"
#include "jit/rdna/passes/control_flow.h"

namespace riftjit::rdna {

PassContext::PassContext(Program& program) : program_(program) {
    std::vector<rdna::Block> blocks = control_flow(program);
    for (rdna::Block& block : blocks) {
        blocks_.push_back({static_cast<LineId>(block.begin), static_cast<LineId>(block.end - 1),
                           std::move(block.successors), std::move(block.predecessors)});
        for (size_t i = block.begin; i < block.end; ++i)
            add(std::move(program.lines[i]), blocks_.size() - 1, i == 0 ? kNoLine : static_cast<LineId>(i - 1),
                i + 1 == program.lines.size() ? kNoLine : static_cast<LineId>(i + 1));
    }
    program.lines.clear();
}

void PassContext::write_back() {
    program_.lines.reserve(nodes_.size());
    for (LineId id = first(); id != kNoLine; id = next(id)) program_.lines.push_back(std::move(nodes_[id].line));
    nodes_.clear();
    blocks_.clear();
}

LineFacts PassContext::facts_of(const Instruction& instruction) const {
    const InstructionInfo& row = info(instruction.opcode);
    return {&row, effects(program_.target, program_.wave_size, instruction), memory_events(generation(), instruction),
            is_valu(row.format), is_salu(row.format)};
}

LineId PassContext::add(Line line, size_t block, LineId previous, LineId next) {
    const LineFacts facts = facts_of(line.instruction);
    nodes_.push_back({std::move(line), facts, block, previous, next});
    return static_cast<LineId>(nodes_.size() - 1);
}

LineId PassContext::insert_before(LineId at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    line.labels = std::exchange(nodes_[at].line.labels, {});
    const LineId before = nodes_[at].previous, added = add(std::move(line), nodes_[at].block, before, at);
    nodes_[at].previous = added;
    if (before != kNoLine) nodes_[before].next = added;
    LineId& first = blocks_[nodes_[at].block].first;
    if (first == at) first = added;
    return added;
}

LineId PassContext::insert_after(LineId at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    const LineId behind = nodes_[at].next, added = add(std::move(line), nodes_[at].block, at, behind);
    nodes_[at].next = added;
    if (behind != kNoLine) nodes_[behind].previous = added;
    LineId& last = blocks_[nodes_[at].block].last;
    if (last == at) last = added;
    return added;
}

void PassContext::replace(LineId at, const Instruction& instruction) {
    nodes_[at].line.instruction = instruction;
    nodes_[at].facts = facts_of(instruction);
}

void PassContext::erase(LineId at) {
    const auto& [line, facts, block, before, behind] = nodes_[at];
    check(line.labels.empty() && at != blocks_[block].first, "only a line behind another of its block is taken out");
    nodes_[before].next = behind;
    if (behind != kNoLine) nodes_[behind].previous = before;
    if (blocks_[block].last == at) blocks_[block].last = before;
}

}  // namespace riftjit::rdna
