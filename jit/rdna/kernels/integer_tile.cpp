#include "jit/rdna/kernels/integer_tile.h"

namespace riftjit::rdna::kernels {

// gfx10 reads whole rows, eight of A for each half of the lanes and one of B; gfx11 one row of each, lanes 16 to 31 the
// same as 0 to 15; gfx12 half the bytes of a row each half of the lanes.
void IntegerTile::locate(Vgpr rows, Vgpr columns, Vgpr lane) {
    const Vgpr half = k_.vgpr(), index = k_.vgpr();
    k_.v_and_b32(index, kSize - 1, lane);
    k_.v_mul_u32_u24(columns, row_bytes_, index);
    k_.v_bfe_u32(half, lane, 4, 1);
    if (is(Generation::gfx10)) return k_.v_mul_u32_u24(rows, row_bytes_ * kSums, half);
    if (is(Generation::gfx12)) k_.v_lshl_add_u32(columns, half, depth_ == 32 ? 4 : 3, columns);
    k_.v_mov_b32(rows, columns);
}

std::vector<Vgpr> IntegerTile::load(Vgpr address, uint32_t lds) {
    std::vector<Vgpr> parts;
    const auto load_bytes = [&](uint32_t bytes, uint32_t offset) {
        parts.push_back(k_.vgpr(bytes / 4));
        k_.emit(bytes == 16 ? Opcode::ds_load_b128 : Opcode::ds_load_b64, {parts.back(), address, offset});
    };
    if (is(Generation::gfx12))
        load_bytes(depth_ / 2, lds);
    else
        for (uint32_t k = 0; k < depth_; k += 16) load_bytes(16, lds + k);
    return parts;
}

IntegerTile::Columns IntegerTile::load_columns(Vgpr address, uint32_t lds) { return load(address, lds); }

std::vector<Vgpr> IntegerTile::multiply(Vgpr rows_address, uint32_t rows_lds, const std::vector<Columns>& columns) {
    if (is(Generation::gfx10)) return multiply_by_dots(rows_address, rows_lds, columns);
    constexpr Negate kSigned{.low = 3};
    const std::vector<Vgpr> rows = load(rows_address, rows_lds);
    std::vector<Vgpr> results;
    for (const Columns& column : columns) {
        const Vgpr sums = k_.vgpr(kSums);
        Argument addend(0);
        const auto multiply_add = [&](Vgpr a, Vgpr b) {
            if (is(Generation::gfx11))
                k_.v_wmma_i32_16x16x16_iu8_gfx11(sums, a, b, addend, kSigned);
            else
                k_.v_wmma_i32_16x16x16_iu8(sums, a, b, addend, kSigned);
            addend = Argument(sums);
        };
        const unsigned dwords = is(Generation::gfx11) ? 4 : 2;  // of each operand
        for (size_t part = 0; part < rows.size(); ++part)
            for (unsigned first = 0; first < rows[part].dwords(); first += dwords)
                multiply_add(rows[part].part(first, dwords), column[part].part(first, dwords));
        results.push_back(sums);
    }
    return results;
}

// Row by row, for registers' sake.
std::vector<Vgpr> IntegerTile::multiply_by_dots(Vgpr rows_address, uint32_t rows_lds,
                                                const std::vector<Columns>& columns) {
    std::vector<Vgpr> results;
    for (size_t c = 0; c < columns.size(); ++c) results.push_back(k_.vgpr(kSums));
    for (uint32_t row = 0; row < kSums; ++row) {
        const std::vector<Vgpr> parts = load(rows_address, rows_lds + row * row_bytes_);
        for (size_t c = 0; c < columns.size(); ++c) {
            const Vgpr sum = results[c][row];
            k_.v_mov_b32(sum, 0);
            for (size_t part = 0; part < parts.size(); ++part)
                for (unsigned i = 0; i < 4; ++i) k_.dot4_i8(sum, columns[c][part][i], parts[part][i]);
        }
    }
    return results;
}

}  // namespace riftjit::rdna::kernels
