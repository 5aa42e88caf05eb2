// One wave's architectural state. Plain data: lane functions that are emitted at run time address it by offset.
#pragma once

#include <cstdint>

#include "jit/rdna/table/instruction.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna::emulator {

class Findings;
struct Group;
struct WaveTracking;  // checks.h: what is in flight, hazards
struct WaveMemory;    // memory's own part: withheld stores, clocks, scratch
struct Op;            // program.h: a decoded instruction

inline constexpr unsigned kVgprsNameable = 256;
inline constexpr unsigned kRowLanes = 16;          // of the rows that DPP and the permutations work within
inline constexpr unsigned kScalarRegisters = 128;  // by operand code: s0-s105, vcc, ttmp, m0, null, exec
inline constexpr uint32_t kModeF32DenormalsShift = 4, kModeF16F64DenormalsShift = 6;

struct alignas(64) WaveState {
    // The scalar registers by operand code (Operand::code < 128). s[2n:2n+1] is the pair at 2n, vcc 106, exec 126. The
    // word of null is always 0: whoever writes a destination of null writes nothing.
    uint32_t scalars[kScalarRegisters];

    // vgprs[v * lanes + lane]. 64-byte aligned; all 256 registers exist, so no instruction can leave the array;
    // registers from vgpr_count on are another wave's, and using them is a fault.
    uint32_t* vgprs;

    // Bit for bit, what nothing wrote: set bits are undefined. The same layout as vgprs; null with that check off.
    // `undefined_lanes[v]` has bit l set when any bit of register v is undefined in lane l, so 0 is the quick test.
    uint32_t* vgpr_undefined;
    uint64_t undefined_lanes[kVgprsNameable];
    uint32_t scalar_undefined[kScalarRegisters];
    uint32_t scc_undefined;  // 0 or 1

    uint32_t scc;         // 0 or 1
    uint32_t mode;        // round [3:0], denormals [7:4], dx10_clamp 8, ieee 9, fp16_ovfl 23, as the hardware register
    uint32_t lanes;       // 32 or 64
    uint32_t vgpr_count;  // that the kernel declares; 0 when it has released them
    uint32_t sgpr_count;  // the same; 106 when not declared
    Generation generation;
    Target target;

    // The instruction being executed, and the next. Executors of VALU and memory instructions leave both alone.
    const Op* op;
    const Op* next;

    uint32_t index;         // within the workgroup
    uint32_t group_number;  // linear
    Group* group;
    Findings* findings;
    WaveTracking* tracking;  // null with checks off
    WaveMemory* memory;      // owned by MemorySystem

    uint64_t shared_base, private_base;  // flat apertures: src_shared_base and src_private_base
    uint64_t cycle;                      // instructions issued: what clocks return

    uint64_t exec() const { return mask(Operand::kExec); }
    uint64_t vcc() const { return mask(Operand::kVcc); }
    // A lane mask held from `code` on: one register in wave32, two in wave64.
    uint64_t mask(unsigned code) const {
        return lanes == 32 ? scalars[code] : scalars[code] | static_cast<uint64_t>(scalars[code + 1]) << 32;
    }
    void set_mask(unsigned code, uint64_t value) {
        scalars[code] = static_cast<uint32_t>(value);
        if (lanes == 64) scalars[code + 1] = static_cast<uint32_t>(value >> 32);
    }
    uint64_t all_lanes() const { return lanes == 64 ? ~uint64_t{0} : 0xFFFFFFFFu; }
    uint32_t m0() const { return scalars[m0_register(generation).code]; }
    uint32_t* vgpr(unsigned index) { return vgprs + index * lanes; }
    const uint32_t* vgpr(unsigned index) const { return vgprs + index * lanes; }
    uint32_t* undefined(unsigned index) { return vgpr_undefined + index * lanes; }
};

}  // namespace riftjit::rdna::emulator
