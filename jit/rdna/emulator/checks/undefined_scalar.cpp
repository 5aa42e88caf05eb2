// Undefined bits in the scalar unit, in branches, addresses and stored data.
#include <fmt/format.h>

#include <bit>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/checks/undefined.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/machine/relative.h"

namespace riftjit::rdna::emulator {
namespace {

Bits scalar_bits(const WaveState& wave, const ScalarSource& source, unsigned dwords) {
    if (source.code < 0) return {source.constant, 0};
    if (source.code == Operand::kScc) return {wave.scc, wave.scc_undefined};
    if (source.code >= 128) return {};  // apertures are defined; vccz and execz are not used by compilers
    const auto code = static_cast<unsigned>(source.code);
    Bits bits = {wave.scalars[code], wave.scalar_undefined[code]};
    if (dwords == 2) {
        bits.value |= uint64_t{wave.scalars[code + 1]} << 32;
        bits.undefined |= uint64_t{wave.scalar_undefined[code + 1]} << 32;
    }
    return bits;
}

unsigned source_dwords(const Op& op, unsigned i) {
    const InstructionInfo& row = info(op.instruction.opcode);
    return i < row.sources && row.source_operands()[i].dwords == 2 ? 2 : 1;
}

bool is_saveexec(const InstructionInfo& row) { return row.writes_exec && row.reads_exec; }

uint64_t scalar_result(const WaveState& wave, const Op& op) {
    const InstructionInfo& row = info(op.instruction.opcode);
    Bits sources[3];
    for (unsigned i = 0; i < row.sources && i < 3; ++i)
        sources[i] = scalar_bits(wave, op.sources[i], source_dwords(op, i));
    const Spread spread = op.checks->spread;
    if (spread == Spread::select) {
        const unsigned dwords = op.destination_dwords;
        if (row.reads_destination()) sources[1] = scalar_bits(wave, {.code = op.destination}, dwords);
        if (wave.scc_undefined)
            return sources[0].undefined | sources[1].undefined | (sources[0].value ^ sources[1].value);
        return (wave.scc ? sources[0] : sources[1]).undefined;
    }
    if (row.reads_destination()) sources[2] = scalar_bits(wave, {.code = op.destination}, 1);
    if (row.reads_scc && wave.scc_undefined) return ~uint64_t{0};
    const bool cancels =
        spread == Spread::bit_xor && op.sources[0].code >= 0 && op.sources[0].code == op.sources[1].code;
    return cancels ? 0 : spread_bits(spread, sources, op.destination_dwords == 2 ? 64 : 32);
}

// exec of s_OP_saveexec: only bits that the other operand does not decide.
uint64_t saveexec_undefined(const WaveState& wave, const Op& op) {
    const Bits sources[3] = {scalar_bits(wave, op.sources[0], source_dwords(op, 0)), {wave.exec(), 0}, {}};
    return spread_bits(op.checks->spread, sources, wave.lanes);
}

// Where the result goes and comes from is m0's choice, as long as the instruction has not executed.
ScalarSpread spread_relative(const WaveState& wave, const Op& op) {
    if (wave.scalar_undefined[m0_register(wave.generation).code])
        wave.findings->report(FindingKind::undefined_lane_select, wave, kNoLane, std::string(kUndefinedIndex));
    const RelativeRanges chosen = relative_ranges(wave, op.instruction);
    const bool is_64 = info(op.instruction.opcode).operands[0].dwords == 2;
    const ScalarSource named = op.sources[info(op.instruction.opcode).sources - 1u];
    const ScalarSource source =
        chosen.read.count > 0 ? ScalarSource{.code = static_cast<int16_t>(chosen.read.first)} : named;
    ScalarSpread spread;
    spread.any = true;
    spread.result = scalar_bits(wave, source, is_64 ? 2 : 1).undefined;
    spread.destination = chosen.written.count > 0 ? chosen.written.first : -1;
    spread.dwords = chosen.written.count;
    return spread;
}

bool sources_undefined(const WaveState& wave, const Op& op) {
    const Footprint& footprint = op.checks->footprint;
    return wave.tracking->undefined.meets_scalars(footprint.reads) || (footprint.reads_scc && wave.scc_undefined);
}

void report_exec(WaveState& wave, uint64_t undefined) {
    wave.findings->report(FindingKind::undefined_exec, wave, std::countr_zero(undefined),
                          fmt::format("exec is computed from bits that nothing wrote: {:#x}", undefined));
}

// scc says whether the result is not zero, where the instruction gives a bit pattern; a defined 1 in it decides.
uint32_t scc_undefined_after(const WaveState& wave, const Op& op, uint64_t undefined) {
    const Spread spread = op.checks->spread;
    const bool is_pattern = (spread >= Spread::copy && spread <= Spread::or_not) || spread == Spread::shift_left ||
                            spread == Spread::shift_right || spread == Spread::shift_right_signed;
    if (!is_pattern || op.destination < 0) return undefined != 0;
    uint64_t value = wave.scalars[op.destination];
    if (op.destination_dwords == 2) value |= uint64_t{wave.scalars[op.destination + 1]} << 32;
    return undefined != 0 && (value & ~undefined) == 0;
}

}  // namespace

ScalarSpread spread_scalar_before(const WaveState& wave, const Op& op) {
    if (info(op.instruction.opcode).relative) return spread_relative(wave, op);
    ScalarSpread spread{.destination = op.destination, .dwords = op.destination_dwords};
    if (!sources_undefined(wave, op)) return spread;
    spread.any = true;
    if (is_saveexec(info(op.instruction.opcode)))
        spread.result = saveexec_undefined(wave, op);
    else
        spread.result = scalar_result(wave, op);
    return spread;
}

void spread_scalar_after(WaveState& wave, const Op& op, const ScalarSpread& spread) {
    follow_lost_half(wave, op);
    const InstructionInfo& row = info(op.instruction.opcode);
    if (is_saveexec(row)) {
        if (spread.result) report_exec(wave, spread.result);
        for (unsigned i = 0; i < op.destination_dwords && op.destination >= 0; ++i)
            mark_scalar(wave, static_cast<unsigned>(op.destination) + i, 0);
        wave.scc_undefined = 0;
        return;
    }
    if (row.writes_scc) wave.scc_undefined = spread.any ? scc_undefined_after(wave, op, spread.result) : 0;
    if (spread.destination < 0) return;
    const auto destination = static_cast<unsigned>(spread.destination);
    if (destination == Operand::kExec || destination == Operand::kExec + 1u) {
        if (spread.result) report_exec(wave, spread.result);
        return;
    }
    for (unsigned i = 0; i < spread.dwords; ++i)
        if (wave.tracking->undefined.has_scalar(destination + i) || spread.any)
            mark_scalar(wave, destination + i, static_cast<uint32_t>(spread.result >> 32 * i));
}

void check_branch(WaveState& wave, const Op& op) {
    switch (op.condition) {
        case BranchCondition::scc0:
        case BranchCondition::scc1:
            if (wave.scc_undefined)
                wave.findings->report(FindingKind::undefined_branch, wave, kNoLane,
                                      "scc depends on bits that nothing wrote");
            break;
        case BranchCondition::vccz:
        case BranchCondition::vccnz: {
            uint64_t undefined = wave.scalar_undefined[Operand::kVcc];
            if (wave.lanes == 64) undefined |= uint64_t{wave.scalar_undefined[Operand::kVcc + 1]} << 32;
            if (undefined && !(wave.vcc() & ~undefined))
                wave.findings->report(FindingKind::undefined_branch, wave, std::countr_zero(undefined),
                                      "vcc has bits that nothing wrote, and none that is set");
            break;
        }
        default:
            break;
    }
}

void check_jump(WaveState& wave, const Op& op) {
    if (wave.tracking->undefined.meets_scalars(op.checks->footprint.reads))
        wave.findings->report(FindingKind::undefined_branch, wave, kNoLane, "the target has bits that nothing wrote");
}

void check_subvector_loop(WaveState& wave, const Op& op) {
    if (wave.tracking->undefined.meets_scalars(op.checks->footprint.reads))
        wave.findings->report(FindingKind::undefined_exec, wave, kNoLane,
                              "the half of exec that waits for its turn has bits that nothing wrote");
    if (op.destination >= 0) mark_scalar(wave, static_cast<unsigned>(op.destination), 0);
}

namespace {

std::string vgpr_text(unsigned vgpr) { return fmt::format("v{} has bits that nothing wrote", vgpr); }

void check_address(WaveState& wave, const Op& op) {
    const RegisterSet doubtful = op.checks->footprint.address & wave.tracking->undefined;
    if (doubtful.empty()) return;
    if (const int code = doubtful.first_scalar(); code >= 0) {
        wave.findings->report(FindingKind::undefined_address, wave, kNoLane,
                              fmt::format("{} has bits that nothing wrote", scalar_name(static_cast<unsigned>(code))));
        return;
    }
    for (unsigned v = 0; v < 256; ++v) {
        if (!doubtful.has_vgpr(v)) continue;
        if (const uint64_t lanes = wave.undefined_lanes[v] & wave.exec()) {
            wave.findings->report(FindingKind::undefined_address, wave, std::countr_zero(lanes), vgpr_text(v));
            return;
        }
    }
}

// Scratch and LDS stores copy silently: so do spills of registers that a function merely preserves.
bool stores_to_global(const WaveState& wave, const Instruction& instruction, unsigned lane) {
    switch (info(instruction.opcode).format) {
        case Format::GLOBAL:
            return true;
        case Format::FLAT: {
            const uint32_t high = wave.vgpr((instruction.address.vaddr.vgpr() + 1) & 255)[lane];
            return high != wave.shared_base >> 32 && high != wave.private_base >> 32;
        }
        case Format::MUBUF: {  // swizzled: scratch
            const unsigned resource = instruction.address.resource.code;
            return resource < 124 && !(wave.scalars[resource + 1] >> 31);
        }
        default:
            return false;
    }
}

uint32_t stored_bits(const InstructionInfo& row) {
    const uint32_t bits = row.stores == 0 ? ~0u : (1u << row.stores) - 1;
    return row.stores_high ? bits << 16 : bits;
}

void check_stored(WaveState& wave, const Op& op) {
    const InstructionInfo& row = info(op.instruction.opcode);
    if (row.memory != MemoryKind::store && row.memory != MemoryKind::atomic) return;
    const uint32_t bits = stored_bits(row);
    const WaveSize size = wave.lanes == 32 ? WaveSize::wave32 : WaveSize::wave64;
    for (unsigned i = 0; i < row.sources; ++i) {
        const OperandRange data = range_of(op.instruction.source(i), row.source_operands()[i].size(size));
        if (data.scalar) continue;
        for (unsigned v = data.first; v < data.first + unsigned{data.count}; ++v)
            for (uint64_t lanes = wave.undefined_lanes[v & 255] & wave.exec(); lanes; lanes &= lanes - 1) {
                const int lane = std::countr_zero(lanes);
                if ((wave.undefined(v & 255)[lane] & bits) != bits) continue;
                if (!stores_to_global(wave, op.instruction, static_cast<unsigned>(lane))) continue;
                wave.findings->report(FindingKind::undefined_store, wave, lane,
                                      fmt::format("v{} was never written", v));
                return;
            }
    }
}

}  // namespace

void check_memory_operands(WaveState& wave, const Op& op) {
    if (wave.tracking->undefined.meets(op.checks->footprint.reads)) {
        check_address(wave, op);
        check_stored(wave, op);
    }
    follow_lost_half(wave, op);
}

}  // namespace riftjit::rdna::emulator
