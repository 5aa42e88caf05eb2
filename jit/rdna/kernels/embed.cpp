// Rows of a token table: a workgroup decodes the row that its token's id names.
//
// Quantised types: lanes are the steps of the row, and each of eight waves takes 32 elements of every step, as what
// instruction decodes an element depends on where in the step it lies. Values are those of the file's decoder, bit for
// bit: a product of scale, multiplier and code is exact in f32, and one fused rounding follows.
#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/matmul.h"
#include "jit/rdna/kernels/quad_decoder.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr uint32_t kPartElements = 32, kParts = kStepElements / kPartElements;
constexpr uint32_t kLanes = 256;

class EmbedKernel final : public RdnaKernel<EmbedSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = kLanes;
        locate_row();
        is_float(spec_.weight) ? convert_floats() : decode_steps();
    }

private:
    // Register map. row: within the panel, base: of the panel.
    const BoundArguments<EmbedArgs> bound =
        bind_arguments<EmbedArgs>({field("table", &EmbedArgs::table), field("ids", &EmbedArgs::ids),
                                   field("out", &EmbedArgs::out), field("batch", &EmbedArgs::batch)});
    const Sgpr table = bound[&EmbedArgs::table], ids = bound[&EmbedArgs::ids], out = bound[&EmbedArgs::out];
    const Sgpr row = sgpr(), offset = sgpr();
    std::optional<Sgpr> base;

    void locate_row() {
        s_lshl_b32(offset, launch_workgroup(), 2);
        s_load_b32(row, ids, offset);
        s_mul_i32(offset, launch_workgroup(), f32_row_bytes(spec_.width));
        s_add_u64(out, out, offset);
        const Sgpr panel = sgpr();
        s_lshr_b32(panel, row, std::countr_zero(kPanelRows));
        s_and_b32(row, row, kPanelRows - 1);
        base.emplace(locate_panel(*this, spec_.weight, spec_.width, table, panel));
    }

    // ---- floats: a lane for each 16 bytes of the row

    void convert_floats() {
        const uint32_t element_bytes = uint32_t(row_bytes(spec_.weight, 1));
        const uint32_t chunk_elements = kFloatChunkBytes / element_bytes;
        const uint32_t chunks = (spec_.width + chunk_elements - 1) / chunk_elements;
        s_lshl_b32(row, row, std::countr_zero(kFloatChunkBytes));
        s_add_u64(*base, *base, row);
        const Vgpr chunk = vgpr();
        const Sgpr first = sgpr(), is_inside = lane_mask();
        loop(first, 0, chunks, kLanes, [&] {
            v_add_nc_u32(chunk, first, launch_lane());
            v_cmp_gt_u32(is_inside, chunks, chunk);
            if_lanes(is_inside, [&] {
                const Vgpr from = vgpr(), to = vgpr(), data = vgpr(4);
                v_lshlrev_b32(from, std::countr_zero(kPanelRows * kFloatChunkBytes), chunk);
                v_lshlrev_b32(to, std::countr_zero(chunk_elements * 4), chunk);
                global_load_b128(data, from, *base);
                for (uint32_t i = 0; i < chunk_elements; i += 4) {
                    const Vgpr values = vgpr(4);
                    for (uint32_t j = 0; j < 4; ++j) convert(values[j], data, i + j);
                    global_store_b128(to, values, out, i * 4);
                }
            });
        });
    }
    void convert(Vgpr to, Vgpr data, uint32_t element) {
        if (spec_.weight == DType::F32) return v_mov_b32(to, data[element]);
        const Vgpr pair = data[element / 2];
        const bool is_odd = element % 2 == 1;
        if (spec_.weight == DType::BF16) return is_odd ? v_and_b32(to, 0xffff'0000, pair) : v_lshlrev_b32(to, 16, pair);
        if (!is_odd) return v_cvt_f32_f16(to, pair);
        v_lshrrev_b32(to, 16, pair);
        v_cvt_f32_f16(to, to);
    }

    // ---- codes

    void decode_steps() {
        const PanelLayout layout(spec_.weight, spec_.width);
        const Vgpr lane = vgpr(), step = vgpr(), wave_number = vgpr();
        const Sgpr wave = sgpr(), first = sgpr(), is_inside = lane_mask();
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_lshrrev_b32(wave_number, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, wave_number);
        const auto decode_full_steps = [&] {
            v_cmp_gt_u32(is_inside, layout.full_steps, step);
            if_lanes(is_inside, [&] { decode_step(layout, layout.full, wave, step); });
        };
        if (layout.full_steps > kPanelRows) {
            loop(first, 0, layout.full_steps, kPanelRows, [&] {
                v_add_nc_u32(step, first, lane);
                decode_full_steps();
            });
        } else if (layout.full_steps != 0) {
            v_mov_b32(step, lane);
            decode_full_steps();
        }
        if (layout.tail_blocks == 0) return;
        v_mov_b32(step, layout.full_steps);
        v_cmp_eq_u32(is_inside, 0, lane);
        if_lanes(is_inside, [&] { decode_step(layout, layout.tail, wave, step); });
    }

    // Of the lanes' steps the part that is the wave's.
    void decode_step(const PanelLayout& panel, const StepLayout& layout, Sgpr wave, Vgpr step) {
        const StringOffsets offsets{vgpr(), vgpr(), vgpr()};
        const Vgpr begin = vgpr(), to = vgpr();
        const Sgpr part_row = sgpr();
        v_mul_lo_u32(begin, step, panel.full.bytes());
        s_lshl_b32(part_row, row, 4);
        v_add_nc_u32(offsets.chunk, part_row, begin);
        s_mul_i32(part_row, row, layout.rest() * 4);
        v_add_nc_u32(offsets.rest, part_row, begin);
        s_lshl_b32(part_row, row, 1);
        v_add_nc_u32(offsets.half, part_row, begin);
        v_lshlrev_b32(to, std::countr_zero(kStepElements * 4), step);
        const Label done = label();
        for (uint32_t part = 0; part < kParts && part * kPartElements < layout.elements; ++part) {
            const Label next = label();
            s_cmp_lg_u32(wave, part);
            s_cbranch_scc1(next);
            StepString string(*this, layout, *base, offsets);
            QuadDecoder decoder(*this, spec_.weight, layout, string, table);
            for (uint32_t i = 0; i < kPartElements; i += 4) write_quad(decoder, part * kPartElements + i, to);
            s_branch(done);
            bind(next);
        }
        bind(done);
    }
    void write_quad(QuadDecoder& decoder, uint32_t element, Vgpr to) {
        const Quad quad = decoder.quad(element);
        const Vgpr values = vgpr(4), scale = decoder.scale(element);
        std::optional<Vgpr> addend;
        if (decoder.has_offset()) addend = decoder.offset(element);
        if (decoder.has_minimum()) {
            addend = vgpr();
            v_cvt_f32_i32(*addend, decoder.minimum(element));
            v_mul_f32(*addend, *addend, decoder.minimum_scale(element));  // exact: 11 and 6 bits
        }
        for (uint32_t i = 0; i < 4; ++i) {
            const Vgpr value = vgpr();
            v_bfe_i32(value, quad.bytes, 8 * i, 8);
            if (quad.zero_point != 0) v_add_nc_u32(value, -quad.zero_point, value);
            if (decoder.has_multiplier()) v_mul_i32_i24(value, value, decoder.multiplier(element));
            v_cvt_f32_i32(value, value);
            if (!addend)
                v_mul_f32(values[i], value, scale);
            else if (decoder.has_minimum())
                v_fma_f32(values[i], value, scale, -*addend);
            else
                v_fma_f32(values[i], value, scale, *addend);
        }
        global_store_b128(to, values, out, element * 4);
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const EmbedSpec&) {
    RIFTJIT_TRY_VOID(refuse_if(target.wave_size != WaveSize::wave32, "embed", "waves of 64 lanes"));
    return LaunchShape{kLanes, 1};
}

Result<KernelProgram> program_of(KernelTarget target, const EmbedSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<EmbedKernel>(target, spec, "embed", options);
}

}  // namespace riftjit::rdna::kernels
