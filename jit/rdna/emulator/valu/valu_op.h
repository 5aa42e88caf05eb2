// A vector instruction prepared: everything decided but the values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/emulator/valu/dpp.h"
#include "jit/rdna/emulator/valu/sdwa.h"
#include "jit/rdna/emulator/valu/valu_lane.h"
#include "jit/rdna/emulator/valu/valu_source.h"

namespace riftjit::rdna::emulator {

inline constexpr uint16_t kNoRegister = 0xFFFF;

// A lane mask that an instruction reads: a scalar register (pair), or a constant.
struct MaskSource {
    bool exists = false;
    uint16_t code = kNoRegister;  // kNoRegister: the constant
    uint64_t constant = 0;
    uint64_t read(const WaveState& wave) const { return code == kNoRegister ? constant : wave.mask(code); }
};

struct LaneOp {
    const LaneSemantics* semantics = nullptr;
    Generation generation{};
    WaveSize wave_size{};
    std::array<ValuSource, 4> sources{};
    unsigned source_count = 0;
    MaskSource mask;
    uint16_t vgpr = kNoRegister;       // destination
    uint8_t dwords = 1;                // of it
    uint16_t scalar = kNoRegister;     // destination of v_s_*
    uint16_t lane_mask = kNoRegister;  // destination of compares and carries, by scalar code; exec for v_cmpx
    bool high_half = false;            // of the destination is written
    uint8_t omod = 0;
    bool clamp = false;
    uint8_t neg = 0, abs = 0, op_sel = 0, op_sel_hi = 0;
    std::optional<LaneRouting> routing;  // DPP, of source 0
    std::optional<Sdwa> sdwa;
};
inline bool is_scalar_result(const LaneOp& op) { return op.vgpr == kNoRegister && op.lane_mask == kNoRegister; }

// `instruction` is one of those with lane semantics; `half` chooses a half of VOPD.
Result<LaneOp> prepare_lane_op(const Instruction& instruction, Target target, WaveSize wave_size);
LaneOp prepare_dual_half(const VopdHalf& half, uint32_t literal, Target target);

// Before the registers are written: VOPD writes when both halves have read.
struct LaneResults {
    LaneArrays arrays;
    uint64_t written = 0;  // lanes
};
void compute_lanes(const WaveState& wave, const LaneOp& op, LaneResults& results);
void write_lanes(WaveState& wave, const LaneOp& op, const LaneResults& results);

}  // namespace riftjit::rdna::emulator
