// Layer norm of rows, with the quantisation after it.
#include "jit/x86/backend.h"
#include "jit/x86/ops/norm.h"
#include "jit/x86/ops/row_writer.h"

namespace riftjit::x86 {

namespace {

// out = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gain (+ bias).
class LayerNormKernel final : public X86Kernel<LayerNormSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. x and row_out point to the token's rows. offset counts bytes into them.
    const Reg64 args = rdi, x = rbx, gain = r12, bias = r13, offset = rax, row = r14;
    const Reg32 token = esi, end = edx;
    const RowSums sums = {wide(0), wide(1), wide(2), wide(3)};
    const Wide element = wide(4), addend = wide(5), mean = wide(6), scale = wide(3), value = wide(0);

    void generate() override {
        prologue({rbx, r12, r13, r14}, row_scratch_bytes(spec_.output));
        mov(gain, ptr[args + offsetof(LayerNormArgs, gain)]);
        mov(bias, ptr[args + offsetof(LayerNormArgs, bias)]);
        for_units(token, end, [&] {
            locate_rows();
            find_mean();
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
        add(row_out, ptr[args + offsetof(LayerNormArgs, out)]);
        imul(row, row, f32_row_bytes(spec_.width));
        mov(x, ptr[args + offsetof(LayerNormArgs, x)]);
        add(x, row);
    }
    void find_mean() {
        for (const Wide& partial : sums) vxorps(partial, partial, partial);
        for_each_group(offset, spec_.width, 4, [&](int group, uint32_t count) {
            vmovups(element, lanes_at(x + offset + 64 * group));
            clear_lanes_from(element, count);
            vaddps(sums[group], sums[group], element);
        });
        const Xmm total = xmm_of(element);
        emit_row_sum(*this, total, sums, xmm_of(addend));
        vdivss(total, total, constant(float(spec_.width)));
        vbroadcastss(mean, total);
    }
    void sum_squares() {  // of the differences
        for (const Wide& partial : sums) vxorps(partial, partial, partial);
        for_each_group(offset, spec_.width, 4, [&](int group, uint32_t count) {
            vmovups(element, lanes_at(x + offset + 64 * group));
            vsubps(element, element, mean);
            clear_lanes_from(element, count);
            vfmadd231ps(sums[group], element, element);
        });
    }
    void scale_group(const Xbyak::RegExp& at, uint32_t count) {
        vmovups(value, lanes_at(x + at));
        vsubps(value, value, mean);
        vmulps(value, value, scale);
        load_lanes(element, gain + at, count);
        if (spec_.bias == Presence::absent) return vmulps(value, value, element);
        load_lanes(addend, bias + at, count);
        vfmadd213ps(value, element, addend);
    }
};

}  // namespace

MachineCode generate(OpOf<LayerNormSpec>, const LayerNormSpec& spec, Isa isa) {
    return LayerNormKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
