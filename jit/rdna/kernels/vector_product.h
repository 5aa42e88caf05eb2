// Products of a panel's rows, a lane each, with one row of codes: what the kernels for one row of the batch share. How
// the codes come is theirs.
#pragma once

#include "jit/rdna/kernels/quad_decoder.h"

namespace riftjit::rdna::kernels {

// Codes of a step of the row, four bytes in each register: of every lane, or scalars.
class CodeSource {
public:
    virtual ~CodeSource() = default;
    // Elements [first, first + count) of the step: count is 32 or 64. Sums are of groups of `group`, 0 for none.
    virtual void load(uint32_t first, uint32_t count, uint32_t group) = 0;
    virtual Argument high(uint32_t quad) const = 0;  // of what was loaded
    virtual Argument low(uint32_t quad) const = 0;
    virtual Argument sum(uint32_t group) const = 0;
    virtual void multiply_sum(Vgpr to, uint32_t group, int32_t factor) = 0;  // to = factor * sum
};

class VectorProduct {
public:
    VectorProduct(KernelAssembler& kernel, DType weight);

    const Summation& sums() const { return sums_; }
    // What a lane adds to the step's address for its row. Once, before all else.
    void locate(Vgpr lane);
    // The result of a step, without the scale of the activations, in block().
    void multiply_step(const StepLayout& layout, Sgpr step_address, Sgpr grid, CodeSource& codes);
    Vgpr block() const { return block_; }

private:
    void multiply_part(QuadDecoder& decoder, CodeSource& codes, uint32_t first, uint32_t count, uint32_t elements);
    void sum_group(QuadDecoder& decoder, CodeSource& codes, uint32_t first, uint32_t begin);

    KernelAssembler& k_;
    const DType weight_;
    const Summation sums_;
    const Vgpr lane_;
    const StringOffsets offsets_;
    const Vgpr high_, low_, minima_, block_;  // sums of products with each digit, of minima; the step's
};

}  // namespace riftjit::rdna::kernels
