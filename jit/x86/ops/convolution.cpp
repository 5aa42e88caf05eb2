// Causal convolution of each channel by itself, along the rows of a sequence.
#include "jit/x86/backend.h"
#include "jit/x86/ops/run_walk.h"

namespace riftjit::x86 {

namespace {

class ConvolutionKernel final : public X86Kernel<ConvolutionSpec, RunWalk> {
    using X86Kernel::X86Kernel;

    // Register map. x, in_gate, out_gate and out point to the unit's channels of a row, the others to what its channels
    // have.
    const Reg64 args = rdi, batch = r14, rows = r12, block = r13, row_offset = rcx;
    const Reg64 x = r8, in_gate = r9, out_gate = r10, out = r11, state = rbx, weights = r13, bias = rdx;
    const Reg32 unit = esi, end = r15d;
    const Wide value = wide(0), past = wide(1), sum = wide(2), result = wide(3);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};

    const uint32_t kept = spec_.taps - 1, row_bytes = f32_row_bytes(spec_.channels);
    const uint32_t blocks = channel_blocks(spec_.channels);
    const bool is_gated = spec_.gates == ConvolutionGates::both;

    void generate() override {
        prologue({rbx, r12, r13, r14, r15});
        mov(end, edx);
        mov(batch, ptr[args + offsetof(ConvolutionArgs, batch)]);
        for_units(unit, end, [&] {
            locate();
            Label again;
            L(again);
            produce_row();
            for (const Reg64& row : {x, in_gate, out_gate, out}) add(row, row_bytes);
            dec(rows.cvt32());
            jnz(again);
        });
        epilogue();
    }
    void locate() {
        locate_run({row_offset, state, rows, block}, unit, batch, blocks);
        imul(row_offset, row_offset, row_bytes);
        imul(state, state, blocks * kept * kBlockBytes);
        imul(rax, block, kept * kBlockBytes);
        add(state, rax);
        add(state, ptr[args + offsetof(ConvolutionArgs, state)]);
        imul(bias, block, kBlockBytes);
        add(row_offset, bias);
        const auto locate_rows = [&](const Reg64& pointer, size_t argument) {
            mov(pointer, ptr[args + argument]);
            add(pointer, row_offset);
        };
        locate_rows(x, offsetof(ConvolutionArgs, x));
        locate_rows(in_gate, offsetof(ConvolutionArgs, in_gate));
        locate_rows(out_gate, offsetof(ConvolutionArgs, out_gate));
        locate_rows(out, offsetof(ConvolutionArgs, out));
        add(bias, ptr[args + offsetof(ConvolutionArgs, bias)]);
        imul(weights, block, spec_.taps * kBlockBytes);
        add(weights, ptr[args + offsetof(ConvolutionArgs, weights)]);
    }
    // Rows are padded to whole blocks, and lanes do not look at each other.
    void produce_row() {
        vmovups(value, lanes_at(x));
        if (is_gated) vmulps(value, value, lanes_at(in_gate));
        if (spec_.bias == Presence::present)
            vmovups(sum, lanes_at(bias));
        else
            vxorps(sum, sum, sum);
        for (uint32_t i = 0; i < kept; ++i) {
            vmovups(past, kept_at(i));
            vfmadd231ps(sum, past, weight_at(i));
            if (i != 0) vmovups(kept_at(i - 1), past);
        }
        vfmadd231ps(sum, value, weight_at(kept));
        vmovups(kept_at(kept - 1), value);
        const bool has_silu = spec_.silu == Presence::present;
        if (has_silu) emit_silu(*this, result, sum, past, exp_scratch);
        const Wide& produced = has_silu ? result : sum;
        if (is_gated) vmulps(produced, produced, lanes_at(out_gate));
        vmovups(lanes_at(out), produced);
    }
    WideMemory kept_at(uint32_t index) const { return lanes_at(state + int(index * kBlockBytes)); }
    WideMemory weight_at(uint32_t index) const { return lanes_at(weights + int(index * kBlockBytes)); }
};

}  // namespace

MachineCode generate(OpOf<ConvolutionSpec>, const ConvolutionSpec& spec, Isa isa) {
    return ConvolutionKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
