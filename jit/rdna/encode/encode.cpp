#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {

std::string full_mnemonic(Generation generation, const Instruction& instruction) {
    if (instruction.encoding == Encoding::vopd)
        return fmt::format("v_dual_{} :: v_dual_{}", mnemonic(instruction.dual[0].opcode, generation).substr(2),
                           mnemonic(instruction.dual[1].opcode, generation).substr(2));
    return fmt::format("{}{}", mnemonic(instruction.opcode, generation),
                       suffix(info(instruction.opcode), generation, instruction.encoding));
}

Result<EncodedInstruction> encode(Target target, WaveSize wave, const Instruction& instruction) {
    const EncodingContext context(target, wave);
    const bool is_known = instruction.opcode < Opcode::count && instruction.dual[0].opcode < Opcode::count &&
                          instruction.dual[1].opcode < Opcode::count;
    if (!is_known) return fail(ErrorKind::Encoding, "no such opcode ({})", name(target));
    EncodedInstruction encoded;
    const Refusal refusal = pack(context, instruction, encoded);
    if (!refusal) return encoded;
    return fail(ErrorKind::Encoding, "{} on {}, wave{}: {}", full_mnemonic(context.generation, instruction),
                name(target), lanes(wave), describe(refusal, context.generation, wave, instruction));
}

}  // namespace riftjit::rdna
