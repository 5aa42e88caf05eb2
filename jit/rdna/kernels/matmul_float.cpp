// Matrix times few rows, f32, f16 and bf16 weights: one chain of fused multiply-adds for each row of the matrix, in the
// order of k, as on the processor; a lane each.
#include <algorithm>

#include "jit/rdna/kernels/matmul.h"

namespace riftjit::rdna::kernels {
namespace {

class FloatMatmulKernel final : public RdnaKernel<MatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = kPanelRows;
        panel.locate(bound[&MatmulArgs::batch]);
        panel.locate_results(launch_lane());
        panel_address.emplace(panel.weights(bound[&MatmulArgs::weights]));
        v_lshlrev_b32(weight_offset, 4, launch_lane());
        for (uint32_t row = 0; row < rows_per_group; ++row) {
            x_rows.push_back(panel.row(bound[&MatmulArgs::x], row, f32_row_bytes(spec_.width)));
            sums.push_back(vgpr());
            v_mov_b32(sums.back(), 0);
        }
        const uint32_t rounds = spec_.width / kRound;
        if (rounds != 0) {
            loop(x_offset, 0, rounds * kRound * 4, kRound * 4, [&] {
                multiply(kRound);
                s_add_u64(*panel_address, *panel_address, kRound / chunk_elements() * kPanelRows * kFloatChunkBytes);
            });
        } else {
            s_mov_b32(x_offset, 0);
        }
        if (spec_.width % kRound != 0) multiply(spec_.width % kRound);
        for (uint32_t row = 0; row < rows_per_group; ++row)
            panel.store(bound[&MatmulArgs::out], bound[&MatmulArgs::bias], row, sums[row]);
    }

private:
    static constexpr uint32_t kRound = 32;  // elements

    const BoundArguments<MatmulArgs> bound = bind_arguments<MatmulArgs>(
        {field("weights", &MatmulArgs::weights), field("bias", &MatmulArgs::bias), field("x", &MatmulArgs::x),
         field("out", &MatmulArgs::out), field("batch", &MatmulArgs::batch)});
    const uint32_t rows_per_group = float_matmul_rows(spec_);
    PanelRows panel{*this, spec_, rows_per_group};
    std::optional<Sgpr> panel_address;
    std::vector<Sgpr> x_rows;
    const Sgpr x_offset = sgpr();
    const Vgpr weight_offset = vgpr();
    std::vector<Vgpr> sums;

    uint32_t element_bytes() const { return uint32_t(row_bytes(spec_.weight, 1)); }
    uint32_t chunk_elements() const { return kFloatChunkBytes / element_bytes(); }

    // The `count` elements behind those that are done.
    void multiply(uint32_t count) {
        std::vector<Vgpr> chunks;
        for (uint32_t first = 0; first < count; first += chunk_elements()) {
            chunks.push_back(vgpr(4));
            load_chunk(chunks.back(), uint32_t(chunks.size()) - 1);
        }
        for (uint32_t row = 0; row < rows_per_group; ++row) {
            for (uint32_t first = 0; first < count; first += 8) {
                const uint32_t elements = std::min(8u, count - first);
                const std::vector<Sgpr> values = load_x(row, first, elements);
                for (uint32_t i = 0; i < elements; ++i)
                    multiply_add(sums[row], chunks[(first + i) / chunk_elements()], (first + i) % chunk_elements(),
                                 values[i]);
            }
        }
    }
    void load_chunk(Vgpr chunk, uint32_t index) {
        const uint32_t offset = index * kPanelRows * kFloatChunkBytes;
        constexpr uint32_t kReach = 2048;
        const CachePolicy once = streaming_load_policy();
        if (offset < kReach) return global_load_b128(chunk, weight_offset, *panel_address, offset, once);
        const Sgpr near = sgpr(2);
        s_add_u64(near, *panel_address, offset);
        global_load_b128(chunk, weight_offset, near, once);
    }
    // Elements as they come in the widest loads that do not reach beyond the last: rows are padded with anything.
    std::vector<Sgpr> load_x(uint32_t row, uint32_t first, uint32_t count) {
        std::vector<Sgpr> values;
        for (uint32_t done = 0; done < count;) {
            const uint32_t offset = (first + done) * 4;
            const uint32_t dwords = count - done >= 8 ? 8 : count - done >= 4 ? 4 : count - done >= 2 ? 2 : 1;
            const Sgpr part = sgpr(dwords);
            switch (dwords) {
                case 8:
                    s_load_b256(part, x_rows[row], x_offset, offset);
                    break;
                case 4:
                    s_load_b128(part, x_rows[row], x_offset, offset);
                    break;
                case 2:
                    s_load_b64(part, x_rows[row], x_offset, offset);
                    break;
                default:
                    s_load_b32(part, x_rows[row], x_offset, offset);
            }
            for (uint32_t i = 0; i < dwords; ++i) values.push_back(part[i]);
            done += dwords;
        }
        return values;
    }
    void multiply_add(Vgpr sum, Vgpr chunk, uint32_t element, Sgpr x_value) {
        if (spec_.weight == DType::F32) return v_fma_f32(sum, chunk[element], x_value, sum);
        const Vgpr pair = chunk[element / 2], weight = vgpr();
        const bool is_odd = element % 2 == 1;
        if (spec_.weight == DType::BF16) {
            is_odd ? v_and_b32(weight, 0xffff'0000, pair) : v_lshlrev_b32(weight, 16, pair);
        } else if (is_odd) {
            v_lshrrev_b32(weight, 16, pair);
            v_cvt_f32_f16(weight, weight);
        } else {
            v_cvt_f32_f16(weight, pair);
        }
        v_fma_f32(sum, weight, x_value, sum);
    }
};

}  // namespace

uint32_t float_matmul_rows(const MatmulSpec& spec) { return spec.form == MatmulForm::vector ? 1 : kMaxRows; }

Result<KernelProgram> float_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options) {
    return assemble<FloatMatmulKernel>(target, spec, "matmul", options);
}

}  // namespace riftjit::rdna::kernels
