// Chains of elementwise steps over rows, in one pass over memory.
#include <optional>

#include "jit/x86/backend.h"
#include "jit/x86/emit/chain_compiler.h"

namespace riftjit::x86 {

namespace {

using Vec = ChainCompiler::Vec;
using Gp = ChainCompiler::Gp;
using Mask = ChainCompiler::Mask;

class ChainGenerator {
public:
    ChainGenerator(const ElementwiseSpec& spec, Isa isa) : spec_(spec), cc_(isa), values_(spec.inputs.size()) {}

    MachineCode generate() {
        begin_function();
        const asmjit::Label next_token = cc_.newLabel(), done = cc_.newLabel();
        cc_.cmp(token_, end_);
        cc_.jae(done);
        cc_.bind(next_token);
        locate_rows();
        process_row();
        cc_.inc(token_);
        cc_.cmp(token_, end_);
        cc_.jb(next_token);
        cc_.bind(done);
        return cc_.finish_kernel();
    }

private:
    void begin_function() {
        using Signature = asmjit::FuncSignatureT<void, const void*, uint32_t, uint32_t>;
        asmjit::FuncNode* function = cc_.addFunc(Signature(asmjit::CallConvId::kX64SystemV));
        function->frame().setAvxEnabled();
        function->frame().setAvxCleanup();  // vzeroupper
        if (cc_.lanes() == 16) function->frame().setAvx512Enabled();
        args_ = cc_.newUIntPtr();
        token_ = cc_.newUInt32();
        end_ = cc_.newUInt32();
        out_ = cc_.newUIntPtr();
        offset_ = cc_.newUIntPtr();
        for (size_t i = 0; i < spec_.inputs.size(); ++i) rows_.push_back(cc_.newUIntPtr());
        function->setArg(0, args_);
        function->setArg(1, token_);
        function->setArg(2, end_);
    }
    void locate_rows() {
        const auto locate = [&](const Gp& row, size_t argument, uint32_t stride) {
            cc_.mov(row.r32(), token_);
            cc_.imul(row, row, stride * uint32_t(sizeof(float)));
            cc_.add(row, asmjit::x86::ptr(args_, int(argument)));
        };
        for (size_t i = 0; i < rows_.size(); ++i)
            locate(rows_[i], offsetof(ElementwiseArgs, inputs) + i * sizeof(float*), spec_.inputs[i].row_stride);
        locate(out_, offsetof(ElementwiseArgs, out), spec_.out_stride);
    }
    void process_row() {
        const uint32_t lanes = uint32_t(cc_.lanes()), full = spec_.width / lanes, rest = spec_.width % lanes;
        cc_.xor_(offset_.r32(), offset_.r32());
        if (full != 0) {
            const asmjit::Label next_vector = cc_.newLabel();
            cc_.bind(next_vector);
            process_vector(std::nullopt);
            cc_.add(offset_, cc_.vector_bytes());
            cc_.cmp(offset_, full * uint32_t(cc_.vector_bytes()));
            cc_.jb(next_vector);
        }
        if (rest == 0) return;
        const Mask first_lanes = cc_.new_mask();
        cc_.set_first_lanes(first_lanes, int(rest));
        process_vector(first_lanes);  // output rows are padded to 16 lanes, inputs need not be
    }
    // The chain on one vector; an input that no step reads is not loaded.
    void process_vector(const std::optional<Mask>& valid) {
        values_.assign(spec_.inputs.size(), std::nullopt);
        for (const ElementwiseStep& step : spec_.steps) {
            load(step.left, valid);
            if (has_two_operands(step.op)) load(step.right, valid);
            const Vec result = cc_.new_vector();
            apply(step, result);
            values_.push_back(result);
        }
        cc_.vmovups(asmjit::x86::ptr(out_, offset_), *values_.back());
    }
    void load(size_t index, const std::optional<Mask>& valid) {
        if (values_[index]) return;
        if (const uint32_t column = spec_.inputs[index].column; column != kWholeRow) {
            values_[index] = cc_.new_vector();
            cc_.vbroadcastss(*values_[index], asmjit::x86::dword_ptr(rows_[index], int(column * sizeof(float))));
            return;
        }
        const auto start = asmjit::x86::ptr(rows_[index], offset_);
        values_[index] = cc_.new_vector();
        if (valid) {
            cc_.load_masked(*values_[index], start, *valid);
        } else {
            cc_.vmovups(*values_[index], start);
        }
    }

    Vec splatted(float value) {
        const Vec vector = cc_.new_vector();
        cc_.vbroadcastss(vector, cc_.constant(value));
        return vector;
    }
    void apply(const ElementwiseStep& step, const Vec& out) {
        const Vec& x = *values_[step.left];
        switch (step.op) {
            case ElementwiseOp::add:
                return cc_.vaddps(out, x, *values_[step.right]), void();
            case ElementwiseOp::scale:
                return cc_.vmulps(out, x, cc_.splat(step.constant)), void();
            case ElementwiseOp::softcap: {
                const ExpScratch<Vec, Mask> scratch = {cc_.new_vector(), cc_.new_vector(), cc_.new_mask()};
                cc_.vmulps(out, x, cc_.splat(1.0f / step.constant));
                emit_tanh(cc_, out, out, cc_.new_vector(), scratch);
                return cc_.vmulps(out, out, cc_.splat(step.constant)), void();
            }
            case ElementwiseOp::multiply:
                return cc_.vmulps(out, x, *values_[step.right]), void();
            case ElementwiseOp::divide:
                return cc_.vdivps(out, x, *values_[step.right]), void();
            case ElementwiseOp::at_least:
                return cc_.vmaxps(out, splatted(step.constant), x), void();  // the second operand, if it is NaN
            case ElementwiseOp::at_most:
                return cc_.vminps(out, splatted(step.constant), x), void();
            case ElementwiseOp::square_root:
                cc_.vmaxps(out, splatted(0.0f), x);
                return cc_.vsqrtps(out, out), void();
        }
    }

    const ElementwiseSpec& spec_;
    ChainCompiler cc_;
    Gp args_, token_, end_, out_, offset_;
    std::vector<Gp> rows_;
    std::vector<std::optional<Vec>> values_;
};

}  // namespace

MachineCode generate(OpOf<ElementwiseSpec>, const ElementwiseSpec& spec, Isa isa) {
    return ChainGenerator(spec, isa).generate();
}

}  // namespace riftjit::x86
