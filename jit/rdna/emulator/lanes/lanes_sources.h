// What an instruction's sources are made of before a lane function reads them, as host code emitted when first asked
// for: written a register at once, they can be read so without waiting for the stores.
#pragma once

#include <cstdint>

#include "jit/rdna/emulator/lanes/lanes_x86.h"

namespace riftjit::rdna::emulator {

// 32 words each, any alignment.
struct LaneSourceFunctions {
    void (*fill)(uint32_t* to, uint32_t word);
    void (*fill_pair)(uint32_t* to, uint32_t* to_high, uint32_t word, uint32_t high_word);
    // (word >> shift & keep) ^ flip
    void (*modify)(uint32_t* to, const uint32_t* from, uint32_t shift, uint32_t keep, uint32_t flip);
    // The halves (word >> low_shift) and (word >> high_shift), packed, ^ flip
    void (*pack)(uint32_t* to, const uint32_t* from, uint32_t low_shift, uint32_t high_shift, uint32_t flip);
    // 16 words of a row of 16: of each its place there, by the nibbles of `low`, then of `high`, from the lowest on.
    void (*permute_row)(uint32_t* to, const uint32_t* row, uint32_t low, uint32_t high);
};

// At most the host's level. LaneIsa::none: in C++.
const LaneSourceFunctions& lane_source_functions(LaneIsa isa);

}  // namespace riftjit::rdna::emulator
