#include "jit/rdna/kernels/row_sums.h"

#include "jit/rdna/kernels/numerics.h"

namespace riftjit::rdna::kernels {
namespace {
constexpr uint32_t kChains = 64, kPairBytes = 2 * sizeof(float);
}

RowSums::RowSums(KernelAssembler& kernel, const RowPieces& pieces)
    : k_(kernel),
      waves_(pieces.waves()),
      row_(kernel.lds(pieces.lds_bytes())),
      results_(waves_ > 1 ? kernel.lds(RowLanes::kWave * kPairBytes) : 0),
      pair_(kernel.vgpr()),
      result_(kernel.vgpr()),
      is_first_(kernel.lane_mask()) {}

void RowSums::locate(Vgpr lane) {
    k_.v_lshlrev_b32(pair_, 3, lane);
    if (waves_ == 1) return;
    k_.v_and_b32(result_, (RowLanes::kWave - 1) * kPairBytes, pair_);
    k_.v_cmp_gt_u32(is_first_, RowLanes::kWave, lane);
}

void RowSums::begin(Vgpr sums) {
    for (unsigned i = 0; i < 2; ++i) k_.v_mov_b32(sums[i], 0);
}

void RowSums::lay_out(RowLanes& lanes, const RowLanes::Quads& quads) {
    lanes.store_to_lds(quads, row_);
    wait();
}

void RowSums::wait() {
    if (waves_ > 1) k_.barrier();
}

void RowSums::for_first_wave(const std::function<void()>& body) {
    if (waves_ > 1)
        k_.if_lanes(is_first_, body);
    else
        body();
}

void RowSums::add_up(Vgpr sums, uint32_t count, const Add& add) {
    constexpr uint32_t kAhead = 8;  // loads before the first is waited for
    const uint32_t rest = count % kChains, blocks = (count + kChains - 1) / kChains;
    for (uint32_t first = 0; first < blocks; first += kAhead) {
        std::vector<Vgpr> pairs;
        for (uint32_t block = first; block < std::min(first + kAhead, blocks); ++block) {
            pairs.push_back(k_.vgpr(2));
            k_.ds_load_b64(pairs.back(), pair_, row_ + block * kChains * uint32_t(sizeof(float)));
        }
        for (uint32_t block = first; block < first + pairs.size(); ++block)
            for (unsigned i = 0; i < 2; ++i)
                add(sums[i], pairs[block - first][i], [&](Vgpr value) {
                    if (rest == 0 || block + 1 != blocks) return;
                    const Sgpr is_inside = k_.lane_mask();
                    k_.v_cmp_gt_u32(is_inside, (rest + 1 - i) / 2 * kPairBytes, pair_);
                    k_.v_cndmask_b32(value, 0, value, is_inside);
                });
    }
}

void RowSums::give(Vgpr value) {
    if (waves_ == 1) return;
    k_.emit(value.dwords() == 2 ? Opcode::ds_store_b64 : Opcode::ds_store_b32, {result_, value, results_});
}

void RowSums::take(Vgpr value) {
    if (waves_ == 1) return;
    k_.emit(value.dwords() == 2 ? Opcode::ds_load_b64 : Opcode::ds_load_b32, {value, result_, results_});
}

void emit_rms_norm(KernelAssembler& k, RowSums& row_sums, RowLanes& lanes, const RowLanes::Quads& values,
                   const RowLanes::Quads& gains, float epsilon) {
    const Vgpr sums = k.vgpr(2), scale = k.vgpr();
    row_sums.begin(sums);
    row_sums.lay_out(lanes, values);
    row_sums.for_first_wave([&] {
        row_sums.add_up(sums, lanes.width(),
                        [&](Vgpr sum, Vgpr element, const auto&) { k.v_fmac_f32(sum, element, element); });
        emit_lanes64_fold(k, sums);
        emit_inverse_rms(k, scale, sums[0], lanes.width(), epsilon);
        row_sums.give(scale);
    });
    row_sums.wait();
    row_sums.take(scale);
    for (size_t quad = 0; quad < values.size(); ++quad)
        for (unsigned i = 0; i < 4; ++i) {
            k.v_mul_f32(values[quad][i], values[quad][i], scale);
            if (!gains.empty()) k.v_mul_f32(values[quad][i], values[quad][i], gains[quad][i]);
        }
}

}  // namespace riftjit::rdna::kernels
