#include "jit/rdna/emulator/checks/hazards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string_view>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/program.h"

namespace riftjit::rdna::emulator {
namespace {

RegisterSet vcc_only() {
    RegisterSet set;
    set.add_scalars(Operand::kVcc, 2);
    return set;
}

// Fields of s_wait_alu (s_waitcnt_depctr before gfx12): zero waits for all of that class.
constexpr unsigned va_vdst(uint16_t simm) { return simm >> 12 & 15; }
constexpr unsigned va_sdst(uint16_t simm) { return simm >> 9 & 7; }
constexpr unsigned va_vcc(uint16_t simm) { return simm >> 1 & 1; }
constexpr unsigned sa_sdst(uint16_t simm) { return simm & 1; }

// Of scalars that VALUs wrote, those that the wait leaves pending: va_sdst is for all but vcc, va_vcc for that.
RegisterSet without_waited(RegisterSet written, uint16_t alu_wait) {
    if (va_sdst(alu_wait) == 0) written = written & vcc_only();
    if (va_vcc(alu_wait) == 0) written.remove(vcc_only());
    return written;
}

constexpr unsigned kTransUseValus = 5, kTransUseTrans = 1;  // VALUTransUse: that may still lie between
constexpr unsigned kForwardAround = 2, kForwardAfter = 4;   // VALUPartialForwarding: intervals 1 + 2, and 3
constexpr unsigned kFloatAtomicStates = 3;
constexpr unsigned kVdstCounts = 15;  // va_vdst: VALUs that may be under way

// What the two halves of VOPD read through one port, if both registers are even or both odd.
RegisterSet same_parity(const Instruction& instruction) {
    RegisterSet shared;
    const auto& [x, y] = instruction.dual;
    for (const unsigned port : {1u, 2u}) {
        // fmamk has its constant in the place of vsrc1, which holds src2.
        const bool is_src2 = port == 2 && (x.opcode == Opcode::v_fmamk_f32 || y.opcode == Opcode::v_fmamk_f32);
        const Operand of_x = x.operands[port], of_y = y.operands[port];
        if (is_src2 || !of_x.is_vgpr() || !of_y.is_vgpr() || (of_x.vgpr() ^ of_y.vgpr()) % 2 != 0) continue;
        shared.add_vgprs(of_x.vgpr(), 1);
        shared.add_vgprs(of_y.vgpr(), 1);
    }
    return shared;
}

void add_operand(RegisterSet& set, const Operand& operand, unsigned dwords) {
    const OperandRange range = range_of(operand, dwords);
    if (!range.scalar) set.add_vgprs(range.first, range.count);
}

}  // namespace

HazardTraits hazard_traits(const Instruction& instruction, Target target, WaveSize wave) {
    const InstructionInfo& row = info(instruction.opcode);
    HazardTraits traits;
    traits.valu = is_valu(row.format);
    traits.trans = traits.valu && row.transcendental;
    traits.salu = is_salu(row.format);
    traits.cmpx = row.format == Format::VOPC && row.operands[0].type == OperandType::exec;
    traits.v_nop = instruction.opcode == Opcode::v_nop;
    traits.permlane = row.permlane;
    traits.wmma = row.wmma;
    traits.ends_vdst = row.format >= Format::DS;
    traits.clears_sgpr = row.format == Format::SMEM || row.format == Format::MUBUF;
    traits.float_atomic = row.float_atomic && row.format != Format::DS;
    traits.denorm_mode = instruction.opcode == Opcode::s_denorm_mode;
    traits.wait = wait_of(instruction, generation(target)).any() || instruction.opcode == Opcode::s_waitcnt ||
                  instruction.opcode == Opcode::s_waitcnt_expcnt;
    traits.s_nop = instruction.opcode == Opcode::s_nop;
    if (traits.s_nop) traits.wait_states = static_cast<uint8_t>((instruction.simm16 & 15) + 1);
    traits.dealloc = instruction.opcode == Opcode::s_sendmsg && instruction.simm16 == kMessageDeallocVgprs &&
                     generation(target) != Generation::gfx10;
    traits.jumps_away = instruction.opcode == Opcode::s_setpc_b64 || instruction.opcode == Opcode::s_swappc_b64 ||
                        instruction.opcode == Opcode::s_call_b64;
    if (instruction.opcode == Opcode::s_wait_alu) traits.alu_wait = instruction.simm16;
    if (instruction.encoding == Encoding::vopd) traits.same_parity = same_parity(instruction);
    if (traits.wmma) {
        add_operand(traits.matrix_result, instruction.destination(), row.destination_operands()[0].size(wave));
        for (unsigned i = 0; i < row.sources; ++i)
            if (i != 2) add_operand(traits.matrix_inputs, instruction.source(i), row.source_operands()[i].size(wave));
    }
    return traits;
}

void HazardState::step(WaveState& wave, const Op& op, const Checks& checks) {
    const HazardTraits& traits = op.checks->hazards;
    if (checks.hazards) {
        if (wave.generation == Generation::gfx10)
            step_gfx10(wave, op);
        else
            step_lanes(wave, op);
        if (wave.generation == Generation::gfx11) step_gfx11(wave, op, checks);
    }
    if (checks.sgpr_read_hazard && wave.generation == Generation::gfx12) step_sgpr_read(wave, op);
    if (traits.valu) {
        ++valu_count_;
        previous_valu_ = &op;
    }
    if (traits.trans) ++trans_count_;
    previous_ = &op;
}

// A float atomic, then s_denorm_mode within three wait states, with neither a VALU nor a wait between.
void HazardState::step_gfx10(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    if (traits.denorm_mode && float_atomic_states_ > 0)
        wave.findings->report(FindingKind::float_atomic_denorm_mode, wave, kNoLane,
                              fmt::format("{} more wait states are needed after a float atomic", float_atomic_states_));
    if (traits.valu || traits.wait)
        float_atomic_states_ = 0;
    else if (traits.float_atomic)
        float_atomic_states_ = kFloatAtomicStates;
    else
        float_atomic_states_ -= std::min<unsigned>(float_atomic_states_, traits.wait_states);
}

// What gfx11 and gfx12 share.
void HazardState::step_lanes(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    if (traits.permlane && cmpx_)
        wave.findings->report(FindingKind::vcmpx_permlane, wave, kNoLane,
                              "v_cmpx wrote exec, and no VALU but v_nop lies between");
    if (traits.cmpx)
        cmpx_ = true;
    else if (traits.valu && !traits.v_nop)
        cmpx_ = false;
    if (traits.wmma && previous_valu_ && previous_valu_->checks->hazards.wmma &&
        previous_valu_->checks->hazards.matrix_result.meets_vgprs(traits.matrix_inputs))
        wave.findings->report(FindingKind::wmma_operand, wave, kNoLane,
                              "the WMMA before it writes a register of this one's A or B, and no VALU lies between");
    if (traits.dealloc && !(previous_ && previous_->checks->hazards.s_nop))
        wave.findings->report(FindingKind::dealloc_message, wave, kNoLane, "s_nop must stand before the message");
}

void HazardState::step_gfx11(WaveState& wave, const Op& op, const Checks& checks) {
    const HazardTraits& traits = op.checks->hazards;
    const bool flushes = traits.ends_vdst || va_vdst(traits.alu_wait) == 0;
    if (flushes) {
        for (TransWrite& write : trans_writes_) write.live = false;
        if (wave.lanes == 64) valu_write_.fill(0);
    }
    if (traits.valu && info(wave.target).trans_use_hazard) check_trans_use(wave, op);
    if (wave.lanes == 32 && checks.vopd_interlock) check_vopd_interlock(wave, op);
    if (wave.lanes == 64) {
        if (checks.partial_forwarding && traits.valu && op.checks->footprint.vgpr_operands >= 2)
            check_partial_forwarding(wave, op);
        apply_mask_waits(traits.alu_wait);
        if (checks.mask_rewrite) step_mask_rewrite(wave, op);
        step_mask_write(wave, op);
    }
    note_writes(wave, op, checks);
}

void HazardState::check_trans_use(WaveState& wave, const Op& op) {
    for (const TransWrite& write : trans_writes_) {
        if (!write.live || !write.written.meets_vgprs(op.checks->footprint.reads)) continue;
        const uint64_t valus = valu_count_ - write.valu_number - 1, trans = trans_count_ - write.trans_number - 1;
        if (valus > kTransUseValus || trans > kTransUseTrans) continue;
        wave.findings->report(FindingKind::valu_trans_use, wave, kNoLane,
                              fmt::format("v{} was written by a transcendental instruction {} VALU instructions before",
                                          (write.written & op.checks->footprint.reads).first_vgpr(), valus));
    }
}

// Where two halves of VOPD read even registers through one port, or odd ones, the one's interlock with a VALU that has
// yet to write it may be lost. Nobody says how long a VALU takes: as long as va_vdst may still count it, it is under
// way.
void HazardState::check_vopd_interlock(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    if (traits.ends_vdst) valus_arrived_ = valu_count_;
    if (const unsigned left = va_vdst(traits.alu_wait); left < kVdstCounts && valu_count_ > left)
        valus_arrived_ = std::max(valus_arrived_, valu_count_ - left);
    if (op.instruction.encoding != Encoding::vopd) return;
    for (unsigned word = 0; word < 4; ++word)
        for (uint64_t bits = traits.same_parity.vgprs[word]; bits != 0; bits &= bits - 1) {
            const unsigned vgpr = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
            const uint64_t written = valu_write_[vgpr];
            if (written <= valus_arrived_ || valu_count_ - written >= kVdstCounts) continue;
            wave.findings->report(
                FindingKind::vopd_interlock, wave, kNoLane,
                fmt::format("v{}, which a VALU wrote {} VALU instructions before, and the register that the other half "
                            "reads through the same port are both {}: wait for va_vdst = 0",
                            vgpr, valu_count_ - written, vgpr % 2 == 0 ? "even" : "odd"));
            return;
        }
}

// One source written before, one after SALU wrote exec. `distance` counts the VALUs between a point and here.
void HazardState::check_partial_forwarding(WaveState& wave, const Op& op) {
    const Footprint& footprint = op.checks->footprint;
    constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
    const uint64_t kept = std::min<uint64_t>(exec_write_count_, kExecWrites);
    for (uint64_t e = 0; e < kept; ++e) {
        const uint64_t exec_distance = valu_count_ - exec_writes_[(exec_write_count_ - 1 - e) % kExecWrites];
        uint64_t before = kNever, after = kNever;
        for (const OperandRange& source : std::span(footprint.vgpr_sources).first(footprint.vgpr_operands)) {
            uint64_t written = 0;  // an operand's last write counts, of whichever of its registers
            for (size_t v = source.first; v < std::min<size_t>(source.first + source.count, valu_write_.size()); ++v)
                written = std::max<uint64_t>(written, valu_write_[v]);
            if (written == 0) continue;
            const uint64_t distance = valu_count_ - written;
            uint64_t& nearest = distance >= exec_distance ? before : after;
            nearest = std::min(nearest, distance);
        }
        if (after == kNever) continue;  // the exec write that counts is the last one before a source's write
        if (before == kNever) return;
        const uint64_t around = (before - exec_distance) + (exec_distance - after - 1);
        if (after <= kForwardAfter && around <= kForwardAround)
            wave.findings->report(FindingKind::valu_partial_forwarding, wave, kNoLane,
                                  "its sources were written before and after SALU wrote exec");
        return;
    }
}

void HazardState::apply_mask_waits(uint16_t alu_wait) {
    if (sa_sdst(alu_wait) == 0) masks_read_ = masks_overwritten_ = masks_rewritten_ = masks_unwaited_ = {};
    if (masks_rewritten_.empty() && masks_unwaited_.empty()) return;
    const RegisterSet still = without_waited(masks_rewritten_, alu_wait);
    RegisterSet waited = masks_rewritten_;
    waited.remove(still);
    masks_read_.remove(waited);
    masks_rewritten_ = still;
    masks_unwaited_ = without_waited(masks_unwaited_, alu_wait);
}

// Masks that were read before, unless this VALU reads a literal or any scalar beside them (other masks included).
void HazardState::forget_masks_beside(const WaveState& wave, const Footprint& footprint) {
    RegisterSet read = footprint.reads;
    for (const unsigned code : {126u, 127u, unsigned{m0_register(wave.generation).code}}) read.remove_scalar(code);
    const bool reads_none = (read.scalars[0] | read.scalars[1]) == 0;
    if (reads_none && !footprint.literal) return;
    RegisterSet kept;
    for (unsigned pair = 0; pair < 128 && !footprint.literal; pair += 2) {
        RegisterSet this_pair, others = read;
        this_pair.add_scalars(pair, 2);
        for (size_t i = 0; i < 2; ++i) others.scalars[i] &= ~this_pair.scalars[i];
        const bool reads_others = (others.scalars[0] | others.scalars[1]) != 0;
        if (!reads_others) kept = kept | (masks_read_ & this_pair);
    }
    masks_read_ = kept;
}

// A lane mask that a VALU read is overwritten by SALU: sa_sdst = 0 must follow before anything else happens. Any other
// scalar or literal that a VALU reads in between is a cure too, and so is a VALU that writes the mask anew once its
// result was waited for. (LLVM 22 waits after either write, and for the first of them alone.)
void HazardState::step_mask_write(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    const Footprint& footprint = op.checks->footprint;
    const bool looks_on = traits.salu && !traits.jumps_away && op.kind != OpKind::branch &&
                          op.kind != OpKind::subvector_loop && op.kind != OpKind::end;
    if (!masks_overwritten_.empty() && !looks_on) {
        wave.findings->report(FindingKind::valu_mask_write, wave, kNoLane,
                              fmt::format("SALU overwrote {}, a VALU's lane mask, without a wait for sa_sdst after it",
                                          scalar_name(static_cast<unsigned>(masks_overwritten_.first_scalar()))));
        masks_overwritten_ = {};
    }
    if (traits.valu) {
        const RegisterSet rewritten = masks_read_ & footprint.writes;
        if (!masks_read_.empty()) forget_masks_beside(wave, footprint);
        masks_unwaited_ = masks_unwaited_ | rewritten;
        masks_rewritten_ = masks_rewritten_ | rewritten;
        masks_read_ = masks_read_ | footprint.lane_mask;
        masks_rewritten_.remove(footprint.lane_mask);  // and read again since
    } else if (traits.salu && masks_read_.meets_scalars(footprint.writes)) {
        masks_overwritten_ = masks_overwritten_ | (masks_read_ & footprint.writes);
        masks_unwaited_.remove(footprint.writes);
    }
}

// A lane mask that a VALU read is written anew by another: va_sdst = 0 must follow, va_vcc = 0 for vcc, before anything
// reads it. LLVM 22 has the rule.
void HazardState::step_mask_rewrite(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    if (!(traits.valu || traits.salu) || !masks_unwaited_.meets_scalars(op.checks->footprint.reads)) return;
    const RegisterSet read = masks_unwaited_ & op.checks->footprint.reads;
    const auto first = static_cast<unsigned>(read.first_scalar());
    wave.findings->report(
        FindingKind::valu_mask_rewrite, wave, kNoLane,
        fmt::format("{}, a VALU's lane mask that another VALU wrote anew, is read without a wait for {} "
                    "before it",
                    scalar_name(first), read.meets_scalars(vcc_only()) ? "va_vcc" : "va_sdst"));
    masks_unwaited_.remove(read);
}

void HazardState::note_writes(WaveState& wave, const Op& op, const Checks& checks) {
    const HazardTraits& traits = op.checks->hazards;
    const Footprint& footprint = op.checks->footprint;
    if (traits.valu) {
        for (TransWrite& write : trans_writes_)
            for (size_t i = 0; i < 4; ++i) write.written.vgprs[i] &= ~footprint.writes.vgprs[i];
        if (traits.trans) trans_writes_[trans_count_ % 2] = {footprint.writes, valu_count_, trans_count_, true};
        if (wave.lanes == 64 || checks.vopd_interlock)
            for (unsigned word = 0; word < 4; ++word)
                for (uint64_t left = footprint.writes.vgprs[word]; left; left &= left - 1)
                    valu_write_[word * 64 + static_cast<unsigned>(std::countr_zero(left))] = valu_count_ + 1;
    }
    if (traits.salu && footprint.writes.has_scalar(Operand::kExec))
        exec_writes_[exec_write_count_++ % kExecWrites] = valu_count_;
}

namespace {

// s0 to vcc_hi and ttmp; never m0, null, exec.
RegisterSet pairable(const RegisterSet& set) {
    RegisterSet result;
    result.scalars = {set.scalars[0], set.scalars[1] & ((uint64_t{1} << (124 - 64)) - 1)};
    return result;
}

// With each register the other one of its aligned pair.
RegisterSet whole_pairs(const RegisterSet& set) {
    constexpr uint64_t kEven = 0x5555555555555555;
    RegisterSet result;
    for (size_t i = 0; i < 2; ++i)
        result.scalars[i] = set.scalars[i] | (set.scalars[i] & kEven) << 1 | (set.scalars[i] >> 1 & kEven);
    return result;
}

}  // namespace

void HazardState::apply_sgpr_waits(uint16_t alu_wait) {
    if (sa_sdst(alu_wait) == 0) salu_pending_ = {};
    valu_pending_ = without_waited(valu_pending_, alu_wait);
}

// AMDGPUWaitSGPRHazards: pairs that some VALU read stay tracked; writes to them are pending until waited for, and a
// read of a pending register is the fault.
void HazardState::step_sgpr_read(WaveState& wave, const Op& op) {
    const HazardTraits& traits = op.checks->hazards;
    apply_sgpr_waits(traits.alu_wait);
    if (traits.clears_sgpr) salu_pending_ = valu_pending_ = {};
    const RegisterSet reads = pairable(op.checks->footprint.reads), writes = pairable(op.checks->footprint.writes);
    if (reads.empty() && writes.empty() && !traits.jumps_away) return;
    const auto report = [&](const RegisterSet& pending, std::string_view by, std::string_view field) {
        wave.findings->report(
            FindingKind::sgpr_read, wave, kNoLane,
            fmt::format("{} was written by {}: wait for {} = 0",
                        scalar_name(static_cast<unsigned>((pending & reads).first_scalar())), by, field));
    };
    if (traits.valu || traits.salu) {
        if (salu_pending_.meets_scalars(reads)) report(salu_pending_, "SALU", "sa_sdst");
        if (traits.valu && valu_pending_.meets_scalars(reads))
            report(valu_pending_, "VALU", (valu_pending_ & reads).has_scalar(Operand::kVcc) ? "va_vcc" : "va_sdst");
    }
    if (traits.jumps_away && !(salu_pending_ | valu_pending_).empty()) {
        wave.findings->report(FindingKind::sgpr_read, wave, kNoLane, "writes are pending at a call or return");
        salu_pending_ = valu_pending_ = {};
    }
    if (traits.salu) {  // waits by itself for every vector write of the kind that it reads, vcc's or others'
        RegisterSet others = reads;
        others.remove(vcc_only());
        if (reads.meets_scalars(vcc_only())) valu_pending_.remove(vcc_only());
        if (!others.empty()) valu_pending_ = valu_pending_ & vcc_only();
    }
    if (traits.valu) tracked_ = tracked_ | whole_pairs(reads);
    const RegisterSet written = writes & tracked_;
    // A write does not end what the other unit's write of the register asks for, except of vcc.
    const RegisterSet superseded = written & vcc_only();
    if (traits.salu) {
        salu_pending_ = salu_pending_ | written;
        valu_pending_.remove(superseded);
    } else if (traits.valu) {
        valu_pending_ = valu_pending_ | written;
        salu_pending_.remove(superseded);
    }
}

}  // namespace riftjit::rdna::emulator
