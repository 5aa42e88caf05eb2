// The gate of a feed-forward block: silu(gate) * up, quantised for the matmul that follows.
#include "jit/x86/backend.h"
#include "jit/x86/emit/math.h"
#include "jit/x86/ops/row_writer.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class SwigluKernel final : public X86Kernel<SwigluSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. gate, up and row_out point to the token's rows.
    const Reg64 args = rdi, gate = rbx, up = rcx;
    const Reg32 token = esi, end = edx;
    const Wide value = wide(0), gate_value = wide(3), negated = wide(4), up_value = wide(4);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};

    void generate() override {
        prologue({rbx}, row_scratch_bytes(spec_.output));
        for_units(token, end, [&] {
            locate_rows();
            write_row(spec_.output, spec_.width, [&](const Xbyak::RegExp& at, uint32_t count) { activate(at, count); });
        });
        epilogue();
    }
    void locate_rows() {
        mov(up.cvt32(), token);
        imul(row_out, up, activation_row_bytes(spec_.output, spec_.width));
        imul(up, up, spec_.in_stride * uint32_t(sizeof(float)));
        mov(gate, ptr[args + offsetof(SwigluArgs, gate)]);
        add(gate, up);
        add(up, ptr[args + offsetof(SwigluArgs, up)]);
        add(row_out, ptr[args + offsetof(SwigluArgs, out)]);
    }
    void activate(const Xbyak::RegExp& at, uint32_t count) {  // rows of in_stride floats may end unpadded
        load_lanes(gate_value, gate + at, count);
        emit_silu(*this, value, gate_value, negated, exp_scratch);
        load_lanes(up_value, up + at, count);
        vmulps(value, value, up_value);
    }
};

}  // namespace

MachineCode generate(OpOf<SwigluSpec>, const SwigluSpec& spec, Isa isa) { return SwigluKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
