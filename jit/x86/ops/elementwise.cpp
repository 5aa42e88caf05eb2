// Chains of elementwise steps over rows, in one pass over memory.
#include <array>
#include <optional>

#include "jit/x86/backend.h"
#include "jit/x86/emit/chain_compiler.h"

namespace riftjit::x86 {

namespace {

using Vec = ChainCompiler::Vec;
using Gp = ChainCompiler::Gp;
using Mask = ChainCompiler::Mask;

// tanh(x) = x + x^3 (c3 + c5 x^2 + ... + c11 x^8) on |x| < kTanhSwitch, minimax with relative error below 2^-29.
constexpr std::array<float, 5> kTanhPolynomial = {-0x1.555548p-2f, 0x1.110c72p-3f, -0x1.b90946p-5f, 0x1.582fbp-6f,
                                                  -0x1.95001cp-8f};
constexpr float kTanhSwitch = 0.5625f;

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
            if (step.op == ElementwiseOp::add || step.op == ElementwiseOp::multiply) load(step.right, valid);
            const Vec result = cc_.new_vector();
            apply(step, result);
            values_.push_back(result);
        }
        cc_.vmovups(asmjit::x86::ptr(out_, offset_), *values_.back());
    }
    void load(size_t index, const std::optional<Mask>& valid) {
        if (values_[index]) return;
        const auto start = asmjit::x86::ptr(rows_[index], offset_);
        values_[index] = cc_.new_vector();
        if (valid) {
            cc_.load_masked(*values_[index], start, *valid);
        } else {
            cc_.vmovups(*values_[index], start);
        }
    }

    void apply(const ElementwiseStep& step, const Vec& out) {
        const Vec& x = *values_[step.left];
        switch (step.op) {
            case ElementwiseOp::add:
                return cc_.vaddps(out, x, *values_[step.right]), void();
            case ElementwiseOp::multiply:
                return cc_.vmulps(out, x, *values_[step.right]), void();
            case ElementwiseOp::scale:
                return cc_.vmulps(out, x, cc_.splat(step.constant)), void();
            case ElementwiseOp::silu:
                return emit_silu(cc_, out, x, cc_.new_vector(), exp_scratch());
            case ElementwiseOp::gelu_tanh:
                return emit_gelu_tanh(out, x);
            case ElementwiseOp::tanh:
                return emit_tanh(out, x);
            case ElementwiseOp::softcap:
                cc_.vmulps(out, x, cc_.splat(1.0f / step.constant));
                emit_tanh(out, out);
                cc_.vmulps(out, out, cc_.splat(step.constant));
                return;
        }
    }
    ExpScratch<Vec, Mask> exp_scratch() { return {cc_.new_vector(), cc_.new_vector(), cc_.new_mask()}; }

    // x/2 (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3): without the cancellation.
    void emit_gelu_tanh(const Vec& out, const Vec& x) {
        const Vec exponent = cc_.new_vector();
        cc_.vmulps(exponent, x, x);
        cc_.vbroadcastss(out, cc_.constant(0.044715f));
        cc_.vfmadd213ps(exponent, out, cc_.splat(1.0f));
        cc_.vmulps(exponent, exponent, x);
        cc_.vmulps(exponent, exponent, cc_.splat(-1.59576912f));  // -2 sqrt(2 / pi)
        emit_exp(cc_, out, exponent, exp_scratch(), ExpDomain::any);
        cc_.vaddps(out, out, cc_.splat(1.0f));
        cc_.vdivps(out, x, out);
    }
    // |x| < kTanhSwitch: the polynomial. Beyond: the sign of x with 1 - 2 / (1 + exp(2 |x|)), whose relative error is
    // e / (1 + e)^2 / tanh times 2 (3 u of exp), 1 u of the sum, 1 of the quotient times at most 0.96, 1 of the
    // difference: less than 6 u. `out` may be `x`.
    void emit_tanh(const Vec& out, const Vec& x) {
        const Vec magnitude = cc_.new_vector(), large = cc_.new_vector(), small = cc_.new_vector(),
                  sign = cc_.new_vector();
        const Mask is_small = cc_.new_mask();
        cc_.vandps(magnitude, x, cc_.splat_u32(0x7fff'ffff));
        cc_.vandps(sign, x, cc_.splat_u32(0x8000'0000));
        cc_.compare(is_small, magnitude, cc_.splat(kTanhSwitch), Compare::less);
        cc_.vmulps(small, x, x);
        emit_tanh_polynomial(small, x);
        cc_.vaddps(magnitude, magnitude, magnitude);
        emit_exp(cc_, large, magnitude, exp_scratch(), ExpDomain::any);
        cc_.vaddps(large, large, cc_.splat(1.0f));
        cc_.vbroadcastss(magnitude, cc_.constant(-2.0f));
        cc_.vdivps(large, magnitude, large);
        cc_.vaddps(large, large, cc_.splat(1.0f));
        cc_.select(out, is_small, small, large);
        cc_.vorps(out, out, sign);  // -0 too
    }
    void emit_tanh_polynomial(const Vec& square, const Vec& x) {  // in place of the square
        const Vec sum = cc_.new_vector();
        cc_.vbroadcastss(sum, cc_.constant(kTanhPolynomial.back()));
        for (size_t i = kTanhPolynomial.size() - 1; i-- > 0;)
            cc_.vfmadd213ps(sum, square, cc_.splat(kTanhPolynomial[i]));
        cc_.vmulps(square, square, x);
        cc_.vfmadd213ps(square, sum, x);
    }

    const ElementwiseSpec& spec_;
    ChainCompiler cc_;
    Gp args_, token_, end_, out_, offset_;
    std::vector<Gp> rows_;
    std::vector<std::optional<Vec>> values_;
};

}  // namespace

MachineCode generate_elementwise(const ElementwiseSpec& spec, Isa isa) { return ChainGenerator(spec, isa).generate(); }

}  // namespace riftjit::x86
