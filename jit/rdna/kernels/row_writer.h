// Rows of activations as they are written: RowFormat::f32 or i16 (rows.h).
#pragma once

#include <string_view>

#include "jit/rdna/kernels/row_lanes.h"
#include "jit/rdna/kernels/rows.h"

namespace riftjit::rdna::kernels {

class RowWriter {
public:
    RowWriter(KernelAssembler& kernel, RowFormat format, uint32_t width);

    static Result<void> check_format(std::string_view kernel, RowFormat format);
    static uint32_t row_bytes(RowFormat format, uint32_t width) {
        return format == RowFormat::f32 ? f32_row_bytes(width) : I16Row{width}.bytes();
    }

    // Once, before all else: `block` is the wave's of the first round.
    void locate(Vgpr lane, Vgpr block);
    // The lanes' elements, zeros beyond the width. `out` points to the row, or, of f32 rows that are written in pieces,
    // to the piece. Clobbers vcc.
    void write(RowLanes& lanes, const RowLanes::Quads& quads, Sgpr out);
    // The same to LDS, from `lds` on; of quantised rows.
    void write_to_lds(RowLanes& lanes, const RowLanes::Quads& quads, uint32_t lds);
    // What is written next lies behind the piece of so many blocks.
    void advance(uint32_t blocks);

private:
    // What a lane makes of a round's block.
    struct Codes {
        Vgpr high, low;  // a dword for each half
        Vgpr rest;       // a sum, or the scale
    };
    Codes quantize(Vgpr first, Vgpr second);
    Vgpr largest(Vgpr first, Vgpr second);
    Vgpr quantize_half(Vgpr quad, Vgpr inverse, Vgpr high, Vgpr low);
    // To `out`, or to LDS where there is none.
    void write_codes(RowLanes& lanes, const RowLanes::Quads& quads, std::optional<Sgpr> out, uint32_t lds);
    void store(const Codes& codes, Vgpr block, std::optional<Sgpr> out, uint32_t lds);

    KernelAssembler& k_;
    const RowFormat format_;
    const I16Row row_;
    const Vgpr block_, codes_base_, rest_base_, rest_stride_;
    const Sgpr is_odd_, is_scale_, is_rest_;
};

}  // namespace riftjit::rdna::kernels
