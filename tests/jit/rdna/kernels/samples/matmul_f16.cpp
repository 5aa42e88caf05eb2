#include <algorithm>

#include "jit/rdna/emit/matrix_tile.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

// Four waves per tile of 32 x 32, a quarter of 16 x 16 each, 16 of k per round. Both operands lie in LDS as rows of 16
// halves; a row is padded to 48 bytes so that the 16 rows that one instruction reads begin in different banks.
class MatmulF16Kernel final : public RdnaKernel<MatmulF16Spec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 128;
        locate_tile();
        locate_lane();
        accumulate();
        store_tile();
    }

private:
    static constexpr unsigned kTile = 32, kDepth = MatrixTile::kDepth, kRowBytes = kDepth * 2, kPaddedRow = 48;

    const BoundArguments<MatmulF16Args> bound = bind_arguments<MatmulF16Args>(
        {field("a", &MatmulF16Args::a), field("b", &MatmulF16Args::b), field("c", &MatmulF16Args::c)});
    const Sgpr a = bound[&MatmulF16Args::a], b = bound[&MatmulF16Args::b], c = bound[&MatmulF16Args::c];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr tile_row = sgpr(), tile_column = sgpr(), bytes = sgpr(), round = sgpr();
    // Staging: a lane carries 8 bytes of each operand from global memory to LDS.
    const Vgpr global_offset = vgpr(), stage_address = vgpr(), staged_a = vgpr(2), staged_b = vgpr(2);
    // Multiplying: the wave's quarter, and what the lane loads of it.
    const Vgpr first_row = vgpr(), first_column = vgpr(), a_address = vgpr(), b_address = vgpr();
    const Vgpr sums = vgpr(MatrixTile::kSums);
    const uint32_t lds_a = lds(kTile * kPaddedRow), lds_b = lds(kTile * kPaddedRow);
    MatrixTile quarter{*this, kPaddedRow};

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
        const Vgpr row = vgpr();
        v_lshrrev_b32(row, 2, lane);
        v_and_b32(global_offset, 3, lane);
        v_lshlrev_b32(global_offset, 3, global_offset);
        v_mad_u32_u24(stage_address, row, kPaddedRow, global_offset);
        v_mad_u32_u24(global_offset, row, spec_.k * 2, global_offset);
        // Multiplying: wave w takes rows 16 (w / 2) and columns 16 (w % 2) of the tile.
        v_bfe_u32(first_row, lane, 6, 1);
        v_lshlrev_b32(first_row, 4, first_row);
        v_bfe_u32(first_column, lane, 5, 1);
        v_lshlrev_b32(first_column, 4, first_column);
        quarter.locate_lane(lane);
        quarter.locate_rows(a_address, first_row);
        quarter.locate_columns(b_address, first_column);
        for (unsigned i = 0; i < MatrixTile::kSums; ++i) v_mov_b32(sums[i], 0);
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
            quarter.multiply_add(sums, a_address, lds_a, b_address, lds_b);
        });
    }
    void store_tile() {
        const Vgpr row = vgpr(), column = vgpr(), offset = vgpr();
        quarter.row_of_first_sum(row, first_row);
        quarter.column_of_sums(column, first_column);
        v_mul_u32_u24(offset, spec_.n * 4, row);
        v_lshl_add_u32(offset, column, 2, offset);
        for (unsigned i = 0; i < MatrixTile::kSums; ++i) {
            global_store_b32(offset, sums[i], c);
            if (i + 1 != MatrixTile::kSums) v_add_nc_u32(offset, quarter.row_step() * spec_.n * 4, offset);
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
