#include <cstddef>

#include "jit/op_description.h"
#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
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
            read.push_back(number);
            addresses.push_back(inputs.part(2 * unsigned(number), 2));
            if (const uint32_t stride = spec_.inputs[number].row_stride; stride != 0)
                s_advance(addresses.back(), rows.row(), stride * uint32_t(sizeof(float)));
        }
        const auto loaded = rows.lanes().load(addresses);
        for (size_t i = 0; i < read.size(); ++i) values[read[i]] = loaded[i];
    }
    bool is_read(size_t value) const {
        return std::ranges::any_of(spec_.steps, [&](const ElementwiseStep& step) {
            return step.left == value || (step.op == ElementwiseOp::add && step.right == value);
        });
    }
    RowLanes::Quads apply(const ElementwiseStep& step) {
        RowLanes::Quads results;
        for (size_t quad = 0; quad < values[step.left].size(); ++quad) {
            results.push_back(vgpr(4));
            for (unsigned i = 0; i < 4; ++i) {
                const Vgpr left = values[step.left][quad][i];
                switch (step.op) {
                    case ElementwiseOp::add:
                        v_add_f32(results[quad][i], left, values[step.right][quad][i]);
                        break;
                    case ElementwiseOp::scale:
                        v_mul_f32(results[quad][i], step.constant, left);
                        break;
                    default:  // refused
                        break;
                }
            }
        }
        return results;
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const ElementwiseSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("elementwise", target.wave_size));
    for (const ElementwiseStep& step : spec.steps)
        RIFTJIT_TRY_VOID(refuse_if(step.op != ElementwiseOp::add && step.op != ElementwiseOp::scale, "elementwise",
                                   std::string(riftjit::text(step.op))));
    for (const ElementwiseInput& input : spec.inputs)
        RIFTJIT_TRY_VOID(refuse_if(input.column != kWholeRow, "elementwise", "an element for all of a row"));
    return SplitRows::shape(spec.width);
}

Result<KernelProgram> program_of(KernelTarget target, const ElementwiseSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<ElementwiseKernel>(target, spec, "elementwise", options);
}

}  // namespace riftjit::rdna::kernels
