#include "jit/rdna/emulator/machine/relative.h"

#include <algorithm>

#include "jit/rdna/object/kernel_descriptor.h"

namespace riftjit::rdna::emulator {
namespace {

OperandRange moved(const WaveState& wave, const Operand& operand, uint32_t distance, unsigned dwords) {
    OperandRange range = range_of(operand, dwords);
    if (operand == null_register(wave.generation)) return {};
    if (range.count == 0 || distance == 0) return range;
    const uint64_t first = uint64_t{range.first} + distance;
    const unsigned end = range.scalar ? kNumberedSgprs : std::min(wave.vgpr_count, kVgprsNameable);
    if (first + dwords > end) return {};
    range.first = static_cast<uint16_t>(first);
    return range;
}

}  // namespace

RegisterSet RelativeRanges::writes() const {
    RegisterSet set;
    add(set, written);
    if (swaps) add(set, read);
    return set;
}
RegisterSet RelativeRanges::reads() const {
    RegisterSet set;
    add(set, read);
    if (swaps) add(set, written);
    return set;
}

RelativeRanges relative_ranges(const WaveState& wave, const Instruction& instruction) {
    const Distances by = distances(instruction.opcode, wave.m0());
    const unsigned dwords = info(instruction.opcode).operands[0].dwords;
    return {.written = moved(wave, instruction.operands[0], by.written, dwords),
            .read = moved(wave, instruction.operands[1], by.read, dwords),
            .swaps = instruction.opcode == Opcode::v_swaprel_b32};
}

}  // namespace riftjit::rdna::emulator
