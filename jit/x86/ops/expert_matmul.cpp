// Products with the matrices of experts: a driver that goes through the groups of a batch and calls the matmul of one
// matrix for each. That code is the ordinary one and follows the driver, in tile form with the vector form beside it
// for groups of one row: sums and bits are those of any matmul.
#include <array>

#include "jit/x86/backend.h"
#include "jit/x86/emit/join_code.h"
#include "jit/x86/emit/x86_kernel.h"
#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class ExpertMatmulDriver final : public X86Kernel<ExpertMatmulSpec> {
public:
    ExpertMatmulDriver(const ExpertMatmulSpec& spec, Isa isa, std::span<const MachineCode> products)
        : X86Kernel(spec, isa), products_(products) {}

private:
    struct Frame {
        MatmulArgs product;
        BatchState batch;
        ExpertGroup group;
    };

    // Register map. `unit` counts panels through the matrices of all groups; the product takes [panel, last) of one.
    const Reg64 args = rbx, group = r14, scratch = rax, place = rcx;
    const Reg32 unit = r12d, end = r13d, panel = esi, last = r15d;

    void generate() override {
        const MatmulSpec& product = spec_.product;
        const uint32_t panels = (product.rows + kPanelRows - 1) / kPanelRows;
        Label again, done;
        prologue({rbx, r12, r13, r14, r15}, sizeof(Frame));
        mov(args, rdi);
        mov(unit, esi);
        mov(end, edx);
        lea(scratch, ptr[rsp + offsetof(Frame, batch)]);
        mov(ptr[rsp + offsetof(Frame, product.batch)], scratch);
        L(again);
        cmp(unit, end);
        jae(done);
        mov(eax, unit);
        xor_(edx, edx);
        mov(ecx, panels);
        div(ecx);
        mov(panel, edx);
        if (spec_.used == spec_.experts)
            make_group();
        else
            find_group(done);
        take_panels(panels);
        point_at_expert();
        call_product();
        jmp(again);
        L(done);
        epilogue();
        align(64, /*useMultiByteNop=*/false);
        L(products_begin_);
    }
    // Number eax, or leaves for `done`.
    void find_group(Label& done) {
        mov(group, ptr[args + offsetof(ExpertMatmulArgs, groups)]);
        cmp(eax, ptr[group + offsetof(ExpertGroups, count)]);
        jae(done);
        imul(scratch, scratch, sizeof(ExpertGroup));
        lea(group, ptr[group + scratch + sizeof(ExpertGroups)]);
    }
    // All tokens by expert eax.
    void make_group() {
        lea(group, ptr[rsp + offsetof(Frame, group)]);
        mov(ptr[group + offsetof(ExpertGroup, expert)], eax);
        mov(rdx, ptr[args + offsetof(ExpertMatmulArgs, batch)]);
        mov(edx, ptr[rdx + offsetof(BatchState, rows)]);
        mov(ptr[group + offsetof(ExpertGroup, count)], edx);
        imul(eax, edx);
        mov(ptr[group + offsetof(ExpertGroup, first)], eax);
    }
    // As many as are left of this matrix and of the launch.
    void take_panels(uint32_t panels) {
        mov(last, end);
        sub(last, unit);
        add(last, panel);
        cmp(last, ecx);  // panels
        cmova(last, ecx);
        add(unit, last);
        sub(unit, panel);
        check(panels > 0, "a matrix has panels");
    }
    void point_at(uint32_t to, size_t from, uint64_t bytes_each, size_t index) {
        if (bytes_each != 0) {
            mov(eax, ptr[group + index]);
            mov(place, bytes_each);
            imul(scratch, place);
            add(scratch, ptr[args + from]);
        } else {
            mov(scratch, ptr[args + from]);
        }
        mov(ptr[rsp + to], scratch);
    }
    void point_at_expert() {
        const MatmulSpec& product = spec_.product;
        const RowFormat format = activation_format(product.weight, product.activations, isa_);
        const bool is_shared = spec_.shared_row == Presence::present;
        point_at(offsetof(Frame, product.weights), offsetof(ExpertMatmulArgs, weights),
                 packed_bytes(product.weight, product.rows, product.width), offsetof(ExpertGroup, expert));
        if (product.bias == Presence::present)
            point_at(offsetof(Frame, product.bias), offsetof(ExpertMatmulArgs, bias), product.rows * sizeof(float),
                     offsetof(ExpertGroup, expert));
        point_at(offsetof(Frame, product.x), offsetof(ExpertMatmulArgs, x),
                 is_shared ? 0 : activation_row_bytes(format, product.width), offsetof(ExpertGroup, first));
        point_at(offsetof(Frame, product.out), offsetof(ExpertMatmulArgs, out),
                 uint64_t(product.out_stride) * sizeof(float), offsetof(ExpertGroup, first));
        mov(eax, ptr[group + offsetof(ExpertGroup, count)]);
        mov(ptr[rsp + offsetof(Frame, batch.rows)], eax);
    }
    void call_product() {
        const auto begin = [&](size_t index) {
            uint32_t offset = 0;
            for (size_t i = 0; i < index; ++i) offset += joined_bytes(products_[i]);
            return ptr[rip + products_begin_ + int(offset)];
        };
        lea(scratch, begin(0));
        if (products_.size() > 1) {
            lea(rdx, begin(1));
            cmp(dword[group + offsetof(ExpertGroup, count)], 1);
            cmove(scratch, rdx);
        }
        mov(rdi, rsp);
        mov(edx, last);
        call(scratch);
    }

    const std::span<const MachineCode> products_;
    Label products_begin_;
};

}  // namespace

MachineCode generate(OpOf<ExpertMatmulSpec>, const ExpertMatmulSpec& spec, Isa isa) {
    std::vector<MachineCode> products = {generate(spec.product, isa)};
    if (spec.product.form == MatmulForm::tile) {
        MatmulSpec of_one = spec.product;
        of_one.form = MatmulForm::vector;
        products.push_back(generate(of_one, isa));
    }
    return join_code(ExpertMatmulDriver(spec, isa, products).finish(), products);
}

}  // namespace riftjit::x86
