// Copies the rows of a batch whose results are wanted, one after the other.
#include "jit/x86/backend.h"
#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

namespace {

class GatherRowsKernel final : public X86Kernel<GatherRowsSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. x and out point to the rows copied from and to; offset counts bytes into them.
    const Reg64 args = rdi, x = rcx, out = r8, output_rows = r9, offset = rax;
    const Reg32 output = esi, end = edx;

    void generate() override {
        prologue({});
        mov(output_rows, ptr[args + offsetof(GatherRowsArgs, batch)]);
        mov(output_rows, ptr[output_rows + offsetof(BatchState, output_row)]);
        for_units(output, end, [&] {
            locate_rows();
            for_each_group(offset, spec_.width, 4, [&](int group, uint32_t) {
                vmovups(wide(0), lanes_at(x + offset + 64 * group));
                vmovups(lanes_at(out + offset + 64 * group), wide(0));
            });
        });
        epilogue();
    }
    void locate_rows() {
        const auto row_bytes = int(f32_row_bytes(spec_.width));
        mov(out.cvt32(), output);
        mov(x.cvt32(), ptr[output_rows + out * sizeof(uint32_t)]);
        imul(x, x, row_bytes);
        imul(out, out, row_bytes);
        add(x, ptr[args + offsetof(GatherRowsArgs, x)]);
        add(out, ptr[args + offsetof(GatherRowsArgs, out)]);
    }
};

}  // namespace

MachineCode generate(OpOf<GatherRowsSpec>, const GatherRowsSpec& spec, Isa isa) {
    return GatherRowsKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
