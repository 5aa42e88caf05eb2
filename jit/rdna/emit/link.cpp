// The last step: labels become distances, instructions words, and the registers in use are counted.
#include <algorithm>
#include <limits>
#include <map>

#include "jit/rdna/emit/assembler.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

Result<void> resolve_labels(Program& program, const std::vector<uint32_t>& starts) {
    std::map<uint16_t, uint32_t> position;  // in words
    for (size_t i = 0; i < program.lines.size(); ++i)
        for (const Label label : program.lines[i].labels) position[label.id] = starts[i];
    for (size_t i = 0; i < program.lines.size(); ++i) {
        Line& line = program.lines[i];
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
        line.instruction.simm16 = static_cast<uint16_t>(distance);
    }
    return {};
}

Result<EncodedInstruction> encode_line(const Program& program, size_t i) {
    auto encoded = encode(program.target, program.wave_size, program.lines[i].instruction);
    if (!encoded) return fail(encoded.error().kind, "{}: instruction {}: {}", program.name, i, encoded.error().message);
    return encoded;
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
        const Effects touched = effects(program.target, program.wave_size, line.instruction);
        count(touched.reads);
        count(touched.writes);
    }
}

}  // namespace

Result<KernelCode> link(const KernelProgram& kernel) {
    Program program = kernel.program;
    std::vector<uint32_t> starts = {0};
    std::vector<EncodedInstruction> words;
    for (size_t i = 0; i < program.lines.size(); ++i) {
        RIFTJIT_TRY(encoded, encode_line(program, i));
        starts.push_back(starts.back() + encoded.count);
        words.push_back(encoded);
    }
    RIFTJIT_TRY_VOID(resolve_labels(program, starts));
    KernelCode code = kernel.header;
    for (size_t i = 0; i < program.lines.size(); ++i) {
        if (program.lines[i].target) {
            RIFTJIT_TRY(encoded, encode_line(program, i));
            words[i] = encoded;
        }
        code.code.insert(code.code.end(), words[i].span().begin(), words[i].span().end());
    }
    count_registers(program, code.resources);
    return code;
}

}  // namespace riftjit::rdna
