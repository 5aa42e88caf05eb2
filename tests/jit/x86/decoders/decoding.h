// Generated code as Zydis decodes it.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/code_object.h"

namespace riftjit::x86 {

struct DecodedInstruction {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

// One at a time: with all its operands an instruction takes a kilobyte.
void each_instruction(const MachineCode& code, const auto& visit) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    DecodedInstruction one{};
    for (size_t offset = 0; offset < code.instruction_bytes;) {
        const ZyanStatus status =
            ZydisDecoderDecodeFull(&decoder, code.bytes.data() + offset, code.instruction_bytes - offset,
                                   &one.instruction, one.operands.data());
        if (!ZYAN_SUCCESS(status)) throw std::runtime_error("no instruction at " + std::to_string(offset));
        visit(one);
        offset += one.instruction.length;
    }
}

inline std::vector<DecodedInstruction> decode_instructions(const MachineCode& code) {
    std::vector<DecodedInstruction> decoded;
    each_instruction(code, [&](const DecodedInstruction& one) { decoded.push_back(one); });
    return decoded;
}

}  // namespace riftjit::x86
