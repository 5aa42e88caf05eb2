// Products of 16 x 16 tiles, f16 in and f32 out, as a wave of 32 lanes holds them. Hides where each generation wants
// its operands (RDNA3 ISA 7.9, RDNA4 ISA 7.12; gfx10 has no matrix unit and forms the same sums from dot products):
//
//              A, B: dwords, k of a lane                       D: row of sum v, column lane % 16
//   gfx10      as gfx12's D: 8 rows of A, one column of B      v + 8 half
//   gfx11      8, all 16; lanes 16 to 31 repeat 0 to 15        2 v + half
//   gfx12      4, 8 from 8 half on                             v + 8 half
//
// where half = lane / 16 % 2. Operands lie in LDS as rows of 16 halves of k: rows of A, and columns of B.
#pragma once

#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna {

class MatrixTile {
public:
    static constexpr unsigned kSize = 16, kDepth = 16, kSums = 8;

    // `row_bytes`: from one row in LDS to the next, a multiple of 16.
    MatrixTile(KernelAssembler& kernel, unsigned row_bytes);

    // Once, before all else: what the lane's number says.
    void locate_lane(Vgpr lane);
    // The LDS address, without the operand's own offset, of what the lane loads of the tile that begins with `first`.
    void locate_rows(Vgpr address, Vgpr first_row);
    void locate_columns(Vgpr address, Vgpr first_column);
    // sums += A B; `rows_lds` and `columns_lds` are the operands' offsets in LDS.
    void multiply_add(Vgpr sums, Vgpr rows_address, uint32_t rows_lds, Vgpr columns_address, uint32_t columns_lds);

    // The lane's sums lie in column `first + lane % 16`, and in rows from that of sum 0 on, row_step() apart.
    void column_of_sums(Vgpr column, Vgpr first_column);
    void row_of_first_sum(Vgpr row, Vgpr first_row);
    unsigned row_step() const;

private:
    Vgpr load(Vgpr address, uint32_t lds, unsigned dwords);
    void multiply_by_dots(Vgpr sums, Vgpr rows_address, uint32_t rows_lds, Vgpr columns_address, uint32_t columns_lds);
    Generation generation() const { return kernel_.generation(); }

    KernelAssembler& kernel_;
    const unsigned row_bytes_;
    const Vgpr index_, half_;
};

}  // namespace riftjit::rdna
