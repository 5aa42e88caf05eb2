// Instruction sequences that RDNA's hardware does not interlock. Written from the rules alone (the list is that of
// LLVM's GCNHazardRecognizer, for gfx12's SGPR reads AMDGPUWaitSGPRHazards, for VOPD's sources GCNVOPDUtils): a state
// machine that watches what executes, so that it follows the path taken and none other.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/checks/footprint.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {

inline constexpr uint16_t kMessageDeallocVgprs = 3;  // of s_sendmsg, from gfx11 on

// What an instruction is to the rules.
struct HazardTraits {
    bool valu = false, trans = false, salu = false, cmpx = false, v_nop = false;
    bool permlane = false, wmma = false;
    bool ends_vdst = false;    // VMEM, FLAT, DS: every VALU result has arrived
    bool clears_sgpr = false;  // gfx12: SMEM and buffer instructions
    bool float_atomic = false, denorm_mode = false, wait = false;
    bool dealloc = false, s_nop = false, jumps_away = false;
    uint8_t wait_states = 1;
    uint16_t alu_wait = 0xFFFF;  // immediate of s_wait_alu
    RegisterSet matrix_inputs;   // A, B and the index of a WMMA
    RegisterSet matrix_result;
    // VOPD: the registers that both halves read as src0, or both as vsrc1, if these are both even or both odd.
    RegisterSet same_parity;
};
HazardTraits hazard_traits(const Instruction& instruction, Target target, WaveSize wave);

class HazardState {
public:
    void reset() { *this = {}; }
    // Once per instruction, before it executes.
    void step(WaveState& wave, const Op& op, const Checks& checks);

private:
    void step_gfx10(WaveState& wave, const Op& op);
    void step_gfx11(WaveState& wave, const Op& op, const Checks& checks);
    void step_lanes(WaveState& wave, const Op& op);
    void check_trans_use(WaveState& wave, const Op& op);
    void check_partial_forwarding(WaveState& wave, const Op& op);
    void check_vopd_interlock(WaveState& wave, const Op& op);
    void step_mask_write(WaveState& wave, const Op& op);
    void step_mask_rewrite(WaveState& wave, const Op& op);
    void step_sgpr_read(WaveState& wave, const Op& op);
    void apply_mask_waits(uint16_t alu_wait);
    void forget_masks_beside(const WaveState& wave, const Footprint& footprint);
    void note_writes(WaveState& wave, const Op& op, const Checks& checks);
    void apply_sgpr_waits(uint16_t alu_wait);

    const Op* previous_ = nullptr;  // any instruction
    const Op* previous_valu_ = nullptr;
    uint64_t valu_count_ = 0, trans_count_ = 0;
    bool cmpx_ = false;  // a v_cmpx, and no VALU but v_nop since

    // VALUTransUse: at most one TRANS may lie between, so the last two suffice.
    struct TransWrite {
        RegisterSet written;
        uint64_t valu_number = 0, trans_number = 0;
        bool live = false;
    };
    std::array<TransWrite, 2> trans_writes_{};

    // VALUPartialForwarding: by VGPR, the number of the VALU that wrote it last, and where SALU wrote exec. The first
    // is the interlock of VOPD's, too, with how many VALUs have arrived for certain, as waits for va_vdst tell.
    std::array<uint64_t, 256> valu_write_{};  // number plus one; 0: none since the last flush
    uint64_t valus_arrived_ = 0;
    static constexpr size_t kExecWrites = 8;
    std::array<uint64_t, kExecWrites> exec_writes_{};  // count of VALUs before; ring
    uint64_t exec_write_count_ = 0;

    // VALUMaskWrite.
    RegisterSet masks_read_, masks_overwritten_;
    // By a VALU: a wait for it ends the hazard, unless the mask was read again; and must come before the next read.
    RegisterSet masks_rewritten_, masks_unwaited_;

    // gfx12 SGPR reads.
    RegisterSet tracked_, salu_pending_, valu_pending_;

    unsigned float_atomic_states_ = 0;  // wait states until s_denorm_mode is safe
};

}  // namespace riftjit::rdna::emulator
