#include "jit/rdna/encoding.h"
#include "jit/rdna/pack.h"

namespace riftjit::rdna {

Result<EncodedInstruction> encode(Target target, WaveSize wave, const Instruction& instruction) {
    const EncodingContext context(target, wave);
    if (instruction.opcode >= Opcode::count) return fail(ErrorKind::Encoding, "no such opcode ({})", name(target));
    EncodedInstruction encoded;
    const Refusal refusal = pack(context, instruction, encoded);
    if (!refusal) return encoded;
    return fail(ErrorKind::Encoding, "{} on {}, wave{}: {}", mnemonic(instruction.opcode, context.generation),
                name(target), lanes(wave), describe(refusal, context.generation, wave, instruction));
}

}  // namespace riftjit::rdna
