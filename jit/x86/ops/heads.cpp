// Rows of heads: taken out of tokens' rows and put back.
#include "jit/x86/backend.h"
#include "jit/x86/ops/row_writer.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class SplitHeadsKernel final : public X86Kernel<SplitHeadsSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. x points to the head's elements, rows holds the batch's number of them.
    const Reg64 args = rdi, x = rbx, head = rcx, rows = r12;
    const Reg32 token = esi, end = edx;

    void generate() override {
        prologue({rbx, r12}, row_scratch_bytes(spec_.output));
        mov(rows, ptr[args + offsetof(SplitHeadsArgs, batch)]);
        mov(rows.cvt32(), ptr[rows + offsetof(BatchState, rows)]);
        for_units(token, end, [&] {
            mov(x.cvt32(), token);
            imul(x, x, int(spec_.in_stride * sizeof(float)));
            add(x, ptr[args + offsetof(SplitHeadsArgs, x)]);
            add(x, int(spec_.offset * sizeof(float)));
            for_count(head, spec_.heads, 1, [&] {
                mov(row_out, rows);
                imul(row_out, head);
                mov(eax, token);
                add(row_out, rax);
                imul(row_out, row_out, int(activation_row_bytes(spec_.output, spec_.width)));
                add(row_out, ptr[args + offsetof(SplitHeadsArgs, out)]);
                write_row(spec_.output, spec_.width,
                          [&](const Xbyak::RegExp& at, uint32_t count) { load_lanes(wide(0), x + at, count); });
                add(x, int(spec_.head_stride * sizeof(float)));
            });
        });
        epilogue();
    }
};

class JoinHeadsKernel final : public X86Kernel<JoinHeadsSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. x, row and out point to the head's elements.
    const Reg64 args = rdi, x = rcx, row = r8, out = r9, rows = r10, head = r11, offset = rax;
    const Reg32 token = esi, end = edx;

    void generate() override {
        prologue({});
        mov(rows, ptr[args + offsetof(JoinHeadsArgs, batch)]);
        mov(rows.cvt32(), ptr[rows + offsetof(BatchState, rows)]);
        imul(rows, rows, int(f32_row_bytes(spec_.width)));  // from one head's rows to the next one's
        const bool is_by_head = spec_.rows == HeadRows::by_head;
        for_units(token, end, [&] {
            locate();
            for_count(head, spec_.heads, 1, [&] {
                if (spec_.first_width != 0) {
                    copy(x, spec_.first_width);
                    add(x, int(spec_.head_stride * sizeof(float)));
                }
                if (spec_.width == 0) return;
                if (spec_.rows == HeadRows::zeros) return clear(spec_.width);
                copy(row, spec_.width);
                is_by_head ? add(row, rows) : add(row, int(spec_.width * sizeof(float)));
            });
        });
        epilogue();
    }
    void locate() {
        mov(row.cvt32(), token);
        if (spec_.first_width != 0) {
            imul(x, row, int(spec_.in_stride * sizeof(float)));
            add(x, ptr[args + offsetof(JoinHeadsArgs, x)]);
            add(x, int(spec_.offset * sizeof(float)));
        }
        imul(out, row, int(f32_row_bytes(spec_.heads * (spec_.first_width + spec_.width))));
        add(out, ptr[args + offsetof(JoinHeadsArgs, out)]);
        const uint32_t heads_each = spec_.rows == HeadRows::by_token ? spec_.heads : 1;
        imul(row, row, int(f32_row_bytes(heads_each * spec_.width)));
        add(row, ptr[args + offsetof(JoinHeadsArgs, rows)]);
    }
    void clear(uint32_t width) {
        vxorps(wide(0), wide(0), wide(0));
        for_each_group(offset, width, 1,
                       [&](int, uint32_t count) { store_lanes(out + offset, wide(0), count, wide(1)); });
        add(out, int(width * sizeof(float)));
    }
    void copy(const Reg64& from, uint32_t width) {
        for_each_group(offset, width, 1, [&](int, uint32_t count) {
            load_lanes(wide(0), from + offset, count);
            store_lanes(out + offset, wide(0), count, wide(1));
        });
        add(out, int(width * sizeof(float)));
    }
};

}  // namespace

MachineCode generate(OpOf<SplitHeadsSpec>, const SplitHeadsSpec& spec, Isa isa) {
    return SplitHeadsKernel(spec, isa).finish();
}
MachineCode generate(OpOf<JoinHeadsSpec>, const JoinHeadsSpec& spec, Isa isa) {
    return JoinHeadsKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
