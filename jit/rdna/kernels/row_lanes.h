// Which lanes take which elements of a row of activations. Waves have 32 lanes.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/round_up.h"
#include "jit/kernel_spec.h"
#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"

namespace riftjit::rdna::kernels {

// A wave takes blocks of 256 elements, a lane four neighbours of each half of one (a quad): loads are of 16 bytes, and
// the scale of quantised rows is a wave's own business. Wave w of group g has block g * waves + w; where there is one
// group, blocks w + waves, w + 2 * waves, ... too, in rounds.
class RowLanes {
public:
    static constexpr uint32_t kWave = 32, kMaxWaves = 8;
    using Quads = std::vector<Vgpr>;  // two for each round

    // A power of two, with a block each as far as there are so many.
    static constexpr uint32_t waves_for(uint32_t width) {
        return std::min(kMaxWaves, std::bit_ceil((width + kI16Block - 1) / kI16Block));
    }

    RowLanes(KernelAssembler& kernel, uint32_t width, uint32_t waves, uint32_t groups = 1);

    // Once, before all else. `group` is which of the row's.
    void locate(Vgpr lane, std::optional<Sgpr> group = std::nullopt);

    uint32_t width() const { return width_; }
    uint32_t waves() const { return waves_; }
    uint32_t rounds() const { return rounds_; }
    Vgpr block() const { return block_; }  // the wave's of the first round

    // The lane's elements of each row, zeros beyond the width.
    std::vector<Quads> load(std::span<const Sgpr> rows);
    Quads load(Sgpr row) { return load(std::span(&row, 1)).front(); }
    void store(const Quads& quads, Sgpr row);
    // What lies beyond the width becomes zeros.
    void clear_outside(const Quads& quads);
    // To LDS, as in the row from `lds` on; zeros behind its end up to lds_bytes().
    void store_to_lds(const Quads& quads, uint32_t lds);
    uint32_t lds_bytes() const { return rounds_ * waves_ * kBlockBytes; }

    // The body runs for those waves whose block of the round begins within the row.
    void for_blocks(uint32_t round, const std::function<void()>& body);

private:
    static constexpr uint32_t kBlockBytes = kI16Block * sizeof(float), kHalfBytes = kBlockBytes / 2;

    // For the lanes whose quad lies within the row, and once more for the one of whose quad only `count` elements do.
    void for_lanes(size_t quad, const std::function<void(uint32_t count)>& body);
    bool is_whole(size_t quad) const;
    uint32_t bytes_from_first(size_t quad) const {
        return uint32_t(quad / 2) * waves_ * kBlockBytes + uint32_t(quad % 2) * kHalfBytes;
    }
    uint32_t whole_bytes() const { return width_ / 4 * 16; }  // of the row's quads

    KernelAssembler& k_;
    const uint32_t width_, waves_, groups_, rounds_;
    const Vgpr block_;
    std::vector<Vgpr> offset_;                   // by round: bytes into the row
    std::vector<std::optional<Sgpr>> in_quads_;  // by quad: the lanes whose quad lies within the row; none: all
};

// Rows without sums: as many workgroups for each as have use for a round.
class SplitRows {
public:
    static LaunchShape shape(uint32_t width) { return {RowLanes::waves_for(width) * RowLanes::kWave, groups(width)}; }

    SplitRows(KernelAssembler& kernel, uint32_t width)
        : k_(kernel),
          groups_(groups(width)),
          row_(kernel.sgpr()),
          lanes_(kernel, width, RowLanes::waves_for(width), groups_) {}

    void locate();  // once, before all else
    uint32_t group_lanes() const { return lanes_.waves() * RowLanes::kWave; }
    Sgpr row() const { return row_; }
    RowLanes& lanes() { return lanes_; }

private:
    static constexpr uint32_t groups(uint32_t width) {
        constexpr uint32_t kRound = RowLanes::kMaxWaves * kI16Block;
        return (width + kRound - 1) / kRound;
    }

    KernelAssembler& k_;
    const uint32_t groups_;
    const Sgpr row_;
    RowLanes lanes_;
};

// A row that one workgroup takes in pieces that its lanes can hold: most often it is one.
class RowPieces {
public:
    static constexpr uint32_t kMaxRounds = 4;
    static constexpr uint32_t kPiece = kMaxRounds * RowLanes::kMaxWaves * kI16Block;

    RowPieces(KernelAssembler& kernel, uint32_t width);

    void locate(Vgpr lane);  // once, before all else
    bool is_one() const { return whole_pieces_ == 0; }
    uint32_t waves() const { return last_.waves(); }
    uint32_t lds_bytes() const { return is_one() ? last_.lds_bytes() : whole_.lds_bytes(); }
    Vgpr block() const { return last_.block(); }

    // What for_each() moves on with the pieces: a pointer to the row's f32 elements.
    Sgpr follow(Sgpr row);
    void for_each(const std::function<void(RowLanes& lanes)>& body);

private:
    KernelAssembler& k_;
    const uint32_t whole_pieces_;
    RowLanes whole_, last_;
    const Sgpr piece_;
    std::vector<std::pair<Sgpr, Sgpr>> rows_;  // where it begins, where the piece does
};

}  // namespace riftjit::rdna::kernels
