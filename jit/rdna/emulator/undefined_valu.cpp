// Undefined bits through vector instructions: per lane, with DPP, SDWA and op_sel applied to the undefined bits just as
// the instruction applies them to the values.
#include <bit>
#include <optional>

#include "jit/rdna/emulator/checks.h"
#include "jit/rdna/emulator/lane_maps.h"
#include "jit/rdna/emulator/program.h"
#include "jit/rdna/emulator/relative.h"
#include "jit/rdna/emulator/undefined.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kMostLanes = 64;

bool has_dpp(Encoding encoding) {
    return encoding == Encoding::dpp16 || encoding == Encoding::dpp8 || encoding == Encoding::e64_dpp16 ||
           encoding == Encoding::e64_dpp8;
}

uint32_t sdwa_selected(uint32_t word, unsigned select, bool sign_extend) {
    unsigned shift = 0, width = 32;
    if (select < 4) shift = select * 8, width = 8;
    if (select == 4 || select == 5) shift = (select - 4) * 16, width = 16;
    const uint32_t field = width == 32 ? word : word >> shift & ((1u << width) - 1);
    const bool sign = sign_extend && width < 32 && (field >> (width - 1) & 1);
    return sign ? field | ~0u << width : field;
}

// One vector instruction (or half of a VOPD), under the wave's state before it executes.
class ValuSpread {
public:
    ValuSpread(WaveState& wave, const Op& op)
        : wave_(wave),
          instruction_(op.instruction),
          row_(info(op.instruction.opcode)),
          traits_(op.checks->undefined),
          exec_(wave.exec()),
          wave_size_(wave.lanes == 32 ? WaveSize::wave32 : WaveSize::wave64) {}

    void run() {
        switch (traits_.spread) {
            case Spread::read_lane:
            case Spread::read_first_lane:
                return read_lane();
            case Spread::write_lane:
                return write_lane();
            case Spread::permlane:
            case Spread::permlane64:
                return permute_lanes();
            case Spread::swap:
                return swap();
            case Spread::relative:
                return relative();
            case Spread::matrix:
                return matrix();
            default:
                return lane_by_lane();
        }
    }

private:
    bool is_e64() const {
        return instruction_.encoding == Encoding::e64 || instruction_.encoding == Encoding::e64_dpp16 ||
               instruction_.encoding == Encoding::e64_dpp8 || row_.format == Format::VOP3 ||
               row_.format == Format::VOP3P;
    }

    Operand source_operand(unsigned i) const {
        const Operand operand = instruction_.source(i);
        if (operand.exists()) return operand;
        if (row_.source_operands()[i].type == OperandType::mask) return {Operand::kVcc};
        if (row_.source_operands()[i].dwords > 0 && row_.destinations > 0) return instruction_.destination();
        return operand;
    }

    // Value and undefined bits of one dword of an operand; a constant is defined, and its value unknown here only where
    // no rule asks for it.
    Bits dword(const Operand& operand, unsigned index, unsigned lane) const {
        if (operand.is_vgpr()) {
            const unsigned v = (operand.vgpr() + index) & 255;
            return {wave_.vgpr(v)[lane], wave_.undefined(v)[lane]};
        }
        if (operand.is_scalar_register()) {
            const unsigned code = (operand.code + index) & 127;
            return {wave_.scalars[code], wave_.scalar_undefined[code]};
        }
        if (operand.is_literal()) return {index == 0 ? instruction_.literal : 0u, 0};
        if (operand.code == Operand::kScc) return {wave_.scc, wave_.scc_undefined};
        if (operand.code >= 128 && operand.code <= 192) return {index == 0 ? operand.code - 128u : 0u, 0};
        if (operand.code > 192 && operand.code <= 208) return {~uint64_t{operand.code - 193u} & 0xFFFFFFFF, 0};
        return {};
    }

