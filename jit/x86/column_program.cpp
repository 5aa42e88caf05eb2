// Straight-line programs over columns.
#include <stdexcept>

#include "jit/x86/backend.h"

namespace riftjit::x86 {

MachineCode generate_column_program(const ColumnProgramSpec&, Isa) {
    throw std::runtime_error("column programs have no generator");
}

}  // namespace riftjit::x86
