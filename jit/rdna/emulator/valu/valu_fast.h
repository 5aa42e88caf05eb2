// Vector instructions that an emitted lane function can execute, and how its arguments are found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "jit/rdna/emulator/lanes/lanes_sources.h"
#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/valu/valu_op.h"

namespace riftjit::rdna::emulator {

using ValuFunction = void (*)(WaveState& wave, const void* data);

// Words of a 64-bit operand of 32 lanes: in wave64 the upper words follow 64 further on.
inline constexpr unsigned kPairWords = 64 + 32;

struct FastSource {
    SourceKind kind = SourceKind::none;
    uint16_t index = 0;         // VGPR or scalar code
    bool has_modifier = false;  // half, abs, neg: (word >> shift & keep) ^ flip, of the upper word of 64 bits
    bool is_packed = false;     // of two halves: word >> shift below, word >> high_shift above, ^ flip
    uint8_t shift = 0, high_shift = 0;
    uint32_t keep = ~0u, flip = 0;
    alignas(64) std::array<uint32_t, kPairWords> constant{};  // 32 lanes; of 64 bits the upper words a register later
};

struct FastOp {
    LaneKernel kernel{};
    const LaneSourceFunctions* functions = nullptr;
    bool is_float = false;  // needs the default modes
    // Of one register each, in wave32, with no modifier, DPP or mask: nothing but values is left to look up.
    bool is_plain = false;
    std::array<FastSource, 3> sources{};
    uint16_t vgpr = kNoRegister, lane_mask = kNoRegister;
    MaskSource mask;
    ValuFunction slow = nullptr;
    const LaneOp* op = nullptr;
};

// Nothing where the instruction's opcode or modifiers have no emitted form on this host.
std::optional<FastOp> prepare_fast(const LaneOp& op, ValuFunction slow);
void run_fast(WaveState& wave, const void* data);
void run_plain(WaveState& wave, const void* data);

struct FastDualOp {
    FastOp x, y;
    ValuFunction slow;
    const void* slow_data;
};
void run_fast_dual(WaveState& wave, const void* data);

}  // namespace riftjit::rdna::emulator
