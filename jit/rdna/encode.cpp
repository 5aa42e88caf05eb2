#include <string>

#include "jit/rdna/encoding.h"
#include "jit/rdna/pack.h"
#include "jit/rdna/text.h"

namespace riftjit::rdna {
namespace {

std::string describe(const Refusal& refusal, const Instruction& instruction) {
    std::string text;
    if (refusal.half >= 0) text += refusal.half == 0 ? "X half: " : "Y half: ";
    if (refusal.part != nullptr) text += std::string(refusal.part) + " ";
    if (refusal.operand < 0) return text + refusal.why;
    const auto index = static_cast<size_t>(refusal.operand);
    const Operand operand = refusal.half < 0 ? instruction.operands[index]
                                             : instruction.dual[static_cast<size_t>(refusal.half)].operands[index];
    const InstructionInfo& row = info(instruction.opcode);
    const bool is_source = refusal.half < 0 && index >= row.destinations;
    text += is_source ? fmt::format("source {}", index - row.destinations) : fmt::format("operand {}", index);
    if (operand.is_vgpr()) {
        text += fmt::format(" (v{})", operand.vgpr());
    } else if (operand.exists()) {
        text += fmt::format(" (code {})", operand.code);
    }
    return text + " " + refusal.why;
}

}  // namespace

Result<EncodedInstruction> encode(Target target, WaveSize wave, const Instruction& instruction) {
    const EncodingContext context(target, wave);
    if (instruction.opcode >= Opcode::count) return fail(ErrorKind::Encoding, "no such opcode ({})", name(target));
    EncodedInstruction encoded;
    const Refusal refusal = pack(context, instruction, encoded);
    if (!refusal) return encoded;
    return fail(ErrorKind::Encoding, "{} on {}, wave{}: {}", mnemonic(instruction.opcode, context.generation),
                name(target), lanes(wave), describe(refusal, instruction));
}

}  // namespace riftjit::rdna
