// Undefined bits are selected, extended and placed by the same steps as the values: both are bit patterns, and all that
// DPP, SDWA, op_sel and abs do to a bit pattern is to copy bits or to clear them.
#include "jit/rdna/emulator/checks/undefined_lanes.h"

#include <algorithm>
#include <bit>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/valu/lane_maps.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kMostDwords = 4;

bool has_half_result(const LaneOp& op) {
    return op.semantics->result == ResultKind::half || op.semantics->result == ResultKind::f16;
}
bool has_dpp(Encoding encoding) { return is_dpp8(encoding) || is_dpp16(encoding); }

WrittenField written_field(const LaneOp& op) {
    const uint8_t upper = 16;
    switch (op.semantics->opcode) {
        case Opcode::v_fma_mixlo_f16:
            return {0, 16};
        case Opcode::v_fma_mixhi_f16:
            return {upper, 16};
        case Opcode::v_cvt_pk_fp8_f32:
        case Opcode::v_cvt_pk_bf8_f32:
            return {op.op_sel & 8 ? upper : uint8_t{0}, 16};
        case Opcode::v_cvt_sr_fp8_f32:
        case Opcode::v_cvt_sr_bf8_f32:
            return {static_cast<uint8_t>(8 * (op.op_sel >> 2 & 3)), 8};
        default:
            if (!has_half_result(op)) return {};
            return {op.high_half ? upper : uint8_t{0}, 16};
    }
}

// The vector ALU leaves the choice between f32 and a half of f16 to the instruction itself.
void choose_mixed_halves(LaneOp& op) {
    for (unsigned i = 0; i < 3; ++i) {
        if ((op.op_sel_hi >> i & 1) == 0 || op.sources[i].kind == SourceKind::constant) continue;
        op.sources[i].shape = SourceShape::half;
        op.sources[i].high = (op.op_sel >> i & 1) != 0;
    }
}

LaneSpread follow(const LaneOp& op) {
    const InstructionInfo& row = info(op.semantics->opcode);
    LaneSpread spread{.op = op,
                      .spread = row.spread,
                      .source_count = std::min(op.source_count, kMaxLaneSources),
                      .field = written_field(op),
                      .accumulates = row.destinations != 0 && row.operands[0].reads};
    // What the rest of the register keeps is no input of the part that is written.
    if (spread.field.width < 32)
        while (spread.source_count > 0 && row.source_operands()[spread.source_count - 1u].tied) --spread.source_count;
    const bool adds = spread.spread == Spread::upwards || spread.spread == Spread::upwards24;
    if (adds && op.clamp) spread.spread = Spread::everything;  // the uppermost bits decide whether it saturates
    if (row.mixed) choose_mixed_halves(spread.op);
    return spread;
}

// Compilers clear registers so.
bool is_always_zero(const Instruction& instruction) {
    const bool cancels = instruction.opcode == Opcode::v_xor_b32 || instruction.opcode == Opcode::v_sub_nc_u32;
    return cancels && instruction.source(0) == instruction.source(1) && !has_dpp(instruction.encoding) &&
           instruction.encoding != Encoding::sdwa;
}

uint64_t raw_undefined(WaveState& wave, const ValuSource& source, unsigned lane) {
    if (source.kind == SourceKind::aperture) return source.index == Operand::kScc && wave.scc_undefined ? ~0u : 0;
    if (source.kind != SourceKind::vgpr && source.kind != SourceKind::scalar) return 0;
    const auto word = [&](unsigned i) {
        return source.kind == SourceKind::vgpr ? wave.undefined(source.index + i)[lane]
                                               : wave.scalar_undefined[source.index + i];
    };
    for (unsigned i = 2; i < source.dwords; ++i)
        if (word(i)) return ~uint64_t{0};
    return source.dwords < 2 ? word(0) : word(0) | uint64_t{word(1)} << 32;
}

// One instruction, before it executes: what its results will leave undefined.
class LaneResult {
public:
    LaneResult(WaveState& wave, const LaneSpread& spread, const Instruction& instruction)
        : wave_(wave),
          spread_(spread),
          op_(spread.op),
          instruction_(instruction),
          has_dpp_(has_dpp(instruction.encoding)) {
        if (is_scalar_result(op_)) {  // whatever exec is
            if (lane_result(0)) mask_ = 1;
            return;
        }
        for (uint64_t left = wave.exec() & wave.all_lanes(); left; left &= left - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(left));
            if (!has_dpp_ || dpp_writes(instruction, wave, lane)) compute(lane);
        }
    }

    void commit() {
        if (is_scalar_result(op_)) {
            if (op_.scalar != kNoRegister) mark_scalar(wave_, op_.scalar, mask_ ? ~0u : 0);
            return;
        }
        if (op_.vgpr != kNoRegister)
            for (unsigned d = 0; d < op_.dwords && d < kMostDwords; ++d)
                mark_lanes(wave_, op_.vgpr + d, written_, places_sdwa() ? ~0u : spread_.field.mask(), words_[d]);
        if (op_.lane_mask == Operand::kExec) {
            if (mask_)
                wave_.findings->report(FindingKind::undefined_exec, wave_, std::countr_zero(mask_),
                                       "exec is computed from bits that nothing wrote");
        } else if (op_.lane_mask != kNoRegister) {
            for (unsigned i = 0; i < wave_.lanes / 32; ++i)
                mark_scalar(wave_, op_.lane_mask + i, static_cast<uint32_t>(mask_ >> 32 * i));
        }
    }

