// Matrix times one row, quantised weights: a lane is a row of the matrix, as on the processor, so that sums over k
// have its order and no lane needs another's.
//
// The waves of a workgroup share a panel out step by step (of 256 elements), and the workgroup at last adds up what
// each step came to, in the steps' order. Codes of activations come through scalar loads: a dot product takes four of
// them from an SGPR, and so one read of the row serves all lanes. A code is 128 * high + low (jit/kernel_spec.h): two
// dot products, whose sums are exact.
#include "jit/rdna/kernels/matmul.h"

#include <algorithm>
#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/quad_decoder.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/rdna/kernels/validate.h"

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

class MatmulKernel final : public PanelKernel {
public:
    MatmulKernel(KernelTarget target, const MatmulSpec& spec, std::string name)
        : PanelKernel(target, spec, std::move(name), 1) {}

    void generate() override {
        header_.max_flat_workgroup_size = share.waves * kPanelRows;
        locate_panel();
        locate_lanes();
        multiply_steps();
        if (share.waves > 1) {
            barrier();
            v_cmp_gt_u32(in_first_wave, kPanelRows, launch_lane());
            keep_lanes(in_first_wave);
            add_up_steps();
        }
        store_row(0, total);
    }

private:
    const StepShare share{spec_};
    const PanelLayout layout{spec_.weight, spec_.width};
    const WeightFormat& format = weight_format(spec_.weight);
    const Summation sums = summation(format, kI16Max, kStepElements);
    const I16Row x_layout{spec_.width};

    // Register map.
    const Sgpr wave = sgpr(), step = sgpr(), step_base = sgpr(2), x_step = sgpr(), bytes = sgpr(),
               in_first_wave = lane_mask();
    const Vgpr lane = vgpr(), lds_address = vgpr();
    const StringOffsets offsets{vgpr(), vgpr(), vgpr()};
    // Sums of products with high and low digits, of minima, and what a step comes to.
    const Vgpr high = vgpr(), low = vgpr(), minima = vgpr(), block = vgpr(), total = vgpr();
    const uint32_t blocks_lds = share.waves > 1 ? lds(share.lds_bytes()) : 0;

    void locate_lanes() {
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_lshlrev_b32(offsets.chunk, 4, lane);
        v_lshlrev_b32(offsets.half, 1, lane);
        v_lshrrev_b32(lds_address, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, lds_address);
        v_lshlrev_b32(lds_address, 2, lane);
        locate_row(lane);
    }
    void set_rest_offsets(const StepLayout& step) {
        if (step.rest() != 0) v_mul_u32_u24(offsets.rest, step.rest() * 4, lane);
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
        s_mul_i32(bytes, step, layout.full.bytes());
        s_add_u64(step_base, panel_address, bytes);
        set_rest_offsets(step_layout);
        StepString string(*this, step_layout, step_base, offsets);
        string.load();
        s_mul_i32(x_step, step, I16Row::kBlockBytes);
        QuadDecoder decoder(*this, spec_.weight, step_layout, string, weights);

        v_mov_b32(block, 0);
        if (decoder.has_minimum()) v_mov_b32(minima, 0);
        constexpr uint32_t kPart = 64;  // as many codes as SGPRs take at once
        for (uint32_t first = 0; first < step_layout.elements; first += kPart)
            multiply_part(decoder, first, std::min(kPart, step_layout.elements - first), step_layout.elements);
        finish_step(decoder);
    }

    // Elements [first, first + count) of the step.
    void multiply_part(QuadDecoder& decoder, uint32_t first, uint32_t count, uint32_t elements) {
        const Sgpr high_codes = load_codes(I16Row::kHighOffset + first, count),
                   low_codes = load_codes(I16Row::kLowOffset + first, count);
        const bool needs_sums = decoder.zero_point() != 0 || decoder.has_minimum() || decoder.has_offset();
        const std::vector<Sgpr> code_sums = needs_sums ? load_sums(first, count) : std::vector<Sgpr>();
        for (uint32_t begin = first; begin < first + count; begin += sums.group) {
            const uint32_t end = begin + sums.group;
            const Sgpr code_sum = needs_sums ? code_sums[(begin - first) / sums.group] : bytes;  // or nobody asks
            sum_group(decoder, begin, code_sum, [&](Vgpr high_sum, Vgpr low_sum) {
                for (uint32_t element = begin; element < end; element += 4) {
                    const Vgpr quad = decoder.quad(element).bytes;
                    dot4_i8(high_sum, quad, high_codes[(element - first) / 4]);
                    dot4_i8(low_sum, quad, low_codes[(element - first) / 4]);
                }
            });
            if (decoder.has_minimum()) {
                const Vgpr sum = vgpr();
                v_mov_b32(sum, code_sum);
                v_mad_i32_i24(minima, decoder.minimum(begin), sum, minima);
            }
            if (end % sums.segment != 0 && end != elements) continue;
            finish_segment(decoder.scale(begin));
            if (decoder.has_offset()) add_offset(decoder.offset(begin), code_sum);
        }
    }

