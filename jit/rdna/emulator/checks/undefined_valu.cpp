// Undefined bits through vector instructions that move values between lanes or registers, and through matrices.
#include <algorithm>
#include <bit>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/checks/undefined.h"
#include "jit/rdna/emulator/checks/undefined_lanes.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/machine/relative.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kAccumulator = 2;

// One instruction, under the wave's state before it executes.
class MovesSpread {
public:
    MovesSpread(WaveState& wave, const Op& op)
        : wave_(wave),
          instruction_(op.instruction),
          row_(info(op.instruction.opcode)),
          spread_(op.checks->spread),
          exec_(wave.exec()),
          wave_size_(wave.lanes == 32 ? WaveSize::wave32 : WaveSize::wave64) {}

    void run() {
        switch (spread_) {
            case Spread::read_lane:
            case Spread::read_first_lane:
                return read_lane();
            case Spread::write_lane:
                return write_lane();
            case Spread::permlane:
            case Spread::permlane_across:
            case Spread::permlane64:
                return permute_lanes();
            case Spread::swap:
                return swap();
            case Spread::relative:
                return relative();
            case Spread::matrix:
                return matrix();
            default:  // v_nop and its kin
                return;
        }
    }

private:
    // Value and undefined bits of the operand in one lane.
    Bits bits(const Operand& operand, unsigned lane) const {
        if (operand.is_vgpr()) return {wave_.vgpr(operand.vgpr())[lane], wave_.undefined(operand.vgpr())[lane]};
        if (operand.is_scalar_register()) return {wave_.scalars[operand.code], wave_.scalar_undefined[operand.code]};
        if (operand.code == Operand::kScc) return {wave_.scc, wave_.scc_undefined};
        if (!operand.is_literal() && !operand.is_inline_constant()) return {};  // an aperture: no lane's number
        return {constant_bits(operand, instruction_.literal, OperandType::i32, LiteralSign::zero_extended), 0};
    }

    void report_select(std::string detail) {
        wave_.findings->report(FindingKind::undefined_lane_select, wave_, kNoLane, std::move(detail));
    }

    void read_lane() {
        unsigned lane = exec_ ? static_cast<unsigned>(std::countr_zero(exec_)) : 0;
        if (spread_ == Spread::read_lane) {
            const Bits select = bits(instruction_.source(1), 0);
            if (select.undefined & (wave_.lanes - 1)) report_select("the lane to read is undefined");
            lane = static_cast<unsigned>(select.value) & (wave_.lanes - 1);
        }
        const Operand destination = instruction_.destination();
        if (destination.code < 128 && destination != null_register(wave_.generation))
            mark_scalar(wave_, destination.code, static_cast<uint32_t>(bits(instruction_.source(0), lane).undefined));
    }

    void write_lane() {
        const Bits select = bits(instruction_.source(1), 0);
        if (select.undefined & (wave_.lanes - 1)) report_select("the lane to write is undefined");
        const unsigned lane = static_cast<unsigned>(select.value) & (wave_.lanes - 1);
        uint32_t words[kMostLanes] = {};
        words[lane] = static_cast<uint32_t>(bits(instruction_.source(0), lane).undefined);
        mark_lanes(wave_, instruction_.destination().vgpr(), uint64_t{1} << lane, ~0u, words);
    }

    void permute_lanes() {
        if (spread_ == Spread::permlane64 && wave_.lanes == 32) return;  // does nothing
        const bool by_vgpr = row_.source_operands()[1].registers == RegisterClass::vgpr;
        uint32_t results[kMostLanes] = {};
        uint64_t written = 0;
        for (unsigned lane = 0; lane < wave_.lanes; ++lane) {
            if (!(exec_ >> lane & 1)) continue;
            unsigned from = lane ^ 32;
            if (spread_ != Spread::permlane64) {
                const Bits select = permlane_select(lane, by_vgpr);
                if (select.undefined & 15) return report_select("the lane select is undefined");
                const bool crosses = spread_ == Spread::permlane_across;
                from = ((lane & ~15u) ^ (crosses ? 16u : 0u)) | (select.value & 15u);
                const bool fetches_inactive = instruction_.op_sel & 1, bounded = instruction_.op_sel >> 1 & 1;
                if (!fetches_inactive && !(exec_ >> from & 1)) {
                    if (bounded) written |= uint64_t{1} << lane;  // 0
                    continue;
                }
            }
            written |= uint64_t{1} << lane;
            results[lane] = static_cast<uint32_t>(bits(instruction_.source(0), from % wave_.lanes).undefined);
        }
        mark_lanes(wave_, instruction_.destination().vgpr(), written, ~0u, results);
    }
    Bits permlane_select(unsigned lane, bool by_vgpr) const {
        if (by_vgpr) return bits(instruction_.source(1), lane);
        const Bits word = bits(instruction_.source(lane % 16 < 8 ? 1 : 2), 0);
        const unsigned shift = lane % 8 * 4;
        return {word.value >> shift & 15, word.undefined >> shift & 15};
    }

