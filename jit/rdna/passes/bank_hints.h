// Where virtual registers had better lie so that neighbours can be issued together (vopd_pairing.cpp): results in
// registers of different parity, first sources in different banks, and second sources too.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"

namespace riftjit::rdna {

// Dword `own` of the register must differ from dword `other` of register `other_id`, modulo `banks`.
struct BankHint {
    uint8_t own, other;
    uint16_t other_id;
    uint8_t banks;
};

using BankHints = std::vector<std::vector<BankHint>>;  // by register

BankHints bank_hints(const Program& program, const std::vector<VirtualRegister>& registers);

}  // namespace riftjit::rdna
