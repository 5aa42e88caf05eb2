// Products with one f32 row that each workgroup norms or quantises first, to LDS: the row is short, and a launch costs
// more. Where two products are gated, a workgroup has the same panel of both.
#include <algorithm>
#include <bit>

#include "jit/rdna/kernels/matmul.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/row_sums.h"
#include "jit/rdna/kernels/row_writer.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/rdna/kernels/validate.h"
#include "jit/rdna/kernels/vector_product.h"

namespace riftjit::rdna::kernels {
namespace {

// Codes of a step in LDS, which all lanes read alike.
class LdsCodes final : public CodeSource {
public:
    LdsCodes(KernelAssembler& kernel, uint32_t lds) : k_(kernel), lds_(lds), block_(kernel.vgpr()) {}

    void begin_step(Sgpr step) {
        const Sgpr offset = k_.sgpr();
        k_.s_mul_i32(offset, step, I16Row::kBlockBytes);
        k_.v_mov_b32(block_, offset);
    }
    void load(uint32_t first, uint32_t count, uint32_t group) override {
        high_ = load_dwords(count / 4, I16Row::kHighOffset + first);
        low_ = load_dwords(count / 4, I16Row::kLowOffset + first);
        sums_.clear();
        if (group == 0) return;
        const std::vector<Vgpr> sixteens = load_dwords(count / 16, I16Row::kSumsOffset + first / 4);
        for (uint32_t i = 0; i < count / 16; i += group / 16) {
            sums_.push_back(group == 16 ? sixteens[i] : k_.vgpr());
            if (group == 32) k_.v_add_nc_u32(sums_.back(), sixteens[i], sixteens[i + 1]);
        }
    }
    Argument high(uint32_t quad) const override { return high_[quad]; }
    Argument low(uint32_t quad) const override { return low_[quad]; }
    Argument sum(uint32_t group) const override { return sums_[group]; }
    void multiply_sum(Vgpr to, uint32_t group, int32_t factor) override { k_.v_mul_i32_i24(to, factor, sums_[group]); }

private:
    std::vector<Vgpr> load_dwords(uint32_t count, uint32_t offset) {
        std::vector<Vgpr> dwords;
        for (uint32_t i = 0; i < count;) {
            const uint32_t now = std::min(4u, count - i);
            const Vgpr part = k_.vgpr(now);
            k_.emit(now == 4 ? Opcode::ds_load_b128 : Opcode::ds_load_b64, {part, block_, lds_ + offset + i * 4});
            for (uint32_t j = 0; j < now; ++j) dwords.push_back(part[j]);
            i += now;
        }
        return dwords;
    }

    KernelAssembler& k_;
    const uint32_t lds_;
    const Vgpr block_;
    std::vector<Vgpr> high_, low_, sums_;
};

class FusedMatmulKernel final : public RdnaKernel<FusedMatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = waves * kPanelRows;
        panel.locate(bound[&FusedMatmulArgs::batch]);
        x_row.emplace(panel.row(bound[&FusedMatmulArgs::x], 0, f32_row_bytes(product_spec.width)));
        locate_lanes();
        write_codes();
        for (uint32_t i = 0; i < matrices; ++i) multiply_matrix(i);
        barrier();  // scales too, where a wave has all steps
        v_cmp_gt_u32(in_first_wave, kPanelRows, launch_lane());
        keep_lanes(in_first_wave);
        for (uint32_t i = 0; i < matrices; ++i) add_up_steps(i);
        if (gated) {
            const Vgpr gate = vgpr();
            emit_silu(*this, gate, totals[0]);
            v_mul_f32(totals[0], gate, totals[1]);
        }
        panel.store(bound[&FusedMatmulArgs::out], bound[&FusedMatmulArgs::bias], 0, totals[0]);
    }

private:
    const MatmulSpec& product_spec = spec_.product;
    const bool is_normed = spec_.source == RowSource::rms_norm, has_gain = spec_.gain == Presence::present;
    const bool gated = spec_.gating != Gating::none;
    const uint32_t matrices = gated ? 2 : 1;
    const PanelLayout layout{product_spec.weight, product_spec.width};
    const uint32_t steps = layout.steps(), waves = RowLanes::waves_for(product_spec.width);
    const I16Row codes_row{product_spec.width};

    // Register map.
    const BoundArguments<FusedMatmulArgs> bound = bind_arguments<FusedMatmulArgs>(
        {field("weights", &FusedMatmulArgs::weights), field("up_weights", &FusedMatmulArgs::up_weights),
         field("bias", &FusedMatmulArgs::bias), field("x", &FusedMatmulArgs::x), field("gain", &FusedMatmulArgs::gain),
         field("out", &FusedMatmulArgs::out), field("batch", &FusedMatmulArgs::batch)});
    const Sgpr gain = bound[&FusedMatmulArgs::gain];
    const Sgpr wave = sgpr(), step = sgpr(), bytes = sgpr(), in_first_wave = lane_mask();
    const Vgpr lane = vgpr(), lds_address = vgpr(), zero = vgpr(), totals[2] = {vgpr(), vgpr()};
    const uint32_t codes_lds = lds(codes_row.bytes());
    const uint32_t blocks_lds = lds(matrices * steps * kPanelRows * 4);
    std::optional<Sgpr> x_row;
    PanelRows panel{*this, product_spec, 1};
    VectorProduct product{*this, product_spec.weight};
    LdsCodes codes{*this, codes_lds};
    RowPieces pieces{*this, product_spec.width};
    std::optional<RowSums> row_sums = is_normed ? std::optional<RowSums>(std::in_place, *this, pieces) : std::nullopt;
    RowWriter writer{*this, RowFormat::i16, product_spec.width};

