// Basic blocks of a program.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

struct Block {
    size_t begin, end;  // lines
    std::vector<size_t> successors, predecessors;
};
// In the order of the lines; block 0 is the entry. Every label must be bound.
std::vector<Block> control_flow(const Program& program);

}  // namespace riftjit::rdna
