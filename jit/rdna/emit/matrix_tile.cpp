#include "jit/rdna/emit/matrix_tile.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kKBytes = MatrixTile::kDepth * 2;

}  // namespace

MatrixTile::MatrixTile(KernelAssembler& kernel, unsigned row_bytes)
    : kernel_(kernel), row_bytes_(row_bytes), index_(kernel.vgpr()), half_(kernel.vgpr()) {}

void MatrixTile::locate_lane(Vgpr lane) {
    kernel_.v_and_b32(index_, kSize - 1, lane);
    kernel_.v_bfe_u32(half_, lane, 4, 1);
}

void MatrixTile::locate_rows(Vgpr address, Vgpr first_row) {
    if (generation() != Generation::gfx10) return locate_columns(address, first_row);
    row_of_first_sum(address, first_row);
    kernel_.v_mul_u32_u24(address, row_bytes_, address);
}

void MatrixTile::locate_columns(Vgpr address, Vgpr first_column) {
    column_of_sums(address, first_column);
    kernel_.v_mul_u32_u24(address, row_bytes_, address);
    if (generation() == Generation::gfx12) kernel_.v_lshl_add_u32(address, half_, 4, address);
}

void MatrixTile::multiply_add(Vgpr sums, Vgpr rows_address, uint32_t rows_lds, Vgpr columns_address,
                              uint32_t columns_lds) {
    if (generation() == Generation::gfx10)
        return multiply_by_dots(sums, rows_address, rows_lds, columns_address, columns_lds);
    const bool is_gfx11 = generation() == Generation::gfx11;
    const unsigned dwords = is_gfx11 ? kKBytes / 4 : kKBytes / 8;
    const Vgpr rows = load(rows_address, rows_lds, dwords), columns = load(columns_address, columns_lds, dwords);
    if (is_gfx11)
        kernel_.v_wmma_f32_16x16x16_f16_gfx11(sums, rows, columns, sums);
    else
        kernel_.v_wmma_f32_16x16x16_f16(sums, rows, columns, sums);
}

Vgpr MatrixTile::load(Vgpr address, uint32_t lds, unsigned dwords) {
    const Vgpr values = kernel_.vgpr(dwords);
    for (unsigned i = 0; i < dwords; i += 4) kernel_.ds_load_b128(values.part(i, 4), address, lds + 4 * i);
    return values;
}

void MatrixTile::multiply_by_dots(Vgpr sums, Vgpr rows_address, uint32_t rows_lds, Vgpr columns_address,
                                  uint32_t columns_lds) {
    const Vgpr columns = load(columns_address, columns_lds, kKBytes / 4);
    for (unsigned row = 0; row < kSums; ++row) {
        const Vgpr rows = load(rows_address, rows_lds + row * row_bytes_, kKBytes / 4);
        for (unsigned i = 0; i < kKBytes / 4; ++i) kernel_.dot2_f16(sums[row], rows[i], columns[i]);
    }
}

void MatrixTile::column_of_sums(Vgpr column, Vgpr first_column) { kernel_.v_add_nc_u32(column, first_column, index_); }

void MatrixTile::row_of_first_sum(Vgpr row, Vgpr first_row) {
    kernel_.v_lshl_add_u32(row, half_, generation() == Generation::gfx11 ? 0 : 3, first_row);
}

unsigned MatrixTile::row_step() const { return generation() == Generation::gfx11 ? 2 : 1; }

}  // namespace riftjit::rdna