    Bits lane_source(unsigned i, unsigned lane) const {
        const Operand operand = source_operand(i);
        const unsigned dwords = row_.source_operands()[i].size(wave_size_);
        unsigned from = lane;
        if (i == 0 && has_dpp(instruction_.encoding)) {
            const SourceLane source = dpp_source(instruction_, wave_, lane);
            if (!source.valid) return {};  // reads 0, or the lane is not written at all
            from = source.lane;
        }
        Bits bits = dword(operand, 0, from);
        if (dwords == 2) {
            const Bits high = dword(operand, 1, from);
            bits.value |= high.value << 32;
            bits.undefined |= high.undefined << 32;
        }
        for (unsigned d = 2; d < dwords; ++d)
            if (dword(operand, d, from).undefined) bits.undefined = ~uint64_t{0};
        if (instruction_.encoding == Encoding::sdwa && i < 2) {
            const bool sign = instruction_.sdwa.sign_extend >> i & 1;
            const unsigned select = instruction_.sdwa.source_select[i];
            bits.value = sdwa_selected(static_cast<uint32_t>(bits.value), select, sign);
            bits.undefined = sdwa_selected(static_cast<uint32_t>(bits.undefined), select, sign);
        }
        return bits;
    }

    // A 16-bit source is the half that op_sel names.
    Bits half_source(unsigned i, unsigned lane, uint8_t selects) const {
        Bits bits = lane_source(i, lane);
        if (selects >> i & 1) bits.value >>= 16, bits.undefined >>= 16;
        bits.undefined &= 0xFFFF;
        bits.value &= 0xFFFF;
        return bits;
    }

    unsigned value_sources() const {
        unsigned count = row_.sources;
        while (count > 0 && (row_.source_operands()[count - 1].type == OperandType::mask)) --count;
        return count < 3 ? count : 3;
    }

    bool condition_undefined(unsigned lane) const {
        for (unsigned i = 0; i < row_.sources; ++i) {
            if (row_.source_operands()[i].type != OperandType::mask) continue;
            return bit_of(source_operand(i).code, lane);
        }
        return row_.reads_vcc && bit_of(Operand::kVcc, lane);
    }
    bool bit_of(unsigned code, unsigned lane) const {
        return code < 128 && (wave_.scalar_undefined[code + lane / 32] >> lane % 32 & 1);
    }

    uint64_t lane_result(unsigned lane, unsigned width) const {
        if (traits_.packed) return packed_result(lane);
        Bits sources[3];
        const unsigned count = value_sources();
        const bool halves = traits_.half_sources && instruction_.encoding != Encoding::sdwa;
        for (unsigned i = 0; i < count; ++i)
            sources[i] =
                halves && is_half_operand(i) ? half_source(i, lane, instruction_.op_sel) : lane_source(i, lane);
        if (traits_.spread == Spread::select) return selected(sources, lane);
        if (accumulates(instruction_.opcode)) sources[2] = accumulator(lane);
        if (same_sources_cancel()) return 0;
        const uint64_t from_sources = spread_bits(traits_.spread, sources, width);
        return condition_undefined(lane) ? ~uint64_t{0} : from_sources;
    }
    // The destination's old value: of a 16-bit one the half that is written.
    Bits accumulator(unsigned lane) const {
        Bits bits = dword(instruction_.destination(), 0, lane);
        if (!traits_.half_result) return bits;
        const unsigned shift = (instruction_.op_sel >> 3 & 1) * 16;
        return {bits.value >> shift & 0xFFFF, bits.undefined >> shift & 0xFFFF};
    }
    bool is_half_operand(unsigned i) const { return (row_.halves >> i & 1) != 0; }

    uint64_t packed_result(unsigned lane) const {
        uint64_t result = 0;
        for (unsigned half = 0; half < 2; ++half) {
            const uint8_t selects = half == 0 ? instruction_.op_sel : instruction_.op_sel_hi;
            bool any = accumulates(instruction_.opcode) &&
                       (dword(instruction_.destination(), 0, lane).undefined >> 16 * half & 0xFFFF);
            for (unsigned i = 0; i < value_sources(); ++i) any |= half_source(i, lane, selects).undefined != 0;
            if (any) result |= uint64_t{0xFFFF} << 16 * half;
        }
        return result;
    }

