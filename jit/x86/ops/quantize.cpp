// Conversion of f32 rows to the row formats that matmuls read.
#include "jit/x86/backend.h"
#include "jit/x86/ops/row_writer.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class QuantizeKernel final : public X86Kernel<QuantizeSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. x and row_out point to the token's rows.
    const Reg64 args = rdi, x = rcx;
    const Reg32 token = esi, end = edx;
    const Wide value = wide(0);

    void generate() override {
        prologue({}, row_scratch_bytes(spec_.output));
        for_units(token, end, [&] {
            locate_rows();
            write_row(spec_.output, spec_.width,
                      [&](const Xbyak::RegExp& at, uint32_t) { vmovups(value, lanes_at(x + at)); });
        });
        epilogue();
    }
    void locate_rows() {
        mov(x.cvt32(), token);
        imul(row_out, x, activation_row_bytes(spec_.output, spec_.width));
        imul(x, x, activation_row_bytes(RowFormat::f32, spec_.width));
        add(row_out, ptr[args + offsetof(QuantizeArgs, out)]);
        add(x, ptr[args + offsetof(QuantizeArgs, x)]);
    }
};

}  // namespace

MachineCode generate(OpOf<QuantizeSpec>, const QuantizeSpec& spec, Isa isa) {
    return QuantizeKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
