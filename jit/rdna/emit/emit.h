// From an opcode and arguments to one line with virtual registers.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "jit/rdna/emit/arguments.h"
#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

struct EmitContext {
    Target target;
    WaveSize wave_size;
    const std::string& kernel;
    const std::vector<VirtualRegister>& registers;
    RegisterPart vcc;
    size_t line;  // number of the instruction, for messages
};

// Throws AssemblyError.
Line build_line(const EmitContext& context, Opcode opcode, std::initializer_list<Argument> arguments);

}  // namespace riftjit::rdna
