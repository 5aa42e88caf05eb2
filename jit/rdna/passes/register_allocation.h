// From virtual to hardware registers.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"

namespace riftjit::rdna {

// Checks definitions and uses, then replaces virtual by hardware registers. Throws AssemblyError.
void allocate_registers(Program& program, const std::vector<VirtualRegister>& registers);
// Refuses destinations over sources where the hardware forbids it (overlap_rules.cpp). Throws AssemblyError.
void check_overlaps(const Program& program);

}  // namespace riftjit::rdna
