// From virtual to hardware registers.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"
#include "jit/rdna/passes/work.h"

namespace riftjit::rdna {

struct AllocationOptions {
    bool reorders = false;       // schedule.h
    bool chooses_banks = false;  // bank_hints.h
};

// Checks definitions and uses, brings the lines into a new order if asked to, then replaces virtual by hardware
// registers. A new order that finds no room within its budget of registers is dropped. Throws AssemblyError.
Work allocate_registers(Program& program, const std::vector<VirtualRegister>& registers, AllocationOptions options);
// Refuses destinations over sources where the hardware forbids it (overlap_rules.cpp). Throws AssemblyError.
void check_overlaps(const Program& program);

}  // namespace riftjit::rdna
