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
    program_.lines.reserve(count_);
    for (LineId id = first(); id != kNoLine; id = next(id)) program_.lines.push_back(std::move(node(id).line));
    nodes_.clear();
    count_ = 0;
    blocks_.clear();
}

LineFacts PassContext::facts_of(const Instruction& instruction) const {
    const InstructionInfo& row = info(instruction.opcode);
    return {&row, effects(program_.target, program_.wave_size, instruction), memory_events(generation(), instruction),
            is_valu(row.format), is_salu(row.format)};
}

LineId PassContext::add(Line line, size_t block, LineId previous, LineId next) {
    if (count_ == kChunk * nodes_.size()) nodes_.push_back(std::make_unique<Node[]>(kChunk));
    const auto id = static_cast<LineId>(count_++);
    Node& added = node(id);
    added.facts = facts_of(line.instruction);
    added.line = std::move(line);
    added.block = block;
    added.previous = previous;
    added.next = next;
    return id;
}

LineId PassContext::insert_before(LineId at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    line.labels = std::exchange(node(at).line.labels, {});
    const LineId before = node(at).previous, added = add(std::move(line), node(at).block, before, at);
    node(at).previous = added;
    if (before != kNoLine) node(before).next = added;
    LineId& first = blocks_[node(at).block].first;
    if (first == at) first = added;
    return added;
}

LineId PassContext::insert_after(LineId at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    const LineId behind = node(at).next, added = add(std::move(line), node(at).block, at, behind);
    node(at).next = added;
    if (behind != kNoLine) node(behind).previous = added;
    LineId& last = blocks_[node(at).block].last;
    if (last == at) last = added;
    return added;
}

void PassContext::replace(LineId at, const Instruction& instruction) {
    node(at).line.instruction = instruction;
    node(at).facts = facts_of(instruction);
}

void PassContext::erase(LineId at) {
    const auto& [line, facts, block, before, behind] = node(at);
    check(line.labels.empty() && at != blocks_[block].first, "only a line behind another of its block is taken out");
    node(before).next = behind;
    if (behind != kNoLine) node(behind).previous = before;
    if (blocks_[block].last == at) blocks_[block].last = before;
}

}  // namespace riftjit::rdna
