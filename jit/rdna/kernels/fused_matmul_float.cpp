// Products of f32, f16 and bf16 weights with one row that the workgroup norms first, to LDS; then each wave has a panel
// of its own.
#include <algorithm>
#include <bit>

#include "jit/rdna/kernels/float_product.h"
#include "jit/rdna/kernels/matmul.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/row_sums.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class FusedFloatKernel final : public RdnaKernel<FusedMatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = waves * kPanelRows;
        locate();
        norm_row();
        multiply();
        if (gated) {
            const Vgpr gate = vgpr();
            emit_silu(*this, gate, sums[0]);
            v_mul_f32(sums[0], gate, sums[1]);
        }
        panel.store(bound[&FusedMatmulArgs::out], bound[&FusedMatmulArgs::bias], 0, sums[0]);
    }

private:
    static constexpr uint32_t kRound = 32;  // elements

    const MatmulSpec& product_spec = spec_.product;
    const bool has_gain = spec_.gain == Presence::present, gated = spec_.gating != Gating::none;
    const uint32_t matrices = gated ? 2 : 1, waves = RowLanes::waves_for(product_spec.width);

    const BoundArguments<FusedMatmulArgs> bound = bind_arguments<FusedMatmulArgs>(
        {field("weights", &FusedMatmulArgs::weights), field("up_weights", &FusedMatmulArgs::up_weights),
         field("bias", &FusedMatmulArgs::bias), field("x", &FusedMatmulArgs::x), field("gain", &FusedMatmulArgs::gain),
         field("out", &FusedMatmulArgs::out), field("batch", &FusedMatmulArgs::batch)});
    const Sgpr wave = sgpr(), count = sgpr();
    const Vgpr lane = vgpr(), x_now = vgpr(), sums[2] = {vgpr(), vgpr()};
    PanelRows panel{*this, product_spec, 1};
    FloatProduct product{*this, product_spec.weight};
    RowPieces pieces{*this, product_spec.width};
    RowSums row_sums{*this, pieces};
    const uint32_t row_lds = lds(pieces.lds_bytes());
    std::vector<Sgpr> panels;
    std::optional<Sgpr> x_row;

    void locate() {
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_lshrrev_b32(x_now, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, x_now);
        panel.locate_waves(wave, waves);
        panel.locate_results(lane);
        x_row.emplace(panel.row(bound[&FusedMatmulArgs::x], 0, f32_row_bytes(product_spec.width)));
        panels.push_back(panel.weights(bound[&FusedMatmulArgs::weights]));
        if (gated) panels.push_back(panel.weights(bound[&FusedMatmulArgs::up_weights]));
        product.locate(lane);
        pieces.locate(launch_lane());
        row_sums.locate(launch_lane());
    }

    // As rms_norm.cpp does.
    void norm_row() {
        pieces.for_each([&](RowLanes& lanes) {
            const RowLanes::Quads values = lanes.load(*x_row);
            RowLanes::Quads gains;
            if (has_gain) gains = lanes.load(bound[&FusedMatmulArgs::gain]);
            emit_rms_norm(*this, row_sums, lanes, values, gains, spec_.epsilon);
            lanes.store_to_lds(values, row_lds);
            row_sums.wait();
        });
    }

    void multiply() {
        for (const Vgpr& sum : sums) v_mov_b32(sum, 0);
        v_mov_b32(x_now, 0);
        if (const uint32_t rounds = product_spec.width / kRound; rounds != 0)
            loop(count, 0, rounds, 1, [&] {
                multiply(kRound);
                v_add_nc_u32(x_now, kRound * uint32_t(sizeof(float)), x_now);
                for (const Sgpr& address : panels) s_add_u64(address, address, product.bytes(kRound));
            });
        if (product_spec.width % kRound != 0) multiply(product_spec.width % kRound);
    }
    void multiply(uint32_t elements) {
        std::vector<std::vector<Vgpr>> loaded;
        for (const Sgpr& address : panels) loaded.push_back(product.load(address, elements));
        for (uint32_t first = 0; first < elements; first += 4) {
            const Vgpr x = vgpr(4);
            ds_load_b128(x, x_now, row_lds + first * uint32_t(sizeof(float)));
            for (uint32_t i = first; i < std::min(first + 4, elements); ++i)
                for (uint32_t m = 0; m < matrices; ++m) product.multiply_add(sums[m], loaded[m], i, x[i - first]);
        }
    }
};

}  // namespace

Result<LaunchShape> fused_float_shape(const FusedMatmulSpec& spec) {
    constexpr uint32_t kMostWidth = 4096;  // the row lies in LDS twice
    const MatmulSpec& product = spec.product;
    RIFTJIT_TRY_VOID(refuse_if(spec.source != RowSource::rms_norm, "fused_matmul", "float weights of quantised rows"));
    RIFTJIT_TRY_VOID(refuse_if(product.width > kMostWidth, "fused_matmul",
                               fmt::format("rows of {}, more than {}", product.width, kMostWidth)));
    const uint32_t waves = RowLanes::waves_for(product.width), panels = (product.rows + kPanelRows - 1) / kPanelRows;
    return LaunchShape{waves * kPanelRows, (panels + waves - 1) / waves};
}

Result<KernelProgram> fused_float_program(KernelTarget target, const FusedMatmulSpec& spec, PassOptions options) {
    return assemble<FusedFloatKernel>(target, spec, "fused_matmul", options);
}

}  // namespace riftjit::rdna::kernels
