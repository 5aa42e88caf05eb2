// The highest logits of a row. Floats become keys, integers that rise with them; a search over the bits of a key finds
// the lowest that belongs to the kHighest highest, counting with masks how many keys reach each bound; then those above
// it are stored, and of those that equal it as many as there is room for. Elements are counted off in their order, so
// that of equal ones the first stay and stay in order.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr uint32_t kHighestBytes = kHighest * sizeof(IndexedLogit);
constexpr uint32_t kMaxHighestParts =
    128;  // whose keys and indices fit a lane's registers beside eight waves on a SIMD

// Which elements a lane takes: wave after wave a stretch of its own, in which a load of 16 bytes gives each lane
// neighbours, lane after lane.
struct HighestShape {
    static constexpr uint32_t kWave = 32, kMaxWaves = 8;

    uint32_t elements;  // of the workgroup, in which the last may be missing
    uint32_t together;  // that 16 bytes hold: logits, or logits with their indices

    explicit HighestShape(const HighestSpec& spec)
        : elements(spec.stage == HighestStage::whole   ? spec.width
                   : spec.stage == HighestStage::parts ? kHighestPart
                                                       : highest_parts(spec.width) * kHighest),
          together(spec.stage == HighestStage::merge ? 2 : 4) {}

    uint32_t waves() const { return std::min(kMaxWaves, std::bit_ceil((elements - 1) / (kWave * together) + 1)); }
    uint32_t loads() const { return (elements - 1) / (waves() * kWave * together) + 1; }
};

class HighestKernel final : public RdnaKernel<HighestSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = shape.waves() * HighestShape::kWave;
        locate();
        clear_counters();
        load_elements();
        make_keys();
        find_lowest();
        store_highest();
    }

