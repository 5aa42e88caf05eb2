// The last step: labels become distances, instructions words, and the registers in use are counted.
#include <algorithm>
#include <limits>
#include <map>

#include "jit/rdna/emit/assembler.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

Result<EncodedInstruction> encode_line(const Program& program, size_t i, const Instruction& instruction) {
    auto encoded = encode(program.target, program.wave_size, instruction);
    if (!encoded) return fail(encoded.error().kind, "{}: instruction {}: {}", program.name, i, encoded.error().message);
    return encoded;
}

// Branches again, now that it is known how far they go.
Result<void> resolve_labels(const Program& program, const std::vector<uint32_t>& starts,
                            std::vector<EncodedInstruction>& words) {
    std::map<uint16_t, uint32_t> position;  // in words
    for (size_t i = 0; i < program.lines.size(); ++i)
        for (const Label label : program.lines[i].labels) position[label.id] = starts[i];
    for (size_t i = 0; i < program.lines.size(); ++i) {
        const Line& line = program.lines[i];
        if (!line.target) continue;
        const auto found = position.find(line.target->id);
        if (found == position.end())
            return fail(ErrorKind::Encoding, "{}: instruction {}: label {} is never bound", program.name, i,
                        line.target->id);
        const int64_t distance = int64_t{found->second} - starts[i + 1];
        if (distance < std::numeric_limits<int16_t>::min() || distance > std::numeric_limits<int16_t>::max())
            return fail(ErrorKind::Encoding,
                        "{}: instruction {}, {} on {}: the target is {} words away, a branch reaches -32768 to 32767",
                        program.name, i, info(line.instruction.opcode).name, name(program.target), distance);
        Instruction branch = line.instruction;
        branch.simm16 = static_cast<uint16_t>(distance);
        RIFTJIT_TRY(encoded, encode_line(program, i, branch));
        words[i] = encoded;
    }
    return {};
}

// Registers that the line names lie below what is counted already, as its operands tell at a glance. Those that it
// implies have no numbers.
bool adds_none(WaveSize wave, const Instruction& instruction, const KernelResources& resources) {
    const auto is_below = [&](Operand operand, unsigned dwords) {
        if (!operand.exists()) return true;
        if (operand.is_vgpr()) return operand.code - Operand::kFirstVgpr + dwords <= resources.vgprs;
        return operand.code >= kNumberedSgprs || operand.code + dwords <= resources.sgprs;
    };
    if (instruction.encoding == Encoding::vopd) return false;
    const InstructionInfo& row = info(instruction.opcode);
    const unsigned more = instruction.address.tfe ? 1 : 0, named = row.destinations + unsigned{row.sources};
    for (unsigned i = 0; i < named; ++i)
        if (!is_below(instruction.operands[i], row.operands[i].size(wave) + more)) return false;
    constexpr unsigned kMostOfAddress = 4;
    const Address& address = instruction.address;
    for (const Operand operand : {address.vaddr, address.saddr, address.soffset, address.resource})
        if (!is_below(operand, kMostOfAddress)) return false;
    return true;
}

void count_registers(const Program& program, KernelResources& resources) {
    const auto count = [&](const RegisterRanges& ranges) {
        for (const RegisterRange range : ranges) {
            const uint32_t end = range.first + range.count;
            if (range.is_vgpr())
                resources.vgprs = std::max(resources.vgprs, end - Operand::kFirstVgpr);
            else if (end <= kNumberedSgprs)
                resources.sgprs = std::max(resources.sgprs, end);
        }
    };
    for (const Line& line : program.lines) {
        if (adds_none(program.wave_size, line.instruction, resources)) continue;
        const Effects touched = effects(program.target, program.wave_size, line.instruction);
        count(touched.reads);
        count(touched.writes);
    }
}

}  // namespace

Result<KernelCode> link(const KernelProgram& kernel) {
    const Program& program = kernel.program;
    std::vector<uint32_t> starts = {0};
    std::vector<EncodedInstruction> words;
    starts.reserve(program.lines.size() + 1);
    words.reserve(program.lines.size());
    for (size_t i = 0; i < program.lines.size(); ++i) {
        RIFTJIT_TRY(encoded, encode_line(program, i, program.lines[i].instruction));
        starts.push_back(starts.back() + encoded.count);
        words.push_back(encoded);
    }
    RIFTJIT_TRY_VOID(resolve_labels(program, starts, words));
    KernelCode code = kernel.header;
    code.code.reserve(starts.back());
    for (const EncodedInstruction& encoded : words)
        code.code.insert(code.code.end(), encoded.span().begin(), encoded.span().end());
    count_registers(program, code.resources);
    return code;
}

}  // namespace riftjit::rdna
