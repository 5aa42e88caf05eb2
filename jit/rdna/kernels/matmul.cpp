// Matrix times one row, quantised weights: a lane is a row of the matrix, as on the processor, so that sums over k have
// its order and no lane needs another's.
//
// The waves of a workgroup share a panel out step by step (of 256 elements), and the workgroup at last adds up what
// each step came to, in the steps' order. Codes of activations come through scalar loads: a dot product takes four of
// them from an SGPR, and so one read of the row serves all lanes. A code is 128 * high + low (jit/kernel_spec.h): two
// dot products, whose sums are exact.
#include "jit/rdna/kernels/matmul.h"

#include <algorithm>
#include <bit>

#include "jit/rdna/kernels/rows.h"
#include "jit/rdna/kernels/validate.h"
#include "jit/rdna/kernels/vector_product.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr uint32_t kMaxWaves = 8;
constexpr uint32_t kMaxLdsBytes = 32 << 10;  // so that two workgroups at least fit a compute unit

// Of a launch over panels of a matrix whose rows have this many steps.
struct StepShare {
    explicit StepShare(const MatmulSpec& spec)
        : steps(PanelLayout(spec.weight, spec.width).steps()),
          rounds((steps + kMaxWaves - 1) / kMaxWaves),
          waves((steps + rounds - 1) / rounds) {}

    uint32_t lds_bytes() const { return waves > 1 ? steps * kPanelRows * 4 : 0; }

    uint32_t steps, rounds, waves;
};

// Of the step's block of a row in memory.
class ScalarCodes final : public CodeSource {
public:
    ScalarCodes(KernelAssembler& kernel) : k_(kernel), block_(kernel.sgpr()) {}

    void locate(Sgpr row) { row_ = row; }
    void begin_step(Sgpr step) { k_.s_mul_i32(block_, step, I16Row::kBlockBytes); }

    void load(uint32_t first, uint32_t count, uint32_t group) override {
        high_ = load_scalars(count / 4, I16Row::kHighOffset + first);
        low_ = load_scalars(count / 4, I16Row::kLowOffset + first);
        sums_.clear();
        if (group == 0) return;
        const Sgpr sixteens = load_scalars(count / 16, I16Row::kSumsOffset + first / 4);
        for (uint32_t i = 0; i < count / 16; i += group / 16) {
            sums_.push_back(group == 16 ? sixteens[i] : k_.sgpr());
            if (group == 32) k_.s_add_co_i32(sums_.back(), sixteens[i], sixteens[i + 1]);
        }
    }
    Argument high(uint32_t quad) const override { return (*high_)[quad]; }
    Argument low(uint32_t quad) const override { return (*low_)[quad]; }
    Argument sum(uint32_t group) const override { return sums_[group]; }
    void multiply_sum(Vgpr to, uint32_t group, int32_t factor) override {
        const Sgpr product = k_.sgpr();
        k_.s_mul_i32(product, sums_[group], factor);
        k_.v_mov_b32(to, product);
    }

private:
    Sgpr load_scalars(unsigned dwords, uint32_t offset) {
        const Sgpr to = k_.sgpr(dwords);
        const Opcode load = dwords == 16  ? Opcode::s_load_b512
                            : dwords == 8 ? Opcode::s_load_b256
                            : dwords == 4 ? Opcode::s_load_b128
                                          : Opcode::s_load_b64;
        k_.emit(load, {to, *row_, block_, offset});
        return to;
    }

    KernelAssembler& k_;
    const Sgpr block_;
    std::optional<Sgpr> row_, high_, low_;
    std::vector<Sgpr> sums_;
};

class MatmulKernel final : public RdnaKernel<MatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = share.waves * kPanelRows;
        panel.locate(bound[&MatmulArgs::batch]);
        locate_lanes();
        x_row.emplace(panel.row(bound[&MatmulArgs::x], 0, I16Row{spec_.width}.bytes()));
        codes.locate(*x_row);
        multiply_steps();
        if (share.waves > 1) {
            barrier();
            v_cmp_gt_u32(in_first_wave, kPanelRows, launch_lane());
            keep_lanes(in_first_wave);
            add_up_steps();
        }
        panel.store(bound[&MatmulArgs::out], bound[&MatmulArgs::bias], 0, total);
    }

