// Instruction <-> machine words, for one target and wave size. Both directions read the table and formats.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "host/result.h"
#include "jit/rdna/encode/refusal.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

inline constexpr unsigned kMaxInstructionWords = 5;

struct EncodedInstruction {
    std::array<uint32_t, kMaxInstructionWords> words{};
    uint8_t count = 0;
    std::span<const uint32_t> span() const { return {words.data(), count}; }
};

// Refuses (ErrorKind::Encoding, naming mnemonic, target and operand): an instruction or form that the target lacks, an
// operand of the wrong class, width or alignment, a value that does not fit, a literal where none may stand, more
// scalar sources than the constant bus carries, VOPD pairs that may not be (bank rules), modifiers that the row does
// not take.
Result<EncodedInstruction> encode(Target target, WaveSize wave, const Instruction& instruction);

// Decodes the instruction at the start of `words`. Refuses what encode would refuse, unknown opcodes, families left out
// and non-zero reserved bits.
struct Decoded {
    Instruction instruction;
    Refusal refusal;  // meaningful when ok is false
    bool ok = false;
};
Decoded decode(Target target, WaveSize wave, std::span<const uint32_t> words);

// Why it was refused: "operand: v_add_f64: source 0 (v[255:256]) reaches past v255", "family left out: EXP".
std::string reason(Target target, WaveSize wave, const Decoded& decoded);

}  // namespace riftjit::rdna
