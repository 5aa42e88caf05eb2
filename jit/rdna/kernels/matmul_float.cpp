// Matrix times few rows, f32, f16 and bf16 weights: one chain of fused multiply-adds for each row of the matrix, in the
// order of k, as on the processor; a lane each.
#include <algorithm>

#include "jit/rdna/kernels/float_product.h"
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
        product.locate(launch_lane());
        for (uint32_t row = 0; row < rows_per_group; ++row) {
            x_rows.push_back(panel.row(bound[&MatmulArgs::x], row, f32_row_bytes(spec_.width)));
            sums.push_back(vgpr());
            v_mov_b32(sums.back(), 0);
        }
        const uint32_t rounds = spec_.width / kRound;
        if (rounds != 0) {
            loop(x_offset, 0, rounds * kRound * 4, kRound * 4, [&] {
                multiply(kRound);
                s_add_u64(*panel_address, *panel_address, product.bytes(kRound));
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
    FloatProduct product{*this, spec_.weight};
    std::optional<Sgpr> panel_address;
    std::vector<Sgpr> x_rows;
    const Sgpr x_offset = sgpr();
    std::vector<Vgpr> sums;

    // The `count` elements behind those that are done.
    void multiply(uint32_t count) {
        const std::vector<Vgpr> chunks = product.load(*panel_address, count);
        for (uint32_t row = 0; row < rows_per_group; ++row) {
            for (uint32_t first = 0; first < count; first += 8) {
                const uint32_t elements = std::min(8u, count - first);
                const std::vector<Sgpr> values = load_x(row, first, elements);
                for (uint32_t i = 0; i < elements; ++i) product.multiply_add(sums[row], chunks, first + i, values[i]);
            }
        }
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
};

}  // namespace

uint32_t float_matmul_rows(const MatmulSpec& spec) { return spec.form == MatmulForm::vector ? 1 : kMaxRows; }

Result<KernelProgram> float_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options) {
    return assemble<FloatMatmulKernel>(target, spec, "matmul", options);
}

}  // namespace riftjit::rdna::kernels
