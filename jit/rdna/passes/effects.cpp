#include "jit/rdna/passes/effects.h"

#include <algorithm>

namespace riftjit::rdna {

SlotEffects slot_effects(Target target, WaveSize wave, const Instruction& instruction) {
    SlotEffects effects;
    for (const Access& access : accesses(generation(target), wave, instruction))
        if (access.slot != kNoSlot)
            effects.push_back(
                {access.slot, static_cast<uint8_t>(access.range.count), access.reads || access.keeps, access.writes});
    return effects;
}

bool Effects::reads_any(RegisterRange range) const {
    return std::ranges::any_of(reads, [&](RegisterRange read) { return read.overlaps(range); });
}
bool Effects::writes_any(RegisterRange range) const {
    return std::ranges::any_of(writes, [&](RegisterRange write) { return write.overlaps(range); });
}

Effects effects(Target target, WaveSize wave, const Instruction& instruction) {
    Effects effects;
    for (const Access& access : accesses(generation(target), wave, instruction)) {
        if (access.reads || access.keeps) effects.reads.push_back(access.range);
        if (access.writes) effects.writes.push_back(access.range);
    }
    return effects;
}

bool is_compare_to_exec(const InstructionInfo& row) {
    return row.format == Format::VOPC && row.destinations == 1 && row.operands[0].type == OperandType::exec;
}
bool is_branch(Opcode opcode) {
    const InstructionInfo& row = info(opcode);
    return row.format == Format::SOPP && row.sources == 1 && row.operands[0].type == OperandType::label;
}

bool ends_wave(Opcode opcode) { return opcode == Opcode::s_endpgm; }

MemoryEvents memory_events(Generation generation, const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    const bool has_result = returns_value(generation, instruction);
    switch (row.format) {
        case Format::SMEM:
            if (row.destinations == 0 && row.sources != 0) return {};  // prefetches and probes
            return {{generation == Generation::gfx12 ? Counter::km : Counter::ds}, false};
        case Format::DS:
            return {{Counter::ds}, true};
        case Format::FLAT:  // its loads take their turn in both counters on every chip after gfx9
            return {has_result ? CounterSet{Counter::load, Counter::ds} : CounterSet{Counter::store, Counter::ds},
                    true};
        case Format::GLOBAL:
        case Format::SCRATCH:
        case Format::MUBUF:
            if (instruction.opcode == Opcode::global_wb || instruction.opcode == Opcode::global_wbinv)
                return {{Counter::store}, true};
            if (row.memory == MemoryKind::none) return {};  // invalidates: no result to wait for
            // A load into LDS has no destination either.
            return {
                has_result || row.memory == MemoryKind::load ? CounterSet{Counter::load} : CounterSet{Counter::store},
                true};
        default:
            return {};
    }
}

void insert_before(Program& program, size_t at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    line.labels = std::move(program.lines[at].labels);
    program.lines[at].labels.clear();
    program.lines.insert(program.lines.begin() + static_cast<ptrdiff_t>(at), std::move(line));
}

}  // namespace riftjit::rdna
