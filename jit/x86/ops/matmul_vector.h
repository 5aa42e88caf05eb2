// Matrix times few rows: weights are decoded in registers, once per row, in one sequential read of the panels.
//
// The bound is memory bandwidth, so there is one stream per thread (panels follow each other in memory) and an explicit
// prefetch for each of its lines. Instruction-level parallelism comes from the groups of 16 or 32 elements: each has
// an accumulator that starts afresh, so successive groups overlap in the reorder buffer.
#pragma once

#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

class VectorMatmul : public MatmulEmitter {
public:
    VectorMatmul(const MatmulSpec& spec, Isa isa, Elements elements);

protected:
    // Ahead of the body that is being decoded, over the end of a panel into the next: to the second-level cache, which
    // has room for more lines on their way than the first, and to that one from there. Of what a plain loop reads on a
    // Xeon of 2024 (one thread, medians of three), for the first level alone 4 KiB ahead and for both: Q4_0 86 and 98
    // %, Q8_0 94 and 109, Q4_K 86 and 93, Q6_K 82 and 88. An EPYC of 2017 gains 3 % with Q8_0, and decodes all the time
    // with the others.
    static constexpr int kFarBytes = 8192, kNearBytes = 1024;

    const Decoder& decoder_;
    const DecoderTraits& traits_;
    const PanelLayout layout_;
    const uint32_t row_bytes_;

    // Register map. Pointers: base of the panel; header, body, codes, scales, sums of the current step.
    const Reg64 args = rdi, base = rax, header = rcx, body = r8, codes = r9, scales = r10, sums = r11;
    const Reg64 x_row = r12, out_row = r13, table = r15;
    const Reg32 panel = esi, end = edx, steps = ebx, tokens = r14d;
    // Vectors: seven that the form names, one per half of the panel or scratch, and one that is the same for both
    // halves.
    const Xmm shared = vector(7);
    static constexpr int kFirstDecoderRegister = 8;
    DecodeSite site(int half) {
        return {*this, traits_, decoder_registers_, {.header = header, .body = body, .half = half}};
    }
    Address total(int half) { return ptr[rsp + half * 32]; }

    void generate() override;
    virtual Xmm sum_of_step(int half) const = 0;  // free between steps; store_total() takes it
    virtual void point_at_row() = 0;              // codes, scales, sums at the first step's
    virtual void point_at_next_step() = 0;
    virtual void multiply_step(uint32_t blocks) = 0;  // adds to total(half)

    uint32_t groups(uint32_t blocks) const {
        return blocks * riftjit::traits(spec_.weight).block_elements / traits_.group;
    }
    // The lines that this group takes its part of, spread evenly over the step.
    void prefetch_share(uint32_t group, uint32_t group_count, uint32_t blocks);

private:
    DecodeSite::Registers decoder_registers_;

    void multiply_row();
    void multiply_full_steps();
};

}  // namespace riftjit::x86
