// Where elements of 16x16 tiles lie in the registers of a wave.
#pragma once

#include "jit/rdna/emulator/valu/wmma.h"

namespace riftjit::rdna::emulator {

unsigned element_bits(MatrixElement element);
bool is_integer(MatrixElement element);

// Where a row of C and D begins; its other columns lie in the lanes after it.
TilePlace result_place(const MatrixCall& call, unsigned row);

// How many groups of 16 lanes share K among them, and the positions each lane holds of A.
unsigned lane_groups(const MatrixCall& call);
unsigned positions(const MatrixCall& call);
// The bits of A (row) or B (column) in a lane.
uint32_t a_element(const WaveState& wave, const MatrixCall& call, unsigned row, unsigned group, unsigned position);
uint32_t b_element(const WaveState& wave, const MatrixCall& call, unsigned column, unsigned group, unsigned position);
// Sparse: the position in B's lane that meets the given position of A.
unsigned sparse_position(const WaveState& wave, const MatrixCall& call, unsigned row, unsigned group,
                         unsigned position);

}  // namespace riftjit::rdna::emulator
