#include <algorithm>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

// Four waves per tile of 32 x 32, a quarter of 16 x 16 each, 16 of k per round. Both operands lie in LDS as rows of 16
// halves; a row is padded to 48 bytes so that the 16 rows that one instruction reads begin in different banks.
class MatmulF16Kernel final : public RdnaKernel<MatmulF16Spec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        locate_tile();
        locate_lane();
        accumulate();
        store_tile();
    }

private:
    static constexpr unsigned kTile = 32, kDepth = 16, kRowBytes = kDepth * 2, kPaddedRow = 48;

    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr a = sgpr(2), b = sgpr(2), c = sgpr(2);
    const Sgpr tile_row = sgpr(), tile_column = sgpr(), bytes = sgpr(), round = sgpr();
    // Staging: a lane carries 8 bytes of each operand from global memory to LDS.
    const Vgpr global_offset = vgpr(), stage_address = vgpr(), staged_a = vgpr(2), staged_b = vgpr(2);
    // Multiplying: where the lane's row of A and column of B begin.
    const Vgpr a_address = vgpr(), b_address = vgpr(), half = vgpr(), column = vgpr(), scratch = vgpr();
    const Vgpr sums = vgpr(8);
    const uint32_t lds_a = lds(kTile * kPaddedRow), lds_b = lds(kTile * kPaddedRow);

    bool has_wmma() const { return generation() != Generation::gfx10; }

    void describe_arguments() {
        header_.args = {buffer("a", offsetof(MatmulF16Args, a)), buffer("b", offsetof(MatmulF16Args, b)),
                        buffer("c", offsetof(MatmulF16Args, c))};
        header_.kernarg_size = sizeof(MatmulF16Args);
        header_.max_flat_workgroup_size = 128;
    }
    void load_pointers() {
        s_load_b64(a, args, offsetof(MatmulF16Args, a));
        s_load_b64(b, args, offsetof(MatmulF16Args, b));
        s_load_b64(c, args, offsetof(MatmulF16Args, c));
    }
    void locate_tile() {
        const unsigned tiles_across = spec_.n / kTile;
        s_divide_u32(tile_row, workgroup, tiles_across);
        s_mul_i32(tile_column, tile_row, tiles_across);
        s_sub_co_u32(tile_column, workgroup, tile_column);
        s_mul_i32(bytes, tile_row, kTile * spec_.k * 2);
        s_add_u64(a, a, bytes);
        s_mul_i32(bytes, tile_column, kTile * spec_.k * 2);
        s_add_u64(b, b, bytes);
        s_mul_i32(bytes, tile_row, kTile * spec_.n * 4);
        s_add_u64(c, c, bytes);
        s_mul_i32(bytes, tile_column, kTile * 4);
        s_add_u64(c, c, bytes);
    }
    void locate_lane() {
        // Staging: row lane / 4, quarter lane % 4.
        v_lshrrev_b32(scratch, 2, lane);
        v_and_b32(global_offset, 3, lane);
        v_lshlrev_b32(global_offset, 3, global_offset);
        v_mad_u32_u24(stage_address, scratch, kPaddedRow, global_offset);
        v_mad_u32_u24(global_offset, scratch, spec_.k * 2, global_offset);
        // Multiplying: wave w takes rows 16 (w / 2) and columns 16 (w % 2) of the tile.
        v_and_b32(column, 15, lane);
        v_bfe_u32(half, lane, 4, 1);
        v_bfe_u32(scratch, lane, 6, 1);
        v_lshl_or_b32(a_address, scratch, 4, column);
        v_bfe_u32(scratch, lane, 5, 1);
        v_lshl_or_b32(column, scratch, 4, column);
        v_mul_u32_u24(b_address, kPaddedRow, column);
        v_mul_u32_u24(a_address, kPaddedRow, a_address);
        for (unsigned i = 0; i < 8; ++i) v_mov_b32(sums[i], 0);
    }
    void accumulate() {
        loop(round, 0, spec_.k / kDepth, 1, [&] {
            global_load_b64(staged_a, global_offset, a);
            global_load_b64(staged_b, global_offset, b);
            v_add_nc_u32(global_offset, kRowBytes, global_offset);
            barrier();  // nobody reads the last round's operands any more
            ds_store_b64(stage_address, staged_a, lds_a);
            ds_store_b64(stage_address, staged_b, lds_b);
            barrier();
            switch (generation()) {
                case Generation::gfx10:
                    multiply_by_dot();
                    break;
                case Generation::gfx11:
                    multiply_gfx11();
                    break;
                case Generation::gfx12:
                    multiply_gfx12();
                    break;
            }
        });
    }
    // Each lane holds all of k; lanes 16 to 31 repeat lanes 0 to 15, which their addresses see to.
    void multiply_gfx11() {
        const Vgpr rows = vgpr(8), columns = vgpr(8);
        for (unsigned i = 0; i < 2; ++i) {
            ds_load_b128(rows.part(4 * i, 4), a_address, lds_a + 16 * i);
            ds_load_b128(columns.part(4 * i, 4), b_address, lds_b + 16 * i);
        }
        v_wmma_f32_16x16x16_f16_gfx11(sums, rows, columns, sums);
    }
    // The upper half of the wave holds k from 8 on.
    void multiply_gfx12() {
        const Vgpr rows = vgpr(4), columns = vgpr(4), address = vgpr();
        v_lshl_add_u32(address, half, 4, a_address);
        ds_load_b128(rows, address, lds_a);
        v_lshl_add_u32(address, half, 4, b_address);
        ds_load_b128(columns, address, lds_b);
        v_wmma_f32_16x16x16_f16(sums, rows, columns, sums);
    }
    // No matrix unit: the lane forms its eight sums one by one, the rows that gfx12's layout gives it.
    void multiply_by_dot() {
        const Vgpr rows = vgpr(8), columns = vgpr(8), address = vgpr();
        for (unsigned i = 0; i < 2; ++i) ds_load_b128(columns.part(4 * i, 4), b_address, lds_b + 16 * i);
        v_bfe_u32(address, lane, 6, 1);
        v_lshlrev_b32(address, 4, address);
        v_lshl_or_b32(address, half, 3, address);
        v_mul_u32_u24(address, kPaddedRow, address);
        for (unsigned row = 0; row < 8; ++row) {
            for (unsigned i = 0; i < 2; ++i)
                ds_load_b128(rows.part(4 * i, 4), address, lds_a + row * kPaddedRow + 16 * i);
            for (unsigned i = 0; i < 8; ++i) dot2_f16(sums[row], rows[i], columns[i]);
        }
    }
    // Sum v of a lane is row 2 v + half on gfx11, v + 8 half otherwise (facts of WMMA's D).
    void store_tile() {
        const bool interleaved = generation() == Generation::gfx11;
        const Vgpr row = vgpr(), offset = vgpr();
        v_bfe_u32(row, lane, 6, 1);
        v_lshlrev_b32(row, 4, row);
        v_lshl_or_b32(row, half, interleaved ? 0 : 3, row);
        v_mul_u32_u24(offset, spec_.n * 4, row);
        v_lshl_add_u32(offset, column, 2, offset);
        for (unsigned v = 0; v < 8; ++v) {
            global_store_b32(offset, sums[v], c);
            if (v != 7) v_add_nc_u32(offset, (interleaved ? 2 : 1) * spec_.n * 4, offset);
        }
    }
};

}  // namespace

Result<KernelProgram> matmul_f16(KernelTarget target, const MatmulF16Spec& spec, PassOptions options) {
    if (target.wave_size != WaveSize::wave32)
        return fail(ErrorKind::Unsupported, "matmul_f16: only for waves of 32 lanes");
    RIFTJIT_TRY_VOID(check_multiple("matmul_f16", "row count m", spec.m, 32));
    RIFTJIT_TRY_VOID(check_multiple("matmul_f16", "column count n", spec.n, 32));
    RIFTJIT_TRY_VOID(check_multiple("matmul_f16", "depth k", spec.k, 16));
    const uint64_t largest =
        std::max({uint64_t{spec.m} * spec.k * 2, uint64_t{spec.n} * spec.k * 2, uint64_t{spec.m} * spec.n * 4});
    RIFTJIT_TRY_VOID(check_at_most("matmul_f16", "bytes of a matrix", largest, kMaxBufferBytes));
    return assemble<MatmulF16Kernel>(target, spec, "matmul_f16", options);
}

}  // namespace riftjit::rdna::kernels