    void swap() {
        const Operand second = instruction_.operands[1].exists() ? instruction_.operands[1] : instruction_.operands[2];
        exchange(instruction_.operands[0].vgpr(), second.vgpr());
    }
    void exchange(unsigned a, unsigned b) {
        uint32_t old_a[kMostLanes], old_b[kMostLanes];
        for (unsigned lane = 0; lane < wave_.lanes; ++lane)
            old_a[lane] = wave_.undefined(a)[lane], old_b[lane] = wave_.undefined(b)[lane];
        mark_lanes(wave_, a, exec_, ~0u, old_b);
        mark_lanes(wave_, b, exec_, ~0u, old_a);
    }

    // The registers are those that m0 chooses, whether or not m0 is defined.
    void relative() {
        if (exec_ == 0) return;
        if (wave_.scalar_undefined[m0_register(wave_.generation).code]) report_select(std::string(kUndefinedIndex));
        const RelativeRanges chosen = relative_ranges(wave_, instruction_);
        if (chosen.written.count == 0) return;
        if (chosen.swaps) {
            if (chosen.read.count > 0) exchange(chosen.written.first, chosen.read.first);
            return;
        }
        Operand source = instruction_.operands[1];
        if (source.is_vgpr() && chosen.read.count == 0) return;
        if (source.is_vgpr()) source = vgpr(chosen.read.first);
        uint32_t words[kMostLanes];
        for (unsigned lane = 0; lane < wave_.lanes; ++lane)
            words[lane] = static_cast<uint32_t>(bits(source, lane).undefined);
        mark_lanes(wave_, chosen.written.first, exec_, ~0u, words);
    }

    // Every element of the result depends on a whole row and column.
    void matrix() {
        bool any = false;
        for (unsigned i = 0; i < row_.sources; ++i) {
            const OperandRange range = range_of(instruction_.source(i), row_.source_operands()[i].size(wave_size_));
            for (unsigned v = range.first; v < range.first + unsigned{range.count} && !range.scalar; ++v)
                any |= has_undefined(v, i == kAccumulator ? accumulator_bits() : ~0u);
        }
        uint32_t results[kMostLanes];
        for (uint32_t& word : results) word = any ? ~0u : 0;
        for (unsigned d = 0; d < row_.destination_operands()[0].size(wave_size_); ++d)
            mark_lanes(wave_, instruction_.destination().vgpr() + d, wave_.all_lanes(), accumulator_bits(), results);
    }
    bool has_undefined(unsigned vgpr, uint32_t bits) const {
        for (uint64_t left = wave_.undefined_lanes[vgpr]; left; left &= left - 1)
            if (wave_.undefined(vgpr)[std::countr_zero(left)] & bits) return true;
        return false;
    }
    // On gfx11 one half of each register holds an element of 16 bits, and the other stays.
    uint32_t accumulator_bits() const {
        const bool is_half = row_.opcode == Opcode::v_wmma_f16_16x16x16_f16_gfx11 ||
                             row_.opcode == Opcode::v_wmma_bf16_16x16x16_bf16_gfx11;
        if (!is_half) return ~0u;
        return instruction_.op_sel & 4 ? 0xFFFF0000u : 0xFFFFu;
    }

    WaveState& wave_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    Spread spread_;
    uint64_t exec_;
    WaveSize wave_size_;
};

void define_results(WaveState& wave, const Op& op) {
    const RegisterSet stale = op.checks->footprint.writes & wave.tracking->undefined;
    const uint64_t exec = wave.exec();
    for (unsigned word = 0; word < 4; ++word)
        for (uint64_t left = stale.vgprs[word]; left; left &= left - 1)
            mark_defined(wave, word * 64 + static_cast<unsigned>(std::countr_zero(left)), exec);
    for (unsigned word = 0; word < 2; ++word)
        for (uint64_t left = stale.scalars[word]; left; left &= left - 1)
            mark_scalar(wave, word * 64 + static_cast<unsigned>(std::countr_zero(left)), 0);
}

}  // namespace

namespace {

void spread_registers(WaveState& wave, const Op& op) {
    const OpChecks& checks = *op.checks;
    if (checks.spread == Spread::relative) return MovesSpread(wave, op).run();
    const RegisterSet& undefined = wave.tracking->undefined;
    const bool reads_undefined =
        undefined.meets(checks.footprint.reads) || (checks.footprint.reads_scc && wave.scc_undefined);
    if (!reads_undefined && !undefined.meets(checks.footprint.writes)) return;
    if (checks.lanes.empty()) return MovesSpread(wave, op).run();
    const bool writes_whole = std::ranges::all_of(checks.lanes, &LaneSpread::writes_whole);
    if (!reads_undefined && writes_whole) return define_results(wave, op);
    spread_lanes(wave, op);
}

}  // namespace

void spread_valu(WaveState& wave, const Op& op) {
    spread_registers(wave, op);
    follow_lost_half(wave, op);
}

}  // namespace riftjit::rdna::emulator