private:
    // Counters in LDS: of the keys that reach each bit's bound; by wave, of the keys above and at the lowest in the
    // waves before it, and behind the last wave's of all.
    static constexpr uint32_t kAbove = 32 * 4, kEqual = 48 * 4, kCounters = 64;

    const BoundArguments<HighestArgs> bound = bind_arguments<HighestArgs>(
        {field("x", &HighestArgs::x), field("parts", &HighestArgs::parts), field("out", &HighestArgs::out)});
    const HighestShape shape{spec_};
    const bool is_merge = spec_.stage == HighestStage::merge, is_shared = shape.waves() > 1;
    const Sgpr from = is_merge ? bound[&HighestArgs::parts] : bound[&HighestArgs::x];
    const Sgpr to = spec_.stage == HighestStage::parts ? bound[&HighestArgs::parts] : bound[&HighestArgs::out];
    const Sgpr wave = sgpr(), lowest = sgpr(), is_first = lane_mask();
    const Vgpr in_wave = vgpr();
    const Vgpr first = vgpr();   // the lane's first element: of the row, of a merge of its parts
    const Vgpr offset = vgpr();  // of its first load, in bytes
    const uint32_t counters = is_shared ? lds(kCounters * sizeof(uint32_t)) : 0;
    std::vector<Vgpr> loaded, keys, indices;  // by load; by element; the last of a merge alone

    uint32_t elements_of_load() const { return HighestShape::kWave * shape.together; }

    void locate() {
        const Vgpr number = vgpr();
        v_and_b32(in_wave, HighestShape::kWave - 1, launch_lane());
        v_lshrrev_b32(number, 5, launch_lane());
        v_readfirstlane_b32(wave, number);
        if (is_shared) v_cmp_eq_u32(is_first, 0, in_wave);
        v_mul_u32_u24(number, shape.loads() * HighestShape::kWave, number);
        v_add_nc_u32(number, number, in_wave);
        v_lshlrev_b32(offset, 4, number);
        v_mul_u32_u24(first, shape.together, number);
        if (spec_.stage == HighestStage::parts) {
            const Sgpr row = sgpr(), part = sgpr(), skipped = sgpr();
            s_divide_u32(row, part, launch_workgroup(), highest_parts(spec_.width));
            s_advance(from, row, f32_row_bytes(spec_.width));
            s_mul_i32(skipped, part, kHighestPart);
            v_add_nc_u32(first, skipped, first);
            s_lshl_b32(skipped, skipped, 2);
            s_add_u64(from, from, skipped);
            s_advance(to, launch_workgroup(), kHighestBytes);
            return;
        }
        s_advance(from, launch_workgroup(),
                  is_merge ? shape.elements * uint32_t(sizeof(IndexedLogit)) : f32_row_bytes(spec_.width));
        s_advance(to, launch_workgroup(), kHighestBytes);
    }

    void clear_counters() {
        if (!is_shared) return;
        const Sgpr is_counter = lane_mask();
        const Vgpr address = vgpr(), zero = vgpr();
        v_cmp_gt_u32(is_counter, kCounters, launch_lane());
        if_lanes(is_counter, [&] {
            v_lshlrev_b32(address, 2, launch_lane());
            v_mov_b32(zero, 0);
            ds_store_b32(address, zero, counters);
        });
        barrier();
    }

    // Of the last part or wave there may be less.
    void load_elements() {
        const uint32_t end = is_merge ? shape.elements : spec_.width;
        for (uint32_t load = 0; load < shape.loads(); ++load) {
            const uint32_t before = load * elements_of_load();
            loaded.push_back(vgpr(4));
            const Vgpr here = load == 0 ? offset : vgpr(), into = loaded.back();
            if (load > 0) v_add_nc_u32(here, load * HighestShape::kWave * 16, offset);
            for (unsigned i = 0; i < 4; ++i) v_mov_b32(into[i], is_merge && i % 2 == 1 ? spec_.width : 0);
            const Sgpr is_there = lane_mask();
            v_cmp_gt_u32(is_there, end - std::min(end, before), first);
            if_lanes(is_there, [&] { global_load_b128(into, here, from); });
        }
    }

    // Rising with the float, -0 as +0, and a NaN above all; 0 of what is not of the row.
    void make_keys() {
        constexpr uint32_t kNan = 0xFFFFFF00, kSign = 0x80000000;
        const Vgpr flip = vgpr();
        for (uint32_t load = 0; load < shape.loads(); ++load)
            for (uint32_t i = 0; i < shape.together; ++i) {
                const Vgpr key = is_merge ? loaded[load][2 * i] : loaded[load][i];
                const Sgpr is_nan = lane_mask(), is_there = lane_mask();
                v_cmp_u_f32(is_nan, key, key);
                v_add_f32(key, 0, key);
                v_ashrrev_i32(flip, 31, key);
                v_or_b32(flip, kSign, flip);
                v_xor_b32(key, flip, key);
                v_cndmask_b32(key, key, kNan, is_nan);
                if (is_merge) {
                    indices.push_back(loaded[load][2 * i + 1]);
                    v_cmp_gt_u32(is_there, spec_.width, indices.back());
                } else {
                    const uint32_t before = load * elements_of_load() + i;
                    v_cmp_gt_u32(is_there, spec_.width - std::min(spec_.width, before), first);
                }
                v_cndmask_b32(key, 0, key, is_there);
                keys.push_back(key);
            }
    }

    // How many keys of the wave `reach`, which is given a mask.
    void count(Sgpr sum, const std::function<void(Sgpr mask, Vgpr key)>& reach) {
        const Sgpr mask = lane_mask(), some = sgpr();
        s_mov_b32(sum, 0);
        for (const Vgpr& key : keys) {
            reach(mask, key);
            s_bcnt1_i32_b32(some, mask);
            s_add_co_u32(sum, sum, some);
        }
    }

    // Bit by bit from the top: it stays where enough keys reach what there is then.
    void find_lowest() {
        const Sgpr step = sgpr(), bit = sgpr(), raised = sgpr(), reached = sgpr();
        s_mov_b32(lowest, 0);
        loop(step, 0, 32, 1, [&] {
            s_lshr_b32(bit, 0x80000000, step);
            s_or_b32(raised, lowest, bit);
            count(reached, [&](Sgpr mask, Vgpr key) { v_cmp_le_u32(mask, raised, key); });
            if (is_shared) add_up(reached, step);
            s_cmp_ge_u32(reached, kHighest);
            s_cselect_b32(lowest, raised, lowest);
        });
    }
    // Over the workgroup; every step has a counter of its own.
    void add_up(Sgpr sum, Sgpr step) {
        const Sgpr bytes = sgpr();
        const Vgpr address = vgpr(), value = vgpr();
        s_lshl_b32(bytes, step, 2);
        v_mov_b32(address, bytes);
        v_mov_b32(value, sum);
        if_lanes(is_first, [&] { ds_add_u32(address, value, counters); });
        barrier();
        ds_load_b32(value, address, counters);
        v_readfirstlane_b32(sum, value);
    }

    void store_highest() {
        const Sgpr above = sgpr(), equal = sgpr(), pass = sgpr();
        const Vgpr position = vgpr(), equal_position = vgpr();
        count(above, [&](Sgpr mask, Vgpr key) { v_cmp_lt_u32(mask, lowest, key); });
        if (is_shared) {
            count(equal, [&](Sgpr mask, Vgpr key) { v_cmp_eq_u32(mask, lowest, key); });
            add_before(above, equal, position, equal_position);
        } else {
            v_mov_b32(position, 0);
            v_mov_b32(equal_position, above);
        }
        // Those above the lowest, then those that equal it: keys from `bottom` on, up to so many further.
        const Sgpr bottom = sgpr(), further = sgpr();
        s_add_co_u32(bottom, lowest, 1);
        s_not_b32(further, bottom);
        loop(pass, 0, 2, 1, [&] {
            for (uint32_t load = 0; load < shape.loads(); ++load) store_of_load(load, bottom, further, position);
            s_mov_b32(bottom, lowest);
            s_mov_b32(further, 0);
            v_mov_b32(position, equal_position);
        });
    }
    // Where this wave's own begin: behind those of the waves before it, and such as equal the lowest behind all others.
    void add_before(Sgpr above, Sgpr equal, Vgpr position, Vgpr equal_position) {
        const Sgpr is_later = lane_mask(), is_counter = lane_mask(), bytes = sgpr();
        const Vgpr address = vgpr(), value = vgpr(), all_above = vgpr();
        v_lshlrev_b32(address, 2, in_wave);
        v_cmp_lt_u32(is_later, wave, in_wave);
        v_cmp_ge_u32(is_counter, HighestShape::kMaxWaves, in_wave);
        s_and_mask(is_later, is_later, is_counter);
        if_lanes(is_later, [&] {
            v_mov_b32(value, above);
            ds_add_u32(address, value, counters + kAbove);
            v_mov_b32(value, equal);
            ds_add_u32(address, value, counters + kEqual);
        });
        barrier();
        s_lshl_b32(bytes, wave, 2);
        v_mov_b32(address, bytes);
        ds_load_b32(position, address, counters + kAbove);
        ds_load_b32(equal_position, address, counters + kEqual);
        v_mov_b32(address, HighestShape::kMaxWaves * 4);
        ds_load_b32(all_above, address, counters + kAbove);
        v_add_nc_u32(equal_position, equal_position, all_above);
    }

    // Masks are read by vector instructions before the scalar unit asks for them: it waits for them by itself, which
    // the cures of gfx12's hazards cannot count on.
    void store_of_load(uint32_t load, Sgpr bottom, Sgpr further, Vgpr position) {
        const Sgpr is_any = lane_mask(), stored = sgpr(), some = sgpr();
        const Vgpr place = vgpr(), nearest = vgpr(), one = vgpr();
        std::vector<Vgpr> heights;  // above the bottom, modulo 2^32
        for (uint32_t i = 0; i < shape.together; ++i) {
            heights.push_back(vgpr());
            v_sub_nc_u32(heights[i], keys[load * shape.together + i], bottom);
            if (i > 0) v_min_u32(nearest, i > 1 ? nearest : heights[0], heights[i]);
        }
        v_cmp_ge_u32(is_any, further, nearest);
        s_mov_b32(stored, 0);
        if_lanes(is_any, [&] {
            std::vector<Sgpr> masks;
            for (uint32_t i = 0; i < shape.together; ++i) {
                masks.push_back(lane_mask());
                v_cmp_ge_u32(masks[i], further, heights[i]);
            }
            for (uint32_t i = 0; i < shape.together; ++i) v_mbcnt_lo_u32_b32(place, masks[i], i > 0 ? place : position);
            for (uint32_t i = 0; i < shape.together; ++i) {
                store(load, i, masks[i], place);
                if (i + 1 < shape.together) v_cndmask_b32(one, 0, 1, masks[i]);
                if (i + 1 < shape.together) v_add_nc_u32(place, one, place);
                s_bcnt1_i32_b32(some, masks[i]);
                s_add_co_u32(stored, stored, some);
            }
        });
        v_add_nc_u32(position, stored, position);
    }

    // The logit again from its key; a pad has none.
    void store(uint32_t load, uint32_t element, Sgpr mask, Vgpr place) {
        const Sgpr is_taken = lane_mask();
        const Vgpr key = keys[load * shape.together + element], pair = vgpr(2), address = vgpr();
        v_cmp_gt_u32(vcc(), kHighest, place);  // while there is room
        s_and_mask(is_taken, vcc(), mask);
        if_lanes(is_taken, [&] {
            const Sgpr is_there = lane_mask();
            v_ashrrev_i32(pair[0], 31, key);
            v_not_b32(pair[0], pair[0]);
            v_or_b32(pair[0], 0x80000000, pair[0]);
            v_xor_b32(pair[0], key, pair[0]);
            v_cmp_ne_u32(is_there, 0, key);
            v_cndmask_b32(pair[0], 0, pair[0], is_there);
            if (is_merge)
                v_mov_b32(pair[1], indices[load * shape.together + element]);
            else
                v_add_nc_u32(pair[1], load * elements_of_load() + element, first);
            v_lshlrev_b32(address, 3, place);
            global_store_b64(address, pair, to);
        });
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const HighestSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("highest", target.wave_size));
    RIFTJIT_TRY_VOID(check_at_most("highest", "width", spec.width, uint64_t(kMaxHighestParts) * kHighestPart));
    return LaunchShape{HighestShape(spec).waves() * HighestShape::kWave,
                       spec.stage == HighestStage::parts ? highest_parts(spec.width) : 1};
}

Result<KernelProgram> program_of(KernelTarget target, const HighestSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<HighestKernel>(target, spec, "highest", options);
}

}  // namespace riftjit::rdna::kernels
