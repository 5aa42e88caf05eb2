// RMS norm of rows, with the addition of the residual before it and the quantisation after it.
#include "jit/x86/backend.h"
#include "jit/x86/ops/norm.h"
#include "jit/x86/ops/row_writer.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

// s = x (+ addend); out = s * gain / sqrt(mean(s * s) + epsilon).
class RmsNormKernel final : public X86Kernel<RmsNormSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. x, addend and row_out point to the token's rows. offset counts bytes into them.
    const Reg64 args = rdi, x = rbx, addend = rcx, gain = r12, offset = rax, row = r14;
    const Reg32 token = esi, end = edx;
    const SquareSums sums = {wide(0), wide(1), wide(2), wide(3)};
    const Wide element = wide(4), scale = wide(3), value = wide(0);

    uint32_t row_bytes() const { return activation_row_bytes(RowFormat::f32, spec_.width); }

    void generate() override {
        prologue({rbx, r12, r14}, row_scratch_bytes(spec_.output));
        mov(gain, ptr[args + offsetof(RmsNormArgs, gain)]);
        for_units(token, end, [&] {
            locate_rows();
            sum_squares();
            emit_inverse_rms(*this, scale, sums, spec_.width, spec_.epsilon, xmm_of(wide(4)), xmm_of(wide(5)));
            write_row(spec_.output, spec_.width,
                      [&](const Xbyak::RegExp& at, uint32_t count) { scale_group(at, count); });
        });
        epilogue();
    }
    void locate_rows() {
        mov(row.cvt32(), token);
        imul(row_out, row, activation_row_bytes(spec_.output, spec_.width));
        add(row_out, ptr[args + offsetof(RmsNormArgs, out)]);
        imul(row, row, row_bytes());
        mov(x, ptr[args + offsetof(RmsNormArgs, x)]);
        add(x, row);
        if (spec_.addend == Addend::none) return;
        mov(addend, ptr[args + offsetof(RmsNormArgs, addend)]);
        add(addend, row);
    }
    void sum_squares() {
        for (const Wide& partial : sums) vxorps(partial, partial, partial);
        for_each_group(offset, spec_.width, 4, [&](int group, uint32_t count) {
            const auto here = offset + 64 * group;
            vmovups(element, lanes_at(x + here));
            if (spec_.addend == Addend::residual) {
                vaddps(element, element, lanes_at(addend + here));
                vmovups(lanes_at(x + here), element);
            }
            clear_lanes_from(element, count);
            vfmadd231ps(sums[group], element, element);
        });
    }
    void scale_group(const Xbyak::RegExp& at, uint32_t count) {
        vmulps(value, scale, lanes_at(x + at));
        if (spec_.gain == Presence::absent) return;
        if (count == 16) return vmulps(value, value, lanes_at(gain + at));
        load_lanes(element, gain + at, count);  // weights have no padding
        vmulps(value, value, element);
    }
};

}  // namespace

MachineCode generate(OpOf<RmsNormSpec>, const RmsNormSpec& spec, Isa isa) { return RmsNormKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
