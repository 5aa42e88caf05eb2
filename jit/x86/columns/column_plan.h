// What a column program really has to do: repeated loads joined, loads of what was just stored replaced by it, steps
// without effect dropped.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/columns/column_program.h"

namespace riftjit::x86 {

struct ColumnPlan {
    std::vector<ColumnStep> steps;  // numbered as in the spec, their operands replaced
    std::vector<bool> is_live;      // stored or fired in the end
    std::vector<uint32_t> uses;     // by live steps
    std::vector<size_t> last_use;   // the last live step that reads the value; 0: none
    bool has(ColumnOp op) const;    // among the live steps
};

ColumnPlan plan_columns(const ColumnProgramSpec& spec);

}  // namespace riftjit::x86
