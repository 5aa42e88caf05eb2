#include "jit/rdna/kernels/row_lanes.h"

namespace riftjit::rdna::kernels {

RowLanes::RowLanes(KernelAssembler& kernel, uint32_t width, uint32_t waves, uint32_t groups)
    : k_(kernel),
      width_(width),
      waves_(waves),
      groups_(groups),
      rounds_((width + groups * waves * kI16Block - 1) / (groups * waves * kI16Block)),
      block_(kernel.vgpr()),
      in_quads_(size_t{rounds_} * 2) {
    check(groups_ == 1 || rounds_ == 1, "rows of several groups have one round");
}

void RowLanes::locate(Vgpr lane, std::optional<Sgpr> group) {
    const Vgpr in_wave = k_.vgpr();
    k_.v_lshrrev_b32(block_, 5, lane);
    k_.v_and_b32(in_wave, kWave - 1, lane);
    if (groups_ > 1) k_.v_lshl_add_u32(block_, *group, std::countr_zero(waves_), block_);
    for (uint32_t round = 0; round < rounds_; ++round) offset_.push_back(k_.vgpr());
    k_.v_lshlrev_b32(in_wave, 4, in_wave);
    k_.v_lshl_add_u32(offset_[0], block_, std::countr_zero(kBlockBytes), in_wave);
    for (uint32_t round = 1; round < rounds_; ++round)
        k_.v_add_nc_u32(offset_[round], bytes_from_first(2 * round), offset_[0]);
    for (size_t quad = 0; quad < in_quads_.size(); ++quad) {
        if (is_whole(quad)) continue;
        in_quads_[quad] = k_.lane_mask();
        k_.v_cmp_gt_u32(*in_quads_[quad], whole_bytes() - std::min(whole_bytes(), bytes_from_first(quad)), offset_[0]);
    }
}

// The last lane of the last wave of the last group has the farthest.
bool RowLanes::is_whole(size_t quad) const {
    const uint64_t last_block = uint64_t{groups_ - 1} * waves_ + waves_ - 1;
    return last_block * kBlockBytes + bytes_from_first(quad) + kHalfBytes <= uint64_t{width_} * sizeof(float);
}

void RowLanes::for_lanes(size_t quad, const std::function<void(uint32_t count)>& body) {
    if (!in_quads_[quad]) return body(4);
    if (whole_bytes() > bytes_from_first(quad)) k_.if_lanes(*in_quads_[quad], [&] { body(4); });
    const uint32_t block = width_ / kI16Block, half = width_ % kI16Block / (kI16Block / 2);
    const uint32_t round = groups_ > 1 ? 0 : block / waves_;
    if (width_ % 4 == 0 || quad != 2 * round + half) return;
    const Sgpr is_broken = k_.lane_mask();
    k_.v_cmp_eq_u32(is_broken, whole_bytes() - bytes_from_first(quad), offset_[0]);
    k_.if_lanes(is_broken, [&] { body(width_ % 4); });
}

std::vector<RowLanes::Quads> RowLanes::load(std::span<const Sgpr> rows) {
    constexpr Opcode kLoads[] = {Opcode::global_load_b32, Opcode::global_load_b64, Opcode::global_load_b96,
                                 Opcode::global_load_b128};
    std::vector<Quads> loaded(rows.size());
    for (size_t quad = 0; quad < in_quads_.size(); ++quad) {
        for (Quads& quads : loaded) {
            quads.push_back(k_.vgpr(4));
            for (unsigned i = 0; in_quads_[quad] && i < 4; ++i) k_.v_mov_b32(quads.back()[i], 0);
        }
        for_lanes(quad, [&](uint32_t count) {
            for (size_t i = 0; i < rows.size(); ++i)
                k_.emit(kLoads[count - 1],
                        {loaded[i].back().part(0, count), offset_[quad / 2], rows[i], uint32_t(quad % 2) * kHalfBytes});
        });
    }
    return loaded;
}

void RowLanes::store(const Quads& quads, Sgpr row) {
    constexpr Opcode kStores[] = {Opcode::global_store_b32, Opcode::global_store_b64, Opcode::global_store_b96,
                                  Opcode::global_store_b128};
    for (size_t quad = 0; quad < in_quads_.size(); ++quad)
        for_lanes(quad, [&](uint32_t count) {
            k_.emit(kStores[count - 1],
                    {offset_[quad / 2], quads[quad].part(0, count), row, uint32_t(quad % 2) * kHalfBytes});
        });
}

void RowLanes::clear_outside(const Quads& quads) {
    const uint32_t bytes = width_ * uint32_t(sizeof(float));
    for (size_t quad = 0; quad < quads.size(); ++quad) {
        if (!in_quads_[quad]) continue;
        for (uint32_t i = 0; i < 4; ++i) {
            Sgpr is_inside = *in_quads_[quad];
            if (width_ % 4 != 0) {
                const uint32_t before = bytes_from_first(quad) + i * uint32_t(sizeof(float));
                is_inside = k_.lane_mask();
                k_.v_cmp_gt_u32(is_inside, bytes - std::min(bytes, before), offset_[0]);
            }
            k_.v_cndmask_b32(quads[quad][i], 0, quads[quad][i], is_inside);
        }
    }
}

void RowLanes::store_to_lds(const Quads& quads, uint32_t lds) {
    for (size_t quad = 0; quad < quads.size(); ++quad)
        k_.ds_store_b128(offset_[0], quads[quad], lds + bytes_from_first(quad));
}

void RowLanes::for_blocks(uint32_t round, const std::function<void()>& body) {
    const uint32_t blocks = uint32_t(round_up(width_, kI16Block) / kI16Block), first = round * waves_;
    if (blocks == groups_ * waves_ * rounds_ || first + waves_ * groups_ <= blocks) return body();
    const Sgpr is_inside = k_.lane_mask();
    k_.v_cmp_gt_u32(is_inside, (blocks - first) * kBlockBytes, offset_[0]);
    k_.if_lanes(is_inside, body);
}

void SplitRows::locate() {
    if (groups_ == 1) {
        k_.s_mov_b32(row_, k_.launch_workgroup());
        return lanes_.locate(k_.launch_lane());
    }
    const Sgpr group = k_.sgpr();
    k_.s_divide_u32(row_, group, k_.launch_workgroup(), groups_);
    lanes_.locate(k_.launch_lane(), group);
}

RowPieces::RowPieces(KernelAssembler& kernel, uint32_t width)
    : k_(kernel),
      whole_pieces_((width - 1) / kPiece),
      whole_(kernel, kPiece, RowLanes::kMaxWaves),
      last_(kernel, width - whole_pieces_ * kPiece, RowLanes::waves_for(width)),
      piece_(kernel.sgpr()) {}

void RowPieces::locate(Vgpr lane) {
    last_.locate(lane);
    if (!is_one()) whole_.locate(lane);
}

Sgpr RowPieces::follow(Sgpr row) {
    if (is_one()) return row;
    rows_.emplace_back(row, k_.sgpr(2));
    return rows_.back().second;
}

void RowPieces::for_each(const std::function<void(RowLanes& lanes)>& body) {
    if (!is_one()) {
        for (const auto& [first, here] : rows_) k_.s_mov_b64(here, first);
        k_.loop(piece_, 0, whole_pieces_, 1, [&] {
            body(whole_);
            for (const auto& row : rows_) k_.s_add_u64(row.second, row.second, kPiece * sizeof(float));
        });
    }
    body(last_);
}

}  // namespace riftjit::rdna::kernels
