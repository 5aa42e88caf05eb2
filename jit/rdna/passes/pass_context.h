// What the passes after allocation share: the lines of a program with their effects and the control flow, computed once
// and kept right while lines are put in, replaced and taken out.
#pragma once

#include <memory>
#include <vector>

#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

// Names a line for as long as its context lives, wherever it comes to stand.
using LineId = uint32_t;
inline constexpr LineId kNoLine = UINT32_MAX;

struct LineFacts {
    const InstructionInfo* row = nullptr;  // of a dual instruction: the X half's
    Effects effects;
    MemoryEvents events;
    bool is_valu = false, is_salu = false;
};

class PassContext {
public:
    struct Block {
        LineId first, last;  // no block is empty
        std::vector<size_t> successors, predecessors;
    };

    // Takes the program's lines; write_back() returns them. Every label must be bound.
    explicit PassContext(Program& program);
    PassContext(const PassContext&) = delete;
    PassContext& operator=(const PassContext&) = delete;
    void write_back();

    Target target() const { return program_.target; }
    Generation generation() const { return rdna::generation(program_.target); }
    WaveSize wave_size() const { return program_.wave_size; }

    // In the order of the lines; block 0 is the entry.
    const std::vector<Block>& blocks() const { return blocks_; }
    size_t block_of(LineId id) const { return node(id).block; }
    LineId first() const { return blocks_.empty() ? kNoLine : blocks_.front().first; }
    LineId next(LineId id) const { return node(id).next; }          // kNoLine behind the last
    LineId previous(LineId id) const { return node(id).previous; }  // kNoLine before the first
    LineId next_in_block(LineId id) const { return id == blocks_[block_of(id)].last ? kNoLine : next(id); }
    LineId previous_in_block(LineId id) const { return id == blocks_[block_of(id)].first ? kNoLine : previous(id); }

    const Line& line(LineId id) const {
        ++visits_;
        return node(id).line;
    }
    const LineFacts& facts(LineId id) const {
        ++visits_;
        return node(id).facts;
    }

    // The new line belongs to the block of `at`. Before it: branches to `at` reach the new line too.
    LineId insert_before(LineId at, const Instruction& instruction, Origin origin);
    LineId insert_after(LineId at, const Instruction& instruction, Origin origin);
    void replace(LineId at, const Instruction& instruction);
    void erase(LineId at);  // a line without labels behind another of its block

    // How often a line or its facts were asked for: the work of the passes, as tests count it.
    uint64_t visits() const { return visits_; }

private:
    struct Node {
        Line line;
        LineFacts facts;
        size_t block;
        LineId previous, next;
    };

    Node& node(LineId id) { return nodes_[id / kChunk][id % kChunk]; }
    const Node& node(LineId id) const { return nodes_[id / kChunk][id % kChunk]; }
    LineFacts facts_of(const Instruction& instruction) const;
    LineId add(Line line, size_t block, LineId previous, LineId next);

    Program& program_;
    // By LineId, in chunks: references stay good.
    static constexpr size_t kChunk = 64;
    std::vector<std::unique_ptr<Node[]>> nodes_;
    size_t count_ = 0;
    std::vector<Block> blocks_;
    mutable uint64_t visits_ = 0;
};

}  // namespace riftjit::rdna
