#include <bit>

#include "host/round_up.h"
#include "jit/rdna/kernels/matmul.h"

namespace riftjit::rdna::kernels {

namespace {
uint32_t panels(const MatmulSpec& spec) { return (spec.rows + kPanelRows - 1) / kPanelRows; }
}  // namespace

Sgpr locate_panel(KernelAssembler& kernel, DType weight, uint32_t width, Sgpr matrix, Sgpr panel) {
    const Sgpr address = kernel.sgpr(2);
    kernel.s_mov_b64(address, matrix);
    kernel.s_advance(address, panel, uint32_t(panel_bytes(weight, width)));
    if (const auto grid = uint32_t(panels_offset_bytes(weight)); grid != 0) kernel.s_add_u64(address, address, grid);
    return address;
}

PanelRows::PanelRows(KernelAssembler& kernel, const MatmulSpec& spec, uint32_t rows)
    : k_(kernel),
      spec_(spec),
      rows_(rows),
      panel_(kernel.sgpr()),
      first_row_(kernel.sgpr()),
      last_row_(kernel.sgpr()),
      rows_left_(kernel.sgpr()),
      is_inside_(kernel.lane_mask()),
      result_(kernel.vgpr()) {}

void PanelRows::locate(Sgpr batch) {
    const Sgpr tile = k_.sgpr();
    if (rows_ > 1) k_.s_load_b32(last_row_, batch, offsetof(BatchState, rows));
    k_.s_divide_u32(tile, panel_, k_.launch_workgroup(), panels(spec_));
    k_.s_mul_i32(first_row_, tile, rows_);
    if (rows_ == 1) return;
    k_.s_sub_co_u32(rows_left_, last_row_, first_row_);
    k_.s_sub_co_u32(last_row_, last_row_, 1);
}

void PanelRows::locate_waves(Sgpr wave, uint32_t waves) {
    const uint32_t groups = (panels(spec_) + waves - 1) / waves;
    const Sgpr group = k_.sgpr();
    check(rows_ == 1, "waves have panels of their own for one row");
    k_.s_divide_u32(first_row_, group, k_.launch_workgroup(), groups);
    k_.s_mul_i32(panel_, group, waves);
    k_.s_add_co_u32(panel_, panel_, wave);
}

// Waves without a panel read the last one's, and store nothing.
Sgpr PanelRows::weights(Sgpr matrix) {
    const Sgpr panel = k_.sgpr();
    k_.s_min_u32(panel, panel_, panels(spec_) - 1);
    return locate_panel(k_, spec_.weight, spec_.width, matrix, panel);
}

Sgpr PanelRows::row(Sgpr rows, uint32_t row, uint32_t stride_bytes) {
    const Sgpr address = k_.sgpr(2), number = k_.sgpr();
    if (rows_ > 1) {
        k_.s_add_co_u32(number, first_row_, row);
        k_.s_min_u32(number, number, last_row_);
        k_.s_mul_i32(number, number, stride_bytes);
    } else {
        k_.s_mul_i32(number, first_row_, stride_bytes);
    }
    k_.s_add_u64(address, rows, number);
    return address;
}

void PanelRows::locate_results(Vgpr lane) {
    const Sgpr first = k_.sgpr();
    k_.s_lshl_b32(first, panel_, std::countr_zero(kPanelRows));
    k_.v_add_nc_u32(result_, first, lane);
    k_.v_cmp_gt_u32(is_inside_, uint32_t(round_up(spec_.rows, 16)), result_);
    k_.v_lshlrev_b32(result_, 2, result_);
}

void PanelRows::store(Sgpr out, Sgpr bias, uint32_t row, Vgpr value) {
    const Label skip = k_.label();
    if (row != 0) {
        k_.s_cmp_le_u32(rows_left_, row);
        k_.s_cbranch_scc1(skip);
    }
    const Sgpr offset = k_.sgpr(), address = k_.sgpr(2);
    k_.s_add_co_u32(offset, first_row_, row);
    k_.s_mul_i32(offset, offset, spec_.out_stride * 4);
    k_.s_add_u64(address, out, offset);
    k_.if_lanes(is_inside_, [&] {
        const Vgpr other = k_.vgpr();
        if (spec_.bias == Presence::present) {
            k_.global_load_b32(other, result_, bias);
            k_.v_add_f32(value, value, other);
        }
        if (spec_.epilogue == Epilogue::accumulate) {
            k_.global_load_b32(other, result_, address);
            k_.v_add_f32(value, value, other);
        }
        k_.global_store_b32(result_, value, address);
    });
    k_.bind(skip);
}

}  // namespace riftjit::rdna::kernels
