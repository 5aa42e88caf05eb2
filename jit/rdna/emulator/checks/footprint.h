// Which registers an instruction reads and writes: what the checks compare against what is in flight.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/table/accesses.h"

namespace riftjit::rdna::emulator {

// VGPRs by number, scalar registers by operand code.
struct RegisterSet {
    std::array<uint64_t, 4> vgprs{};
    std::array<uint64_t, 2> scalars{};

    void add_vgprs(unsigned first, unsigned count) {
        for (unsigned v = first; v < first + count && v < 256; ++v) vgprs[v / 64] |= uint64_t{1} << v % 64;
    }
    void add_scalars(unsigned first, unsigned count) {
        for (unsigned s = first; s < first + count && s < 128; ++s) scalars[s / 64] |= uint64_t{1} << s % 64;
    }
    void remove_vgpr(unsigned v) { vgprs[v / 64] &= ~(uint64_t{1} << v % 64); }
    void remove_scalar(unsigned s) { scalars[s / 64] &= ~(uint64_t{1} << s % 64); }
    void remove(const RegisterSet& other) {
        for (size_t i = 0; i < vgprs.size(); ++i) vgprs[i] &= ~other.vgprs[i];
        for (size_t i = 0; i < scalars.size(); ++i) scalars[i] &= ~other.scalars[i];
    }
    bool has_vgpr(unsigned v) const { return vgprs[v / 64] >> v % 64 & 1; }
    bool has_scalar(unsigned s) const { return scalars[s / 64] >> s % 64 & 1; }
    bool meets(const RegisterSet& other) const { return meets_vgprs(other) || meets_scalars(other); }
    bool meets_vgprs(const RegisterSet& other) const {
        return ((vgprs[0] & other.vgprs[0]) | (vgprs[1] & other.vgprs[1]) | (vgprs[2] & other.vgprs[2]) |
                (vgprs[3] & other.vgprs[3])) != 0;
    }
    bool meets_scalars(const RegisterSet& other) const {
        return ((scalars[0] & other.scalars[0]) | (scalars[1] & other.scalars[1])) != 0;
    }
    RegisterSet operator&(const RegisterSet& other) const;
    RegisterSet operator|(const RegisterSet& other) const;
    bool empty() const { return !(vgprs[0] | vgprs[1] | vgprs[2] | vgprs[3] | scalars[0] | scalars[1]); }
    unsigned vgpr_end() const;  // highest VGPR plus one
    unsigned sgpr_end() const;  // the same for s0 to s105
    int first_vgpr() const;     // -1: none
    int first_scalar() const;
    bool operator==(const RegisterSet&) const = default;
};

// A run of registers that one operand names.
struct OperandRange {
    bool scalar = false;
    uint16_t first = 0;
    uint8_t count = 0;  // 0: no register
};
OperandRange range_of(const Operand& operand, unsigned dwords);
OperandRange operand_range(RegisterRange range);
inline void add(RegisterSet& set, const OperandRange& range) {
    if (range.scalar)
        set.add_scalars(range.first, range.count);
    else
        set.add_vgprs(range.first, range.count);
}

// An instruction's accesses (jit/rdna/table/accesses.h) as sets.
struct Footprint {
    RegisterSet reads, writes;
    bool reads_scc = false, writes_scc = false;
    RegisterSet address;    // of a memory instruction: part of reads
    RegisterSet lane_mask;  // scalars that a VALU instruction reads as one bit per lane: part of reads
    // Distinct VGPR sources of a VALU instruction, a pair being one; six have the widest, two halves of VOPD.
    std::array<OperandRange, 8> vgpr_sources{};
    uint8_t vgpr_operands = 0;
    OperandRange result;  // the first that is written
    bool literal = false;
    bool leaves_file = false;  // some tuple reaches beyond the last register
};

// Everything, implicit registers included. exec counts as read by VALU and vector memory instructions only where the
// table says so; every one of them depends on it, but no rule here asks. What stays of a register that is written in
// part is not read: it is no input of the part that is.
Footprint footprint(const Instruction& instruction, Target target, WaveSize wave);

}  // namespace riftjit::rdna::emulator
