#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

// Eight rows of the tile at a time, coalesced on both sides; a row of 33 dwords keeps the columns in different banks.
class TransposeKernel final : public RdnaKernel<TransposeSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        locate_tile();
        locate_lane();
        load_tile();
        store_tile();
    }

private:
    static constexpr unsigned kTile = 32, kLanes = 256, kRowsAtOnce = kLanes / kTile, kSteps = kTile / kRowsAtOnce;
    static constexpr unsigned kPaddedRow = (kTile + 1) * 4;

    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr in = sgpr(2), out = sgpr(2), tile_row = sgpr(), tile_column = sgpr(), bytes = sgpr();
    const Vgpr row = vgpr(), column = vgpr(), offset = vgpr(), address = vgpr(), values = vgpr(kSteps);
    const uint32_t tile = lds(kTile * kPaddedRow);

    void describe_arguments() {
        header_.args = {buffer("in", offsetof(TransposeArgs, in)), buffer("out", offsetof(TransposeArgs, out))};
        header_.kernarg_size = sizeof(TransposeArgs);
        header_.max_flat_workgroup_size = kLanes;
    }
    void load_pointers() {
        s_load_b64(in, args, offsetof(TransposeArgs, in));
        s_load_b64(out, args, offsetof(TransposeArgs, out));
    }
    void locate_tile() {
        const unsigned tiles_across = spec_.columns / kTile;
        s_divide_u32(tile_row, workgroup, tiles_across);
        s_mul_i32(tile_column, tile_row, tiles_across);
        s_sub_co_u32(tile_column, workgroup, tile_column);
        advance(in, tile_row, kTile * spec_.columns * 4);
        advance(in, tile_column, kTile * 4);
        advance(out, tile_column, kTile * spec_.rows * 4);
        advance(out, tile_row, kTile * 4);
    }
    void advance(Sgpr pointer, Sgpr tiles, unsigned tile_bytes) {
        s_mul_i32(bytes, tiles, tile_bytes);
        s_add_u64(pointer, pointer, bytes);
    }
    void locate_lane() {
        v_lshrrev_b32(row, 5, lane);
        v_and_b32(column, 31, lane);
        v_lshlrev_b32(column, 2, column);  // in bytes
    }
    void load_tile() {
        v_mad_u32_u24(offset, row, spec_.columns * 4, column);
        for (unsigned i = 0; i < kSteps; ++i) {
            global_load_b32(values[i], offset, in);
            v_add_nc_u32(offset, kRowsAtOnce * spec_.columns * 4, offset);
        }
        v_mad_u32_u24(address, row, kPaddedRow, column);
        for (unsigned i = 0; i < kSteps; ++i) ds_store_b32(address, values[i], tile + i * kRowsAtOnce * kPaddedRow);
        barrier();
    }
    void store_tile() {  // the lane's column of the tile, row by row
        v_mul_u32_u24(address, kPaddedRow / 4, column);
        v_lshl_add_u32(address, row, 2, address);
        v_mad_u32_u24(offset, row, spec_.rows * 4, column);
        for (unsigned i = 0; i < kSteps; ++i) ds_load_b32(values[i], address, tile + i * kRowsAtOnce * 4);
        for (unsigned i = 0; i < kSteps; ++i) {
            global_store_b32(offset, values[i], out);
            v_add_nc_u32(offset, kRowsAtOnce * spec_.rows * 4, offset);
        }
    }
};

}  // namespace

Result<KernelProgram> transpose(KernelTarget target, const TransposeSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_multiple("transpose", "row count", spec.rows, 32));
    RIFTJIT_TRY_VOID(check_multiple("transpose", "column count", spec.columns, 32));
    RIFTJIT_TRY_VOID(check_at_most("transpose", "bytes", uint64_t{spec.rows} * spec.columns * 4, kMaxBufferBytes));
    return assemble<TransposeKernel>(target, spec, "transpose", options);
}

}  // namespace riftjit::rdna::kernels