private:
    bool places_sdwa() const { return op_.sdwa && op_.sdwa->destination_select != kSdwaDword; }

    void compute(unsigned lane) {
        const uint64_t result = lane_result(lane);
        written_ |= uint64_t{1} << lane;
        if (result) mask_ |= uint64_t{1} << lane;
        words_[0][lane] = static_cast<uint32_t>(result) << spread_.field.shift;
        words_[1][lane] = static_cast<uint32_t>(result >> 32);
        words_[2][lane] = words_[3][lane] = result ? ~0u : 0;
        if (places_sdwa() && op_.vgpr != kNoRegister)
            words_[0][lane] =
                sdwa_insert(words_[0][lane], wave_.undefined(op_.vgpr)[lane], op_.sdwa->destination_select,
                            static_cast<SdwaUnused>(op_.sdwa->destination_unused));
    }

    // Value and undefined bits as the operation sees them.
    Bits source(unsigned i, unsigned lane) const {
        const ValuSource& source = op_.sources[i];
        Bits raw;
        SourceLane from{.lane = lane};
        if (i == 0 && has_dpp_) from = dpp_source(instruction_, wave_, lane);
        if (from.valid) raw = {source.raw(wave_, from.lane), raw_undefined(wave_, source, from.lane)};  // else 0
        return {source.shaped(raw.value), source.shaped(raw.undefined) ^ source.flip};
    }
    // The destination's old value, of the part that is written.
    Bits accumulator(unsigned lane) const {
        const WrittenField& field = spread_.field;
        const uint32_t mask = field.mask();
        return {(wave_.vgpr(op_.vgpr)[lane] & mask) >> field.shift,
                (wave_.undefined(op_.vgpr)[lane] & mask) >> field.shift};
    }

    uint64_t lane_result(unsigned lane) const {
        if (spread_.cancels) return 0;
        Bits sources[kMaxLaneSources];
        for (unsigned i = 0; i < spread_.source_count; ++i) sources[i] = source(i, lane);
        const bool is_condition_undefined = condition(lane).undefined != 0;
        if (spread_.spread == Spread::select) {
            if (!is_condition_undefined) return sources[condition(lane).value].undefined;
            return sources[0].undefined | sources[1].undefined | (sources[0].value ^ sources[1].value);
        }
        const unsigned width = op_.dwords > 1 ? 64 : spread_.field.width;
        if (is_condition_undefined) return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
        if (spread_.accumulates) sources[2] = accumulator(lane);
        return spread_bits(spread_.spread, sources, width);
    }
    // This lane's bit of the mask that the instruction reads.
    Bits condition(unsigned lane) const {
        if (!op_.mask.exists) return {};
        const uint64_t value = op_.mask.read(wave_) >> lane & 1;
        if (op_.mask.code == kNoRegister) return {value, 0};
        return {value, wave_.scalar_undefined[op_.mask.code + lane / 32] >> lane % 32 & 1u};
    }

    WaveState& wave_;
    const LaneSpread& spread_;
    const LaneOp& op_;
    const Instruction& instruction_;
    bool has_dpp_;
    uint32_t words_[kMostDwords][kMostLanes] = {};
    uint64_t written_ = 0, mask_ = 0;  // lanes: those written, and those whose result has an undefined bit
};

}  // namespace

std::vector<LaneSpread> lane_spreads(const Instruction& instruction, Target target, WaveSize wave) {
    std::vector<LaneSpread> spreads;
    if (instruction.encoding == Encoding::vopd) {
        for (const VopdHalf& half : instruction.dual)
            spreads.push_back(follow(prepare_dual_half(half, instruction.literal, target)));
        return spreads;
    }
    if (!lane_semantics(instruction.opcode)) return spreads;
    const Result<LaneOp> op = prepare_lane_op(instruction, target, wave);
    if (!op) return spreads;
    LaneSpread& spread = spreads.emplace_back(follow(*op));
    spread.cancels = is_always_zero(instruction);
    spread.writes_whole = spread.field.width == 32 && !has_dpp(instruction.encoding) && !op->sdwa;
    return spreads;
}

// Both halves of VOPD are computed before either is written, since both read before either writes.
void spread_lanes(WaveState& wave, const Op& op) {
    const std::vector<LaneSpread>& spreads = op.checks->lanes;
    LaneResult first(wave, spreads[0], op.instruction);
    if (spreads.size() > 1) LaneResult(wave, spreads[1], op.instruction).commit();
    first.commit();
}

}  // namespace riftjit::rdna::emulator