    // high and low (+)= multiplier * the sums of the group's products with each digit, less the zero point's share.
    template <class Dots>
    void sum_group(QuadDecoder& decoder, uint32_t begin, Sgpr code_sum, const Dots& add_dots) {
        const bool begins_segment = begin % sums.segment == 0;
        const int32_t zero_point = decoder.zero_point();
        if (zero_point != 0) s_mul_i32(bytes, code_sum, -zero_point);
        const auto start = [&](Vgpr high_sum, Vgpr low_sum) {
            v_mov_b32(high_sum, 0);
            zero_point != 0 ? v_mov_b32(low_sum, bytes) : v_mov_b32(low_sum, 0);
        };
        if (!decoder.has_multiplier()) {
            if (begins_segment)
                start(high, low);
            else if (zero_point != 0)
                v_add_nc_u32(low, bytes, low);
            return add_dots(high, low);
        }
        const Vgpr high_sum = vgpr(), low_sum = vgpr(), multiplier = decoder.multiplier(begin);
        start(high_sum, low_sum);
        add_dots(high_sum, low_sum);
        if (begins_segment) {
            v_mul_i32_i24(high, high_sum, multiplier);
            v_mul_i32_i24(low, low_sum, multiplier);
        } else {
            v_mad_i32_i24(high, high_sum, multiplier, high);
            v_mad_i32_i24(low, low_sum, multiplier, low);
        }
    }
    void finish_segment(Vgpr scale) {
        const Vgpr sum = vgpr();
        v_lshl_add_u32(sum, high, 7, low);
        v_cvt_f32_i32(sum, sum);
        v_fmac_f32(block, sum, scale);
    }
    void add_offset(Vgpr offset, Sgpr code_sum) {
        const Vgpr sum = vgpr();
        v_cvt_f32_i32(sum, code_sum);
        v_fmac_f32(block, sum, offset);
    }
    void finish_step(QuadDecoder& decoder) {
        if (decoder.has_minimum()) {
            const Vgpr sum = vgpr();
            v_cvt_f32_i32(sum, minima);
            v_fma_f32(block, -sum, decoder.minimum_scale(0), block);
        }
        if (share.waves == 1) {
            const Sgpr scale = sgpr(), offset = sgpr();
            s_lshl_b32(offset, step, 2);
            s_load_b32(scale, x_row(0), offset, x_layout.scales_offset_bytes());
            v_fma_f32(total, block, scale, total);
            return;
        }
        const Vgpr address = vgpr();
        s_mul_i32(bytes, step, kPanelRows * 4);
        v_add_nc_u32(address, bytes, lds_address);
        ds_store_b32(address, block, blocks_lds);
    }

    // Four in each register.
    Sgpr load_codes(uint32_t offset, uint32_t count) {
        const Sgpr codes = sgpr(count / 4);
        load_scalars(codes, offset);
        return codes;
    }
    // Of each group.
    std::vector<Sgpr> load_sums(uint32_t first, uint32_t count) {
        const Sgpr sixteens = sgpr(count / 16);
        load_scalars(sixteens, I16Row::kSumsOffset + first / 4);
        std::vector<Sgpr> result;
        for (uint32_t i = 0; i < count / 16; i += sums.group / 16) {
            if (sums.group == 16) {
                result.push_back(sixteens[i]);
                continue;
            }
            result.push_back(sgpr());
            s_add_co_i32(result.back(), sixteens[i], sixteens[i + 1]);
        }
        return result;
    }
    // Of the step's block of the row.
    void load_scalars(Sgpr to, uint32_t offset) {
        const Opcode load = to.dwords() == 16  ? Opcode::s_load_b512
                            : to.dwords() == 8 ? Opcode::s_load_b256
                            : to.dwords() == 4 ? Opcode::s_load_b128
                                               : Opcode::s_load_b64;
        emit(load, {to, x_row(0), x_step, offset});
    }

