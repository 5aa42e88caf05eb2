// The sums of a 16x16 matrix product in f32, as host code emitted when first asked for.
#pragma once

#include <cstdint>

#include "jit/rdna/emulator/lanes_x86.h"

namespace riftjit::rdna::emulator {

inline constexpr unsigned kMaxDepth = 64;

// d[row][column] = c[row][column], then a[row][k] * b[k][column] added by a fused multiply-add for k from 0 on. d and
// c: 16 rows of 16; a: 16 rows, kMaxDepth apart; b: `depth` rows of 16. d may not overlap the others. Returns false
// where some result is a NaN, whose payload the host picks by other rules.
using TileKernelFunction = bool (*)(uint32_t* d, const uint32_t* c, const uint32_t* a, const uint32_t* b,
                                    uint64_t depth);
TileKernelFunction tile_kernel(LaneIsa isa);  // null: there is none

}  // namespace riftjit::rdna::emulator