    uint64_t selected(const Bits* sources, unsigned lane) const {
        if (condition_undefined(lane))
            return sources[0].undefined | sources[1].undefined | (sources[0].value ^ sources[1].value);
        return (condition_value(lane) ? sources[1] : sources[0]).undefined;
    }
    bool condition_value(unsigned lane) const {
        unsigned code = Operand::kVcc;
        for (unsigned i = 0; i < row_.sources; ++i)
            if (row_.source_operands()[i].type == OperandType::mask) code = source_operand(i).code;
        return code < 128 && (wave_.scalars[code + lane / 32] >> lane % 32 & 1);
    }

    // x ^ x and x - x are 0 whatever x is: compilers clear registers so.
    bool same_sources_cancel() const {
        const bool cancels = instruction_.opcode == Opcode::v_xor_b32 || instruction_.opcode == Opcode::v_sub_nc_u32;
        return cancels && instruction_.source(0) == instruction_.source(1) && !has_dpp(instruction_.encoding) &&
               instruction_.encoding != Encoding::sdwa;
    }

    bool lane_is_written(unsigned lane) const {
        if (!(exec_ >> lane & 1)) return false;
        return !has_dpp(instruction_.encoding) || dpp_writes(instruction_, wave_, lane);
    }

    void lane_by_lane() {
        const bool has_vector_result = row_.destinations > 0 && instruction_.destination().is_vgpr();
        const unsigned dwords = row_.destinations > 0 ? row_.destination_operands()[0].size(wave_size_) : 0;
        const unsigned width = traits_.half_result ? 16 : dwords == 1 ? 32 : 64;
        uint32_t results[4][kMostLanes] = {};
        uint64_t written = 0, mask = 0;
        for (unsigned lane = 0; lane < wave_.lanes; ++lane) {
            if (!lane_is_written(lane)) continue;
            written |= uint64_t{1} << lane;
            const uint64_t result = lane_result(lane, width);
            results[0][lane] = static_cast<uint32_t>(result);
            results[1][lane] = static_cast<uint32_t>(result >> 32);
            results[2][lane] = results[3][lane] = result ? ~0u : 0;
            if (result) mask |= uint64_t{1} << lane;
        }
        if (has_vector_result)
            write_vector(results, dwords, written);
        else if (row_.destinations > 0)
            write_scalar(instruction_.destination(), mask);
        if (row_.destinations > 1) write_scalar(second_destination(), mask);
    }
    Operand second_destination() const {
        const Operand operand = instruction_.destination(1);
        return operand.exists() ? operand : Operand{Operand::kVcc};
    }

    void write_vector(uint32_t (&results)[4][kMostLanes], unsigned dwords, uint64_t written) {
        const unsigned first = instruction_.destination().vgpr();
        uint32_t bits = ~0u;
        if (traits_.half_result && instruction_.encoding != Encoding::sdwa) {
            const bool high = (instruction_.op_sel >> 3 & 1) != 0;
            bits = high ? 0xFFFF0000u : 0xFFFFu;
            if (high)
                for (uint32_t& word : results[0]) word <<= 16;
        }
        if (instruction_.opcode == Opcode::v_fma_mixhi_f16) bits = 0xFFFF0000u;
        if (instruction_.opcode == Opcode::v_fma_mixlo_f16) bits = 0xFFFFu;
        if (instruction_.encoding == Encoding::sdwa) bits = place_sdwa(results[0]);
        for (unsigned d = 0; d < dwords && d < 4; ++d) mark_lanes(wave_, (first + d) & 255, written, bits, results[d]);
    }

    // The chosen byte or word is replaced; the rest is padded (unused 0, 1) or kept (2).
    uint32_t place_sdwa(uint32_t (&results)[kMostLanes]) const {
        const Sdwa& sdwa = instruction_.sdwa;
        unsigned shift = 0;
        uint32_t field = ~0u;
        if (sdwa.destination_select < 4) shift = sdwa.destination_select * 8u, field = 0xFF;
        if (sdwa.destination_select == 4 || sdwa.destination_select == 5)
            shift = (sdwa.destination_select - 4u) * 16, field = 0xFFFF;
        for (uint32_t& word : results) word = (word & field) << shift;
        return sdwa.destination_unused == 2 ? field << shift : ~0u;
    }

