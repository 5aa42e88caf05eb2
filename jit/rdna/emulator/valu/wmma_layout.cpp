#include "jit/rdna/emulator/valu/wmma_layout.h"

namespace riftjit::rdna::emulator {
namespace {

uint32_t packed_element(const WaveState& wave, unsigned first, unsigned lane, unsigned position, unsigned bits) {
    const unsigned at = position * bits;
    const uint32_t word = wave.vgpr(first + at / 32)[lane];
    return word >> at % 32 & static_cast<uint32_t>((uint64_t{1} << bits) - 1);
}

bool is_narrow(MatrixResult result) { return result == MatrixResult::f16 || result == MatrixResult::bf16; }

}  // namespace

unsigned element_bits(MatrixElement element) {
    switch (element) {
        case MatrixElement::f16:
        case MatrixElement::bf16:
            return 16;
        case MatrixElement::i4:
            return 4;
        case MatrixElement::i8:
        case MatrixElement::fp8:
        case MatrixElement::bf8:
            return 8;
    }
    return 0;
}

bool is_integer(MatrixElement element) { return element == MatrixElement::i8 || element == MatrixElement::i4; }

// gfx11: consecutive rows go to consecutive groups of lanes. gfx12: a lane holds consecutive rows; in wave64 row bit 3
// is lane bit 4, row bit 2 lane bit 5.
TilePlace result_place(const MatrixCall& call, unsigned row) {
    const unsigned groups = call.lanes / kTile;
    if (call.generation == Generation::gfx11) {
        const unsigned shift = is_narrow(call.operation.result) && (call.op_sel & 4) != 0 ? 16 : 0;
        return {row / groups, kTile * (row % groups), shift};
    }
    const unsigned per_lane = kTile / groups, within = row % per_lane;
    const unsigned group = groups == 2 ? row / 8 : (row >> 3 & 1) | (row >> 2 & 1) << 1;
    const unsigned lane = kTile * group;
    return is_narrow(call.operation.result) ? TilePlace{within / 2, lane, 16 * (within % 2)}
                                            : TilePlace{within, lane, 0};
}

unsigned positions(const MatrixCall& call) { return call.a_registers * 32 / element_bits(call.operation.a); }

unsigned lane_groups(const MatrixCall& call) {
    const unsigned held = call.operation.sparsity == Sparsity::sparse ? call.operation.depth / 2 : call.operation.depth;
    return held / positions(call);
}

uint32_t a_element(const WaveState& wave, const MatrixCall& call, unsigned row, unsigned group, unsigned position) {
    return packed_element(wave, call.a, row + kTile * group, position, element_bits(call.operation.a));
}

uint32_t b_element(const WaveState& wave, const MatrixCall& call, unsigned column, unsigned group, unsigned position) {
    return packed_element(wave, call.b, column + kTile * group, position, element_bits(call.operation.b));
}

// Two bits of index per position; op_sel chooses among the sets that one register has room for.
unsigned sparse_position(const WaveState& wave, const MatrixCall& call, unsigned row, unsigned group,
                         unsigned position) {
    const unsigned set = (call.op_sel & 3) * 2 * positions(call) % 32;
    const uint32_t index = wave.vgpr(call.index)[row + kTile * group] >> (set + 2 * position) & 3;
    return 4 * (position / 2) + index;
}

}  // namespace riftjit::rdna::emulator