    // total = fma(block, scale of the activations, total), in the steps' order.
    void add_up_steps() {
        v_mov_b32(total, 0);
        for (uint32_t i = 0; i < share.steps; ++i) {
            const Vgpr step_block = vgpr();
            const Sgpr scale = sgpr();
            ds_load_b32(step_block, lds_address, blocks_lds + i * kPanelRows * 4);
            s_load_b32(scale, x_row(0), x_layout.scales_offset_bytes() + i * 4);
            v_fma_f32(total, step_block, scale, total);
        }
    }
};

}  // namespace

// ---- what both kinds share ------------------------------------------------------------------------------------------

PanelKernel::PanelKernel(KernelTarget target, const MatmulSpec& spec, std::string name, uint32_t rows)
    : RdnaKernel(target, spec, std::move(name)), rows_per_group(rows) {
    for (uint32_t row = 0; row < rows; ++row) x_rows_.push_back(sgpr(2));
}

// Of a tile whose last rows are missing the last one there is stands for them.
void PanelKernel::locate_panel() {
    const uint32_t panels = (spec_.rows + kPanelRows - 1) / kPanelRows;
    const Sgpr tile = sgpr(), offset = sgpr(2), last_row = sgpr(), row = sgpr();
    s_load_b32(last_row, batch, offsetof(BatchState, rows));
    s_divide_u32(tile, launch_workgroup(), panels);
    s_mul_i32(panel, tile, panels);
    s_sub_co_u32(panel, launch_workgroup(), panel);
    const auto bytes = uint32_t(panel_bytes(spec_.weight, spec_.width));
    s_mul_i32(offset[0], panel, bytes);
    s_mul_hi_u32(offset[1], panel, bytes);
    s_add_co_u32(panel_address[0], weights[0], offset[0]);
    s_add_co_ci_u32(panel_address[1], weights[1], offset[1]);
    s_add_u64(panel_address, panel_address, uint32_t(panels_offset_bytes(spec_.weight)));
    s_mul_i32(first_row, tile, rows_per_group);
    s_sub_co_u32(rows_left, last_row, first_row);
    s_sub_co_u32(last_row, last_row, 1);
    for (uint32_t i = 0; i < rows_per_group; ++i) {
        s_add_co_u32(row, first_row, i);
        s_min_u32(row, row, last_row);
        s_mul_i32(offset[0], row, x_stride_bytes());
        s_add_u64(x_rows_[i], x, offset[0]);
    }
}

uint32_t PanelKernel::x_stride_bytes() const {
    return is_float(spec_.weight) ? f32_row_bytes(spec_.width) : I16Row{spec_.width}.bytes();
}

void PanelKernel::locate_row(Vgpr lane) {
    const Sgpr first = sgpr();
    s_lshl_b32(first, panel, std::countr_zero(kPanelRows));
    v_add_nc_u32(out_row, first, lane);
    v_cmp_gt_u32(is_inside, uint32_t(round_up(spec_.rows, 16)), out_row);
    v_lshlrev_b32(out_row, 2, out_row);
}

void PanelKernel::store_row(uint32_t row, Vgpr value) {
    const Label skip = label();
    if (row != 0) {
        s_cmp_le_u32(rows_left, row);
        s_cbranch_scc1(skip);
    }
    const Sgpr offset = sgpr(), address = sgpr(2);
    s_add_co_u32(offset, first_row, row);
    s_mul_i32(offset, offset, spec_.out_stride * 4);
    s_add_u64(address, out, offset);
    if_lanes(is_inside, [&] {
        const Vgpr other = vgpr();
        if (spec_.bias == Presence::present) {
            global_load_b32(other, out_row, bias);
            v_add_f32(value, value, other);
        }
        if (spec_.epilogue == Epilogue::accumulate) {
            global_load_b32(other, out_row, address);
            v_add_f32(value, value, other);
        }
        global_store_b32(out_row, value, address);
    });
    bind(skip);
}

Result<LaunchShape> shape_of(KernelTarget target, const MatmulSpec& spec) {
    RIFTJIT_TRY_VOID(refuse_if(target.wave_size != WaveSize::wave32, "matmul", "waves of 64 lanes"));
    RIFTJIT_TRY_VOID(refuse_if(spec.order != KOrder::sequence, "matmul", "sums that are not in sequence"));
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
