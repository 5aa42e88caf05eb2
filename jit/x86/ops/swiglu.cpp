// The gate of a feed-forward block: activation(gate) * up, quantised for the matmul that follows.
#include <array>

#include "jit/x86/backend.h"
#include "jit/x86/emit/math.h"
#include "jit/x86/ops/row_writer.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class SwigluKernel final : public X86Kernel<SwigluSpec, RowWriter> {
    using X86Kernel::X86Kernel;

    // Register map. gate, up and row_out point to the token's rows.
    const Reg64 args = rdi, gate = rbx, up = rcx;
    const Reg32 token = esi, end = edx;
    const Wide value = wide(0), gate_value = wide(3), exponent = wide(4), up_value = wide(4);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};
    const bool has_up = spec_.up == Presence::present;

    void generate() override {
        prologue({rbx}, row_scratch_bytes(spec_.output));
        for_units(token, end, [&] {
            locate_rows();
            write_row(spec_.output, spec_.width, [&](const Xbyak::RegExp& at, uint32_t count) { produce(at, count); });
        });
        epilogue();
    }
    void locate_rows() {
        mov(up.cvt32(), token);
        imul(row_out, up, activation_row_bytes(spec_.output, spec_.width));
        imul(up, up, spec_.in_stride * uint32_t(sizeof(float)));
        mov(gate, ptr[args + offsetof(SwigluArgs, gate)]);
        add(gate, up);
        if (has_up) add(up, ptr[args + offsetof(SwigluArgs, up)]);
        add(row_out, ptr[args + offsetof(SwigluArgs, out)]);
    }
    void produce(const Xbyak::RegExp& at, uint32_t count) {  // rows of in_stride floats may end unpadded
        load_lanes(gate_value, gate + at, count);
        activate();
        if (!has_up) return;
        load_lanes(up_value, up + at, count);
        if (spec_.activation == Activation::clamped_silu) clamp_up();
        vmulps(value, value, up_value);
    }
    // value = activation(gate_value). Clobbers gate_value and wide(4) to wide(7).
    void activate() {
        switch (spec_.activation) {
            case Activation::silu:
                return emit_silu(*this, value, gate_value, exponent, exp_scratch);
            case Activation::gelu_tanh:
                return gelu_tanh();
            case Activation::gelu_erf:
                return gelu_erf();
            case Activation::relu:
            case Activation::relu_squared:
                vxorps(value, value, value);
                vmaxps(value, value, gate_value);  // the second operand where one is NaN
                if (spec_.activation == Activation::relu_squared) vmulps(value, value, value);
                return;
            case Activation::clamped_silu:
                vbroadcastss(exponent, constant(kClampedLimit));
                vminps(gate_value, exponent, gate_value);
                vmulps(exponent, gate_value, splat(-kClampedSteepness));
                return emit_gated_by_exp(*this, value, gate_value, exponent, exp_scratch);
            case Activation::sigmoid:
                vxorps(exponent, gate_value, splat_u32(0x8000'0000));
                vbroadcastss(gate_value, constant(1.0f));
                return emit_gated_by_exp(*this, value, gate_value, exponent, exp_scratch);
            case Activation::xielu:
                return xielu();
        }
    }
    void xielu() {
        const auto& [positive, negative, linear, limit] = spec_.xielu;
        const Wide below = wide(5);
        const LaneMask is_positive = lane_mask(0, wide(7));
        vbroadcastss(exponent, constant(limit));
        vminps(exponent, exponent, gate_value);  // a NaN stays
        emit_exp(*this, value, exponent, exp_scratch, ExpDomain::not_positive);
        vbroadcastss(below, constant(1.0f));
        vsubps(value, value, below);
        vsubps(value, value, gate_value);
        vmulps(below, value, splat(negative));
        vmulps(value, gate_value, gate_value);
        vmulps(value, value, splat(positive));
        compare(is_positive, gate_value, splat(0.0f), Compare::greater);
        select(value, is_positive, value, below);
        vmulps(gate_value, gate_value, splat(linear));
        vaddps(value, value, gate_value);
    }
    void gelu_tanh() {
        constexpr float kFactor = -0x1.988454p+0f;  // -2 sqrt(2 / pi)
        vmulps(exponent, gate_value, gate_value);
        vmulps(exponent, exponent, splat(kFactor * 0.044715f));
        vaddps(exponent, exponent, splat(kFactor));
        vmulps(exponent, exponent, gate_value);
        emit_gated_by_exp(*this, value, gate_value, exponent, exp_scratch);
    }
    // x times the normal distribution, of which half erfc(|x| / sqrt(2)) is the smaller side: a polynomial of
    // t = 1 / (1 + p z) times exp(-z^2), off by 0.75e-7 at most (Abramowitz and Stegun 7.1.26).
    void gelu_erf() {
        constexpr float kP = 0.3275911f * 0x1.6a09e6p-1f;  // of |x| in place of z = |x| / sqrt(2)
        static constexpr std::array<float, 5> kHalves = {0.5f * 1.061405429f, 0.5f * -1.453152027f, 0.5f * 1.421413741f,
                                                         0.5f * -0.284496736f, 0.5f * 0.254829592f};
        const Wide t = wide(5), side = wide(6);
        const LaneMask is_positive = lane_mask(0, wide(7));
        vmulps(exponent, gate_value, gate_value);
        vmulps(exponent, exponent, splat(-0.5f));
        emit_exp(*this, value, exponent, exp_scratch, ExpDomain::not_positive);
        vandps(t, gate_value, splat_u32(0x7fff'ffff));
        vmulps(t, t, splat(kP));
        vaddps(t, t, splat(1.0f));
        vbroadcastss(side, constant(1.0f));
        vdivps(t, side, t);
        vmulps(side, t, splat(kHalves[0]));
        for (size_t power = 1; power < kHalves.size(); ++power) {
            vaddps(side, side, splat(kHalves[power]));
            vmulps(side, side, t);
        }
        vmulps(side, side, value);
        vbroadcastss(t, constant(1.0f));
        vsubps(t, t, side);
        compare(is_positive, gate_value, splat(0.0f), Compare::greater);
        select(value, is_positive, t, side);
        vmulps(value, value, gate_value);
    }
    void clamp_up() {
        const Wide limit = wide(5);
        vbroadcastss(limit, constant(kClampedLimit));
        vminps(up_value, limit, up_value);
        vbroadcastss(limit, constant(-kClampedLimit));
        vmaxps(up_value, limit, up_value);
        vaddps(up_value, up_value, splat(1.0f));
    }
};

}  // namespace

MachineCode generate(OpOf<SwigluSpec>, const SwigluSpec& spec, Isa isa) { return SwigluKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
