#include <cstddef>

#include "jit/op_description.h"
#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/activation.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/row_lanes.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class ElementwiseKernel final : public RdnaKernel<ElementwiseSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = rows.group_lanes();
        rows.locate();
        values.resize(spec_.inputs.size());
        load_inputs();
        for (const ElementwiseStep& step : spec_.steps) values.push_back(apply(step));
        s_advance(out, rows.row(), spec_.out_stride * uint32_t(sizeof(float)));
        rows.lanes().store(values.back(), out);
    }

private:
    static ArgumentField input(std::string name, size_t number) {
        return {std::move(name), uint32_t(offsetof(ElementwiseArgs, inputs) + number * sizeof(float*)), sizeof(float*),
                true};
    }

    // The batch is not looked at; with it the arguments are one load.
    const BoundArguments<ElementwiseArgs> bound = bind_arguments<ElementwiseArgs>(
        {input("input0", 0), input("input1", 1), input("input2", 2), input("input3", 3), input("input4", 4),
         input("input5", 5), field("out", &ElementwiseArgs::out), field("batch", &ElementwiseArgs::batch)});
    static_assert(kMaxElementwiseInputs == 6 && sizeof(ElementwiseArgs) == 64);
    const Sgpr inputs = bound[&ElementwiseArgs::inputs], out = bound[&ElementwiseArgs::out];
    SplitRows rows{*this, spec_.width};
    std::vector<RowLanes::Quads> values;  // as the steps number them

    void load_inputs() {
        std::vector<size_t> read;
        std::vector<Sgpr> addresses;
        for (size_t number = 0; number < spec_.inputs.size(); ++number) {
            if (!is_read(number)) continue;
            const auto [stride, column] = spec_.inputs[number];
            const Sgpr address = inputs.part(2 * unsigned(number), 2);
            if (stride != 0) s_advance(address, rows.row(), stride * uint32_t(sizeof(float)));
            if (column != kWholeRow) {
                values[number] = spread(address, column);
                continue;
            }
            read.push_back(number);
            addresses.push_back(address);
        }
        const auto loaded = rows.lanes().load(addresses);
        for (size_t i = 0; i < read.size(); ++i) values[read[i]] = loaded[i];
    }
    // One element for all of the row.
    RowLanes::Quads spread(Sgpr row, uint32_t column) {
        const Vgpr offset = vgpr(), value = vgpr();
        v_mov_b32(offset, column * uint32_t(sizeof(float)));
        global_load_b32(value, offset, row);
        RowLanes::Quads quads;
        for (uint32_t quad = 0; quad < 2 * rows.lanes().rounds(); ++quad) {
            quads.push_back(vgpr(4));
            for (unsigned i = 0; i < 4; ++i) v_mov_b32(quads[quad][i], value);
        }
        return quads;
    }
    bool is_read(size_t value) const {
        return std::ranges::any_of(spec_.steps, [&](const ElementwiseStep& step) {
            return step.left == value || (has_two_operands(step.op) && step.right == value);
        });
    }
    RowLanes::Quads apply(const ElementwiseStep& step) {
        RowLanes::Quads results;
        for (size_t quad = 0; quad < values[step.left].size(); ++quad) {
            results.push_back(vgpr(4));
            for (unsigned i = 0; i < 4; ++i) {
                const Vgpr left = values[step.left][quad][i];
                has_two_operands(step.op) ? combine(step.op, results[quad][i], left, values[step.right][quad][i])
                                          : change(step, results[quad][i], left);
            }
        }
        return results;
    }
    void combine(ElementwiseOp op, Vgpr out, Vgpr left, Vgpr right) {
        if (op == ElementwiseOp::add) return v_add_f32(out, left, right);
        if (op == ElementwiseOp::multiply) return v_mul_f32(out, left, right);
        emit_divide(*this, out, left, right);
    }
    void change(const ElementwiseStep& step, Vgpr out, Vgpr x) {
        switch (step.op) {
            case ElementwiseOp::scale:
                return v_mul_f32(out, step.constant, x);
            case ElementwiseOp::softcap:
                return emit_softcap(*this, out, x, step.constant);
            case ElementwiseOp::at_least:
                return emit_at_least(*this, out, x, step.constant);
            case ElementwiseOp::at_most:
                return emit_at_most(*this, out, x, step.constant);
            case ElementwiseOp::square_root: {
                const Vgpr square = vgpr();
                emit_at_least(*this, square, x, 0.0f);
                return emit_sqrt(*this, out, square);
            }
            default:  // of two operands
                return;
        }
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const ElementwiseSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("elementwise", target.wave_size));
    return SplitRows::shape(spec.width);
}

Result<KernelProgram> program_of(KernelTarget target, const ElementwiseSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<ElementwiseKernel>(target, spec, "elementwise", options);
}

}  // namespace riftjit::rdna::kernels
