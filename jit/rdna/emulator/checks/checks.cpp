#include "jit/rdna/emulator/checks/checks.h"

#include <fmt/format.h>

#include "jit/rdna/emulator/machine/program.h"

namespace riftjit::rdna::emulator {
namespace {

RegisterSet vgprs_of(const Operand& operand, unsigned dwords) {
    RegisterSet set;
    const OperandRange range = range_of(operand, dwords);
    if (!range.scalar) set.add_vgprs(range.first, range.count);
    return set;
}

bool limits_multiply(const Instruction& instruction, Target target) {
    return info(target).mad_u64_overlap && info(instruction.opcode).wide_mad;
}

// Of the lower half of the result, which is formed first, nothing but the addend's upper half is overwritten.
bool overwrites_upper_addend(const Instruction& instruction) {
    const Operand addend = instruction.source(2), result = instruction.destination();
    const auto is_result = [&](const Operand& factor) {
        return factor.is_vgpr() && factor.vgpr() - result.vgpr() <= 1;
    };
    return addend.is_vgpr() && addend.vgpr() + 1 == result.vgpr() && !is_result(instruction.source(0)) &&
           !is_result(instruction.source(1));
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
    return limits_multiply(instruction, target) ? mad_u64_overlap(instruction, wave) : std::string();
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
    checks.spread = info(instruction.opcode).spread;
    checks.lanes = lane_spreads(instruction, target, wave);
    if (is_memory(info(instruction.opcode).format)) checks.loaded = checks.footprint.result;
    checks.keeps_half = info(instruction.opcode).half_register;
    checks.overlap = overlap_of(instruction, checks.hazards, target, wave);
    checks.loses_upper_half = limits_multiply(instruction, target) && overwrites_upper_addend(instruction);
    return checks;
}

bool check_registers(WaveState& wave, const Op& op) {
    const OpChecks& checks = *op.checks;
    if (checks.vgpr_end > wave.vgpr_count) [[unlikely]] {
        const unsigned vgpr = checks.vgpr_end - 1u;
        if (wave.vgpr_count == 0)
            wave.findings->report(FindingKind::vgpr_released, wave, kNoLane,
                                  fmt::format("v{} is used after MSG_DEALLOC_VGPRS gave it away", vgpr));
        else
            wave.findings->report(FindingKind::vgpr_beyond_count, wave, kNoLane,
                                  fmt::format("v{} is used, {} VGPRs are declared", vgpr, wave.vgpr_count));
        return false;
    }
    if (checks.sgpr_end > wave.sgpr_count) [[unlikely]] {
        wave.findings->report(FindingKind::sgpr_beyond_count, wave, kNoLane,
                              fmt::format("s{} is used, {} SGPRs are declared", checks.sgpr_end - 1, wave.sgpr_count));
        return false;
    }
    return true;
}

bool check_overlap(WaveState& wave, const Op& op) {
    if (op.checks->overlap.empty()) return false;
    const bool is_followed = op.checks->loses_upper_half && wave.vgpr_undefined != nullptr;
    if (!is_followed) wave.findings->report(FindingKind::register_overlap, wave, kNoLane, op.checks->overlap);
    return is_followed;
}

void lose_upper_half(WaveState& wave, const Op& op) {
    const uint64_t exec = wave.exec();
    std::array<uint32_t, 64> undefined;
    undefined.fill(~0u);
    mark_lanes(wave, op.instruction.destination().vgpr() + 1u, exec, ~0u, undefined.data());
    const Operand carry = op.instruction.destination(1);
    if (carry.is_scalar_register() && carry != null_register(wave.generation))
        for (unsigned i = 0; i < wave.lanes / 32; ++i)
            mark_scalar(wave, carry.code + i, static_cast<uint32_t>(exec >> 32 * i));
    LostHalf& lost = wave.tracking->lost_half;
    lost.multiply = &op;
    lost.registers.add_vgprs(op.instruction.destination().vgpr() + 1u, 1);
    if (carry.is_scalar_register() && carry != null_register(wave.generation))
        lost.registers.add_scalars(carry.code, wave.lanes / 32);
}

bool reads_lost_half(const WaveState& wave, const Op& op) {
    const LostHalf& lost = wave.tracking->lost_half;
    if (!lost.multiply) return false;
    const Footprint& footprint = op.checks->footprint;
    return lost.registers.meets(footprint.reads) || (footprint.reads_scc && lost.scc);
}

void follow_lost_half(WaveState& wave, const Op& op) {
    LostHalf& lost = wave.tracking->lost_half;
    if (!lost.multiply) return;
    const Footprint& footprint = op.checks->footprint;
    const bool is_read = op.kind != OpKind::memory && reads_lost_half(wave, op);
    if (is_read)
        lost.registers = lost.registers | footprint.writes;
    else if (wave.exec() == wave.all_lanes())
        lost.registers.remove(footprint.writes);
    if (footprint.writes_scc) lost.scc = is_read;
}

void check_wmma_exec(WaveState& wave, const Op& op) {
    if (!op.checks->hazards.wmma || wave.exec() == wave.all_lanes()) return;
    wave.findings->report(FindingKind::wmma_exec, wave, std::countr_one(wave.exec()), "a lane is off");
}

}  // namespace riftjit::rdna::emulator
