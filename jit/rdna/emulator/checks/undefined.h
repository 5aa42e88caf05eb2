// Bits that nothing wrote: how they spread through the ALUs, and where they are reported.
//
// The rule. Registers, LDS and fresh memory start undefined, bit by bit. Undefined bits are copied freely: moves,
// spills, selects, stores to scratch and LDS, and packing report nothing, because compilers do all of these to values
// that are never looked at (callee-saved registers, the absent half of a phi, padding, inactive lanes). Logic and
// shifts are followed exactly (x & 0 is defined), sums and products upwards from the lowest undefined bit, everything
// else makes its whole result undefined. What is reported is a use that an observer could notice: an address, a branch,
// an exec mask, a lane select, and a dword stored to global memory of which no bit is defined. Partly defined dwords
// are stored silently: structures have padding, and bit-fields at -O0 are set within bytes that nothing wrote.
//
// This is what memcheck does for a CPU (Nethercote and Seward, "How to shadow every byte of memory used by a program",
// and "Using Valgrind to detect undefined value errors with bit-precision"), per lane and under exec.
#pragma once

#include <cstdint>
#include <string_view>

#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

struct Bits {
    uint64_t value = 0, undefined = 0;
};
// Undefined bits of a result of `width` bits.
uint64_t spread_bits(Spread spread, const Bits* sources, unsigned width);

// Bookkeeping of WaveState's undefined bits and their summaries. `bits` limits which bits of each word change.
void mark_defined(WaveState& wave, unsigned vgpr, uint64_t lanes, uint32_t bits = ~0u);
// `undefined` has a word for each lane of the wave, of which those of other lanes than `lanes` mean nothing.
void mark_lanes(WaveState& wave, unsigned vgpr, uint64_t lanes, uint32_t bits, const uint32_t* undefined);
void mark_scalar(WaveState& wave, unsigned code, uint32_t undefined);

inline constexpr std::string_view kUndefinedIndex = "m0, which picks the register, is undefined";

// Before a VALU instruction executes: what its results will be, and what it does that undefined bits must not decide.
// Fast unless some undefined register is involved.
void spread_valu(WaveState& wave, const Op& op);

// Around a SALU instruction: the first before, the second after it has executed.
struct ScalarSpread {
    uint64_t result = 0;
    bool any = false;
    int destination = -1;  // code of the first register that is written; -1: none
    unsigned dwords = 0;
};
ScalarSpread spread_scalar_before(const WaveState& wave, const Op& op);
void spread_scalar_after(WaveState& wave, const Op& op, const ScalarSpread& spread);

void check_branch(WaveState& wave, const Op& op);
void check_jump(WaveState& wave, const Op& op);
void check_subvector_loop(WaveState& wave, const Op& op);
// Addresses, and what is stored to global memory.
void check_memory_operands(WaveState& wave, const Op& op);

}  // namespace riftjit::rdna::emulator
