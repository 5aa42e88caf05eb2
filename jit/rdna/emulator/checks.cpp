#include "jit/rdna/emulator/checks.h"

#include <fmt/format.h>

#include "jit/rdna/emulator/program.h"

namespace riftjit::rdna::emulator {
namespace {

RegisterSet vgprs_of(const Operand& operand, unsigned dwords) {
    RegisterSet set;
    const OperandRange range = range_of(operand, dwords);
    if (!range.scalar) set.add_vgprs(range.first, range.count);
    return set;
}

// gfx1100 to gfx1103: the destination pair must lie apart from every source, the addend included.
std::string mad_u64_overlap(const Instruction& instruction, WaveSize wave) {
    const InstructionInfo& row = info(instruction.opcode);
    const RegisterSet result = vgprs_of(instruction.destination(), 2);
    for (unsigned i = 0; i < row.sources; ++i)
        if (vgprs_of(instruction.source(i), row.source_operands()[i].size(wave)).meets_vgprs(result))
            return fmt::format("the destination overlaps source {}", i);
    return {};
}

// D equals C or lies apart from it; D lies apart from A and B.
std::string matrix_overlap(const Instruction& instruction, WaveSize wave) {
    const InstructionInfo& row = info(instruction.opcode);
    const RegisterSet result = vgprs_of(instruction.destination(), row.destination_operands()[0].size(wave));
    for (unsigned i = 0; i < row.sources; ++i) {
        const RegisterSet source = vgprs_of(instruction.source(i), row.source_operands()[i].size(wave));
        const bool is_accumulator = i == 2 && source == result;
        if (!is_accumulator && source.meets_vgprs(result))
            return fmt::format("the destination overlaps {} without being the same", "ABCI"[i]);
    }
    return {};
}

std::string overlap_of(const Instruction& instruction, const HazardTraits& hazards, Target target, WaveSize wave) {
    if (hazards.wmma) return matrix_overlap(instruction, wave);
    const bool is_mad =
        instruction.opcode == Opcode::v_mad_co_u64_u32 || instruction.opcode == Opcode::v_mad_co_i64_i32;
    return is_mad && info(target).mad_u64_overlap ? mad_u64_overlap(instruction, wave) : std::string();
}

OperandRange loaded_registers(const Instruction& instruction, const Footprint& footprint, Target target,
                              WaveSize wave) {
    const InstructionInfo& row = info(instruction.opcode);
    const bool is_memory = row.format >= Format::DS || row.format == Format::SMEM;
    if (!is_memory || row.destinations == 0 || footprint.writes.empty()) return {};
    const Operand destination = destination_of(instruction, generation(target));
    if (destination == null_register(generation(target))) return {};
    return range_of(destination, row.destination_operands()[0].size(wave) + (instruction.address.tfe ? 1u : 0u));
}

}  // namespace

OpChecks make_checks(const Instruction& instruction, Target target, WaveSize wave) {
    OpChecks checks;
    checks.footprint = footprint(instruction, target, wave);
    checks.touched = checks.footprint.reads | checks.footprint.writes;
    checks.vgpr_end = static_cast<uint16_t>(checks.touched.vgpr_end());
    checks.sgpr_end = static_cast<uint16_t>(checks.touched.sgpr_end());
    checks.hazards = hazard_traits(instruction, target, wave);
    checks.counters = counters_of(instruction, generation(target));
    checks.undefined = undefined_traits(instruction);
    if (instruction.encoding == Encoding::vopd)
        for (size_t half = 0; half < 2; ++half)
            checks.dual_spread[half] = undefined_traits({.opcode = instruction.dual[half].opcode}).spread;
    checks.loaded = loaded_registers(instruction, checks.footprint, target, wave);
    checks.overlap = overlap_of(instruction, checks.hazards, target, wave);
    return checks;
}

bool check_registers(WaveState& wave, const Op& op) {
    const OpChecks& checks = *op.checks;
    if (checks.vgpr_end > wave.vgpr_count) [[unlikely]] {
        wave.findings->report(FindingKind::vgpr_beyond_count, wave, kNoLane,
                              fmt::format("v{} is used, {} VGPRs are declared", checks.vgpr_end - 1, wave.vgpr_count));
        return false;
    }
    if (checks.sgpr_end > wave.sgpr_count) [[unlikely]] {
        wave.findings->report(FindingKind::sgpr_beyond_count, wave, kNoLane,
                              fmt::format("s{} is used, {} SGPRs are declared", checks.sgpr_end - 1, wave.sgpr_count));
        return false;
    }
    return true;
}

void check_wmma_exec(WaveState& wave, const Op& op) {
    if (!op.checks->hazards.wmma || wave.exec() == wave.all_lanes()) return;
    wave.findings->report(FindingKind::wmma_exec, wave, std::countr_one(wave.exec()), "a lane is off");
}

}  // namespace riftjit::rdna::emulator
