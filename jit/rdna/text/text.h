// Instruction <-> one line of assembly in LLVM's spelling.
#pragma once

#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// As llvm-mc-19 -disassemble prints it, without leading blank. Branch targets are printed as the signed immediate.
std::string print(Target target, WaveSize wave, const Instruction& instruction);

// Reads one instruction: LLVM's spelling of the target, its aliases (older mnemonics), symbolic and numeric operands.
// Picks the shortest form when the mnemonic names none (_e32, _e64, _dpp, _sdwa). Errors name mnemonic, operand,
// column. A branch to a label gives `label` and a zero immediate.
struct Parsed {
    Instruction instruction;
    std::string label;  // of a branch, empty when the target was a number
};
Result<Parsed> parse(Target target, WaveSize wave, std::string_view line);

}  // namespace riftjit::rdna
