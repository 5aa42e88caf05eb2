#include "jit/rdna/passes/control_flow.h"

#include <map>

#include "host/result.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

bool falls_through(const Line& line) {
    return line.instruction.opcode != Opcode::s_branch && !ends_wave(line.instruction.opcode);
}

void link(std::vector<Block>& blocks, size_t from, size_t to) {
    blocks[from].successors.push_back(to);
    blocks[to].predecessors.push_back(from);
}

}  // namespace

std::vector<Block> control_flow(const Program& program) {
    std::vector<Block> blocks;
    std::map<uint16_t, size_t> block_of_label;
    for (size_t i = 0; i < program.lines.size(); ++i) {
        const Line& line = program.lines[i];
        const bool starts = blocks.empty() || !line.labels.empty() || program.lines[i - 1].target ||
                            !falls_through(program.lines[i - 1]);
        if (starts) blocks.push_back({i, i, {}, {}});
        for (const Label label : line.labels) block_of_label[label.id] = blocks.size() - 1;
        blocks.back().end = i + 1;
    }
    for (size_t b = 0; b < blocks.size(); ++b) {
        const Line& last = program.lines[blocks[b].end - 1];
        if (falls_through(last) && b + 1 < blocks.size()) link(blocks, b, b + 1);
        if (!last.target) continue;
        const auto found = block_of_label.find(last.target->id);
        check(found != block_of_label.end(), "every label is bound when control flow is asked for");
        link(blocks, b, found->second);
    }
    return blocks;
}

}  // namespace riftjit::rdna