    void locate_lanes() {
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_lshrrev_b32(lds_address, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, lds_address);
        v_lshlrev_b32(lds_address, 2, lane);
        v_mov_b32(zero, 0);
        product.locate(lane);
        panel.locate_results(lane);
        pieces.locate(launch_lane());
        if (is_normed) row_sums->locate(launch_lane());
        writer.locate(launch_lane(), pieces.block());
    }

    // As rms_norm.cpp and quantize.cpp do; each wave leaves the steps that it multiplies itself.
    void write_codes() {
        pieces.for_each([&](RowLanes& lanes) {
            RowLanes::Quads gains;
            const RowLanes::Quads values = lanes.load(*x_row);
            if (is_normed) {
                if (has_gain) gains = lanes.load(gain);
                emit_rms_norm(*this, *row_sums, lanes, values, gains, spec_.epsilon);
                lanes.clear_outside(values);
            }
            writer.write_to_lds(lanes, values, codes_lds);
        });
    }
    void multiply_matrix(uint32_t matrix) {
        const Sgpr weights = matrix == 0 ? bound[&FusedMatmulArgs::weights] : bound[&FusedMatmulArgs::up_weights];
        const Sgpr address = panel.weights(weights);
        const Label top = label(), no_full = label(), done = label();
        if (layout.full_steps != 0) {
            s_mov_b32(step, wave);
            if (waves > layout.full_steps) {
                s_cmp_ge_u32(step, layout.full_steps);
                s_cbranch_scc1(no_full);
            }
            bind(top);
            multiply_step(layout.full, address, weights, matrix);
            if (layout.full_steps > waves) {
                s_add_co_u32(step, step, waves);
                s_cmp_lt_u32(step, layout.full_steps);
                s_cbranch_scc1(top);
            }
        } else {
            bind(top);
        }
        bind(no_full);
        if (layout.tail_blocks != 0) {
            s_cmp_lg_u32(wave, layout.full_steps % waves);
            s_cbranch_scc1(done);
            s_mov_b32(step, layout.full_steps);
            multiply_step(layout.tail, address, weights, matrix);
        }
        bind(done);
    }
    void multiply_step(const StepLayout& step_layout, Sgpr address, Sgpr grid, uint32_t matrix) {
        const Sgpr step_address = sgpr(2);
        s_mul_i32(bytes, step, layout.full.bytes());
        s_add_u64(step_address, address, bytes);
        codes.begin_step(step);
        product.multiply_step(step_layout, step_address, grid, codes);
        const Vgpr to = vgpr();
        s_mul_i32(bytes, step, kPanelRows * 4);
        v_add_nc_u32(to, bytes, lds_address);
        ds_store_b32(to, product.block(), blocks_lds + matrix * steps * kPanelRows * 4);
    }

    void add_up_steps(uint32_t matrix) {
        v_mov_b32(totals[matrix], 0);
        for (uint32_t i = 0; i < steps; ++i) {
            const Vgpr block = vgpr(), scale = vgpr();
            ds_load_b32(block, lds_address, blocks_lds + (matrix * steps + i) * kPanelRows * 4);
            ds_load_b32(scale, zero, codes_lds + codes_row.scales_offset_bytes() + i * 4);
            v_fma_f32(totals[matrix], block, scale, totals[matrix]);
        }
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const FusedMatmulSpec& spec) {
    const MatmulSpec& product = spec.product;
    RIFTJIT_TRY_VOID(check_wave32("fused_matmul", target.wave_size));
    RIFTJIT_TRY_VOID(refuse_if(product.order != KOrder::sequence, "fused_matmul", "sums that are not in sequence"));
    RIFTJIT_TRY_VOID(refuse_if(product.activations != Activations::i13, "fused_matmul", "activations of 8 bits"));
    if (is_float(product.weight)) return fused_float_shape(spec);
    // Longer rows are normed in pieces, and what a workgroup keeps of them in LDS would leave room for few.
    RIFTJIT_TRY_VOID(refuse_if(product.width > RowPieces::kPiece, "fused_matmul",
                               fmt::format("rows of {}, more than {}", product.width, RowPieces::kPiece)));
    return LaunchShape{RowLanes::waves_for(product.width) * kPanelRows, (product.rows + kPanelRows - 1) / kPanelRows};
}

Result<KernelProgram> program_of(KernelTarget target, const FusedMatmulSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    if (is_float(spec.product.weight)) return fused_float_program(target, spec, options);
    return assemble<FusedMatmulKernel>(target, spec, "fused_matmul", options);
}

}  // namespace riftjit::rdna::kernels