private:
    const StepShare share{spec_};
    const PanelLayout layout{spec_.weight, spec_.width};

    // Register map.
    const BoundArguments<MatmulArgs> bound = bind_arguments<MatmulArgs>(
        {field("weights", &MatmulArgs::weights), field("bias", &MatmulArgs::bias), field("x", &MatmulArgs::x),
         field("out", &MatmulArgs::out), field("batch", &MatmulArgs::batch)});
    const Sgpr weights = bound[&MatmulArgs::weights];
    const Sgpr wave = sgpr(), step = sgpr(), bytes = sgpr(), in_first_wave = lane_mask();
    const Vgpr lane = vgpr(), lds_address = vgpr(), total = vgpr();
    const uint32_t blocks_lds = share.waves > 1 ? lds(share.lds_bytes()) : 0;
    PanelRows panel{*this, spec_, 1};
    VectorProduct product{*this, spec_.weight};
    ScalarCodes codes{*this};
    std::optional<Sgpr> x_row, panel_address;

    uint32_t scales_offset() const { return I16Row{spec_.width}.scales_offset_bytes(); }

    void locate_lanes() {
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_lshrrev_b32(lds_address, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, lds_address);
        v_lshlrev_b32(lds_address, 2, lane);
        product.locate(lane);
        panel.locate_results(lane);
        panel_address.emplace(panel.weights(weights));
    }

    void multiply_steps() {
        if (share.waves == 1) v_mov_b32(total, 0);
        if (layout.full_steps != 0) multiply_full_steps();
        if (layout.tail_blocks == 0) return;
        const Label done = label();
        s_cmp_lg_u32(wave, layout.full_steps % share.waves);
        s_cbranch_scc1(done);
        s_mov_b32(step, layout.full_steps);
        multiply_step(layout.tail);
        bind(done);
    }
    void multiply_full_steps() {
        const Label top = label(), done = label();
        s_mov_b32(step, wave);
        if (share.waves > layout.full_steps) {
            s_cmp_ge_u32(step, layout.full_steps);
            s_cbranch_scc1(done);
        }
        bind(top);
        multiply_step(layout.full);
        if (layout.full_steps > share.waves) {
            s_add_co_u32(step, step, share.waves);
            s_cmp_lt_u32(step, layout.full_steps);
            s_cbranch_scc1(top);
        }
        bind(done);
    }
    void multiply_step(const StepLayout& step_layout) {
        const Sgpr address = sgpr(2);
        s_mul_i32(bytes, step, layout.full.bytes());
        s_add_u64(address, *panel_address, bytes);
        codes.begin_step(step);
        product.multiply_step(step_layout, address, weights, codes);
        if (share.waves == 1) {
            const Sgpr scale = sgpr(), offset = sgpr();
            s_lshl_b32(offset, step, 2);
            s_load_b32(scale, *x_row, offset, scales_offset());
            v_fma_f32(total, product.block(), scale, total);
            return;
        }
        const Vgpr to = vgpr();
        s_mul_i32(bytes, step, kPanelRows * 4);
        v_add_nc_u32(to, bytes, lds_address);
        ds_store_b32(to, product.block(), blocks_lds);
    }

    // total = fma(block, scale of the activations, total), in the steps' order.
    void add_up_steps() {
        v_mov_b32(total, 0);
        for (uint32_t i = 0; i < share.steps; ++i) {
            const Vgpr block = vgpr();
            const Sgpr scale = sgpr();
            ds_load_b32(block, lds_address, blocks_lds + i * kPanelRows * 4);
            s_load_b32(scale, *x_row, scales_offset() + i * 4);
            v_fma_f32(total, block, scale, total);
        }
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const MatmulSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("matmul", target.wave_size));
    RIFTJIT_TRY_VOID(refuse_if(spec.order != KOrder::sequence, "matmul", "sums that are not in sequence"));
    RIFTJIT_TRY_VOID(refuse_if(spec.activations != Activations::i13, "matmul", "activations of 8 bits"));
    const uint32_t panels = (spec.rows + kPanelRows - 1) / kPanelRows;
    if (is_float(spec.weight)) return LaunchShape{kPanelRows, panels, float_matmul_rows(spec)};
    if (spec.form == MatmulForm::tile) return tile_matmul_shape(target.target, spec);
    const StepShare share(spec);
    RIFTJIT_TRY_VOID(refuse_if(share.lds_bytes() > kMaxLdsBytes, "matmul",
                               fmt::format("rows of {}: sums of {} steps do not fit LDS", spec.width, share.steps)));
    return LaunchShape{share.waves * kPanelRows, panels};
}

Result<KernelProgram> program_of(KernelTarget target, const MatmulSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    if (is_float(spec.weight)) return float_matmul_program(target, spec, options);
    if (spec.form == MatmulForm::tile) return tile_matmul_program(target, spec, options);
    return assemble<MatmulKernel>(target, spec, "matmul", options);
}

}  // namespace riftjit::rdna::kernels