    void write_scalar(const Operand& destination, uint64_t mask) {
        if (destination.is_vgpr()) return;
        const bool is_exec = row_.destination_operands()[0].type == OperandType::exec;
        if (is_exec || destination.code == Operand::kExec) {
            if (mask)
                wave_.findings->report(FindingKind::undefined_exec, wave_, std::countr_zero(mask),
                                       "exec is computed from bits that nothing wrote");
            return;
        }
        if (!destination.exists() || destination.code >= 128 || destination == null_register(wave_.generation)) return;
        const bool is_mask = row_.destination_operands()[row_.destinations - 1].type == OperandType::mask;
        mark_scalar(wave_, destination.code, is_mask ? static_cast<uint32_t>(mask) : mask ? ~0u : 0);
        if (is_mask && wave_.lanes == 64) mark_scalar(wave_, destination.code + 1u, static_cast<uint32_t>(mask >> 32));
    }

    void report_select(std::string detail) {
        wave_.findings->report(FindingKind::undefined_lane_select, wave_, kNoLane, std::move(detail));
    }

    void read_lane() {
        unsigned lane = exec_ ? static_cast<unsigned>(std::countr_zero(exec_)) : 0;
        if (traits_.spread == Spread::read_lane) {
            const Bits select = dword(instruction_.source(1), 0, 0);
            if (select.undefined & (wave_.lanes - 1)) report_select("the lane to read is undefined");
            lane = static_cast<unsigned>(select.value) & (wave_.lanes - 1);
        }
        const Operand destination = instruction_.destination();
        if (destination.code < 128 && destination != null_register(wave_.generation))
            mark_scalar(wave_, destination.code,
                        static_cast<uint32_t>(dword(instruction_.source(0), 0, lane).undefined));
    }

    void write_lane() {
        const Bits select = dword(instruction_.source(1), 0, 0);
        if (select.undefined & (wave_.lanes - 1)) report_select("the lane to write is undefined");
        const unsigned lane = static_cast<unsigned>(select.value) & (wave_.lanes - 1);
        uint32_t words[kMostLanes] = {};
        words[lane] = static_cast<uint32_t>(dword(instruction_.source(0), 0, lane).undefined);
        mark_lanes(wave_, instruction_.destination().vgpr(), uint64_t{1} << lane, ~0u, words);
    }

    void permute_lanes() {
        const bool by_vgpr = row_.name.find("_var") != std::string_view::npos;
        uint32_t results[kMostLanes] = {};
        uint64_t written = 0;
        for (unsigned lane = 0; lane < wave_.lanes; ++lane) {
            if (!(exec_ >> lane & 1)) continue;
            unsigned from = lane ^ 32;
            if (traits_.spread == Spread::permlane) {
                const Bits select = permlane_select(lane, by_vgpr);
                if (select.undefined & 15) return report_select("the lane select is undefined");
                const bool crosses = row_.name.find("lanex") != std::string_view::npos;
                from = ((lane & ~15u) ^ (crosses ? 16u : 0u)) | (select.value & 15u);
                const bool fetches_inactive = instruction_.op_sel & 1, bounded = instruction_.op_sel >> 1 & 1;
                if (!fetches_inactive && !(exec_ >> from & 1)) {
                    if (bounded) written |= uint64_t{1} << lane;  // 0
                    continue;
                }
            }
            written |= uint64_t{1} << lane;
            results[lane] = static_cast<uint32_t>(dword(instruction_.source(0), 0, from % wave_.lanes).undefined);
        }
        mark_lanes(wave_, instruction_.destination().vgpr(), written, ~0u, results);
    }
    Bits permlane_select(unsigned lane, bool by_vgpr) const {
        if (by_vgpr) return dword(instruction_.source(1), 0, lane);
        const Bits word = dword(instruction_.source(lane % 16 < 8 ? 1 : 2), 0, 0);
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
            words[lane] = static_cast<uint32_t>(dword(source, 0, lane).undefined);
        mark_lanes(wave_, chosen.written.first, exec_, ~0u, words);
    }

