// Products of tiles of signed bytes with i32 sums, as a wave of 32 lanes holds them: 16 rows of A by 16 columns of B.
// Hides where each generation wants its operands (RDNA3 ISA 7.9, RDNA4 ISA 7.12; gfx10 has no matrix unit and forms the
// same sums from dot products).
//
// Operands lie in LDS as rows of bytes, k side by side: rows of A, columns of B. A lane's eight sums lie in column
// lane % 16, and in the rows that row_of_sum() names. Integer sums are exact, so where in a product of 32 k a byte
// stands is free: a lane of gfx12 takes 16 bytes of each operand and multiplies them in two steps.
#pragma once

#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna::kernels {

class IntegerTile {
public:
    static constexpr uint32_t kSize = 16, kSums = 8;

    // `row_bytes`: from one row in LDS to the next, an odd multiple of 16, so that neither loads nor stores conflict.
    // `depth`: bytes of k of a product, 16 or 32.
    IntegerTile(KernelAssembler& kernel, uint32_t row_bytes, uint32_t depth)
        : k_(kernel), row_bytes_(row_bytes), depth_(depth) {}

    // Offsets in LDS of what the lane loads of rows of A, and of columns of B.
    void locate(Vgpr rows, Vgpr columns, Vgpr lane);

    // What the lane holds of columns of B.
    using Columns = std::vector<Vgpr>;
    Columns load_columns(Vgpr address, uint32_t lds);
    // The lane's sums of the product of rows of A with each of these tiles of columns.
    std::vector<Vgpr> multiply(Vgpr rows_address, uint32_t rows_lds, const std::vector<Columns>& columns);

    // Of the tile, for the lanes whose bit 4 is `half`.
    uint32_t row_of_sum(uint32_t sum, uint32_t half) const {
        return is(Generation::gfx11) ? 2 * sum + half : sum + 8 * half;
    }
    // Where row `row` stands among the rows in the order half after half, sum after sum.
    uint32_t place_of_row(uint32_t row) const { return is(Generation::gfx11) ? row % 2 * 8 + row / 2 : row; }

private:
    bool is(Generation generation) const { return k_.generation() == generation; }
    std::vector<Vgpr> load(Vgpr address, uint32_t lds);
    std::vector<Vgpr> multiply_by_dots(Vgpr rows_address, uint32_t rows_lds, const std::vector<Columns>& columns);

    KernelAssembler& k_;
    const uint32_t row_bytes_, depth_;
};

}  // namespace riftjit::rdna::kernels