    // Every element of the result depends on a whole row and column.
    void matrix() {
        bool any = false;
        for (unsigned i = 0; i < row_.sources; ++i) {
            if (!instruction_.source(i).is_vgpr()) continue;
            for (unsigned d = 0; d < row_.source_operands()[i].size(wave_size_); ++d)
                any |= wave_.undefined_lanes[(instruction_.source(i).vgpr() + d) & 255] != 0;
        }
        uint32_t results[kMostLanes];
        for (uint32_t& word : results) word = any ? ~0u : 0;
        for (unsigned d = 0; d < row_.destination_operands()[0].size(wave_size_); ++d)
            mark_lanes(wave_, (instruction_.destination().vgpr() + d) & 255, wave_.all_lanes(), ~0u, results);
    }

    WaveState& wave_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    const UndefinedTraits& traits_;
    uint64_t exec_;
    WaveSize wave_size_;
};

// Both halves read before either writes, so that their undefined bits are computed first too.
void spread_dual(WaveState& wave, const Op& op) {
    uint32_t results[2][kMostLanes] = {};
    const uint64_t exec = wave.exec();
    for (unsigned h = 0; h < 2; ++h) {
        const VopdHalf& half = op.instruction.dual[h];
        for (unsigned lane = 0; lane < wave.lanes; ++lane) {
            if (!(exec >> lane & 1)) continue;
            uint64_t undefined = 0;
            Bits bits[3];
            for (unsigned i = 0; i < 2; ++i) {
                const Operand& operand = half.operands[1 + i];
                if (operand.is_vgpr())
                    bits[i] = {wave.vgpr(operand.vgpr())[lane], wave.undefined(operand.vgpr())[lane]};
                else if (operand.is_scalar_register())
                    bits[i] = {wave.scalars[operand.code], wave.scalar_undefined[operand.code]};
                else if (operand.is_literal())
                    bits[i].value = op.instruction.literal;
                else if (operand.code >= 128 && operand.code <= 192)
                    bits[i].value = operand.code - 128u;
            }
            const Spread spread = op.checks->dual_spread[h];
            if (accumulates(half.opcode)) bits[2].undefined = wave.undefined(half.operands[0].vgpr())[lane];
            if (half.operands[3].is_vgpr()) bits[2].undefined = wave.undefined(half.operands[3].vgpr())[lane];
            if (spread == Spread::select) {
                const bool unknown = wave.scalar_undefined[Operand::kVcc] >> lane & 1;
                const bool second = wave.scalars[Operand::kVcc] >> lane & 1;
                undefined = unknown ? bits[0].undefined | bits[1].undefined | (bits[0].value ^ bits[1].value)
                                    : bits[second].undefined;
            } else {
                undefined = spread_bits(spread, bits, 32);
            }
            results[h][lane] = static_cast<uint32_t>(undefined);
        }
    }
    for (unsigned h = 0; h < 2; ++h) mark_lanes(wave, op.instruction.dual[h].operands[0].vgpr(), exec, ~0u, results[h]);
}

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

void spread_valu(WaveState& wave, const Op& op) {
    const OpChecks& checks = *op.checks;
    if (checks.undefined.spread == Spread::relative) return ValuSpread(wave, op).run();
    const RegisterSet& undefined = wave.tracking->undefined;
    const bool reads_undefined =
        undefined.meets(checks.footprint.reads) || (checks.footprint.reads_scc && wave.scc_undefined);
    if (!reads_undefined && !undefined.meets(checks.footprint.writes)) return;
    const bool is_dual = op.instruction.encoding == Encoding::vopd;
    if (is_dual && reads_undefined) return spread_dual(wave, op);
    if (is_dual) return define_results(wave, op);
    const bool writes_whole = !checks.undefined.half_result && !has_dpp(op.instruction.encoding) &&
                              op.instruction.encoding != Encoding::sdwa && checks.undefined.spread < Spread::read_lane;
    if (!reads_undefined && writes_whole) return define_results(wave, op);
    ValuSpread(wave, op).run();
}

}  // namespace riftjit::rdna::emulator
