// Loads and stores by runs of lanes: those whose elements lie one behind another, and those that all read the same.
#include <cstring>

#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

using Words = std::array<uint32_t, size_t{kMaxLanes} * kMaxPieceBytes / 4>;

// Whether the next lane is active too, and its element `distance` bytes behind.
bool goes_on(const LaneTargets& targets, int lane, uint64_t distance) {
    const int next = lane + 1;
    return next < static_cast<int>(kMaxLanes) && (targets.active >> next & 1) != 0 &&
           targets.space[next] == targets.space[lane] && targets.address[next] == targets.address[lane] + distance;
}

unsigned lanes_at_distance(const LaneTargets& targets, int lane, uint64_t distance) {
    unsigned lanes = 1;
    while (goes_on(targets, lane + static_cast<int>(lanes) - 1, distance)) ++lanes;
    return lanes;
}

}  // namespace

bool goes_by_runs(const Issue& issue, const LaneTargets& targets) {
    const MemoryOp& op = issue.op;
    return targets.dword_step == 4 && !targets.checks_range && !op.path.atomic &&
           issue.model.configuration.caches != CacheModel::random;
}

unsigned consecutive_lanes(const MemoryOp& op, const LaneTargets& targets, int lane) {
    if (targets.consecutive && lane == 0) return static_cast<unsigned>(std::popcount(targets.active));
    return op.shape.bytes % 4 == 0 ? lanes_at_distance(targets, lane, op.shape.bytes) : 1;
}

unsigned lanes_that_read_the_same(const LaneTargets& targets, int lane) {
    return targets.space[lane] == Space::scratch ? 1 : lanes_at_distance(targets, lane, 0);
}

bool load_run(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, int first_lane, unsigned lanes,
              unsigned element) {
    const MemoryOp& op = issue.op;
    const Run run{targets.space[first_lane], targets.address[first_lane] + op.element_offset[element], lanes,
                  op.shape.bytes};
    const unsigned dwords = op.shape.dwords();
    uint32_t* const values = effect.values + element * dwords * issue.wave.lanes + first_lane;
    uint32_t* const unknown =
        effect.undefined == nullptr ? nullptr : effect.undefined + element * dwords * issue.wave.lanes + first_lane;
    const auto bytes_of = [](uint32_t* words) { return reinterpret_cast<std::byte*>(words); };
    if (dwords == 1) return issue.model.read_run(issue, first_lane, run, bytes_of(values), unknown);
    Words words, undefined;
    if (!issue.model.read_run(issue, first_lane, run, bytes_of(words.data()),
                              unknown == nullptr ? nullptr : undefined.data()))
        return false;
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t to = size_t{d} * issue.wave.lanes;
        for (unsigned i = 0; i < lanes; ++i) values[to + i] = words[i * dwords + d];
        for (unsigned i = 0; unknown != nullptr && i < lanes; ++i) unknown[to + i] = undefined[i * dwords + d];
    }
    return true;
}

bool store_run(Issue& issue, const LaneTargets& targets, int first_lane, unsigned lanes, unsigned element) {
    const MemoryOp& op = issue.op;
    const WaveState& wave = issue.wave;
    const Run run{targets.space[first_lane], targets.address[first_lane] + op.element_offset[element], lanes,
                  op.shape.bytes};
    const unsigned dwords = op.shape.dwords();
    const size_t source = size_t{op.data[element]} * wave.lanes + static_cast<unsigned>(first_lane);
    const uint32_t* const values = wave.vgprs + source;
    const uint32_t* const unknown = wave.vgpr_undefined == nullptr ? nullptr : wave.vgpr_undefined + source;
    const auto bytes_of = [](const uint32_t* words) { return reinterpret_cast<const std::byte*>(words); };
    if (dwords == 1) return issue.model.write_run(issue, first_lane, run, bytes_of(values), unknown);
    Words words, undefined;
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t from = size_t{d} * wave.lanes;
        for (unsigned i = 0; i < lanes; ++i) words[i * dwords + d] = values[from + i];
        for (unsigned i = 0; unknown != nullptr && i < lanes; ++i) undefined[i * dwords + d] = unknown[from + i];
    }
    return issue.model.write_run(issue, first_lane, run, bytes_of(words.data()),
                                 unknown == nullptr ? nullptr : undefined.data());
}

namespace {

// Where all active lanes go, if it is one memory; its address array lives as long as the targets.
std::optional<Lanes> all_lanes(const Issue& issue, const LaneTargets& targets, unsigned element) {
    const Space space = targets.space[std::countr_zero(targets.active)];
    bool is_one = space != Space::scratch;
    for_each_lane(targets.active, [&](int lane) { is_one &= targets.space[lane] == space; });
    if (!is_one) return std::nullopt;
    return Lanes{space, targets.active, targets.address.data(), issue.op.element_offset[element], issue.op.shape.bytes};
}

}  // namespace

bool load_all_lanes(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, unsigned element) {
    const std::optional<Lanes> lanes = all_lanes(issue, targets, element);
    if (!lanes) return false;
    Words words, undefined;
    const bool tracked = effect.undefined != nullptr;
    const auto read = issue.model.read_lanes(issue, *lanes, words.data(), tracked ? undefined.data() : nullptr);
    if (read == MemoryModel::LanesRead::no) return false;
    const MemoryShape& shape = issue.op.shape;
    const unsigned dwords = shape.dwords();
    const bool whole_wave = targets.active == issue.wave.all_lanes() && shape.bytes >= 4;
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t to = size_t{element * dwords + d} * issue.wave.lanes;
        if (whole_wave && read == MemoryModel::LanesRead::all_defined) {
            for (unsigned lane = 0; lane < issue.wave.lanes; ++lane)
                effect.values[to + lane] = words[lane * dwords + d];
            if (tracked) std::fill_n(effect.undefined + to, issue.wave.lanes, 0u);
            continue;
        }
        for_each_lane(targets.active, [&](int lane) {
            const size_t from = static_cast<size_t>(lane) * dwords + d, at = to + static_cast<size_t>(lane);
            uint32_t unknown = read == MemoryModel::LanesRead::some_undefined ? undefined[from] : 0;
            if (shape.bytes < 4) return put_part(effect, at, shape, words[from], unknown);
            effect.values[at] = words[from];
            if (tracked) effect.undefined[at] = unknown;
        });
    }
    return true;
}

bool store_all_lanes(Issue& issue, const LaneTargets& targets, unsigned element) {
    const std::optional<Lanes> lanes = all_lanes(issue, targets, element);
    if (!lanes) return false;
    const WaveState& wave = issue.wave;
    const MemoryShape& shape = issue.op.shape;
    const unsigned dwords = shape.dwords(), shift = shape.part == RegisterPart::high_half ? 16 : 0;
    Words words, undefined;
    const bool tracked = wave.vgpr_undefined != nullptr;
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t from = size_t{issue.op.data[element] + d} * wave.lanes;
        for_each_lane(targets.active, [&](int lane) {
            const size_t at = from + static_cast<size_t>(lane), to = static_cast<size_t>(lane) * dwords + d;
            words[to] = wave.vgprs[at] >> shift;
            if (tracked) undefined[to] = wave.vgpr_undefined[at] >> shift;
        });
    }
    return issue.model.write_lanes(issue, *lanes, words.data(), tracked ? undefined.data() : nullptr);
}

void LaneTargets::find_pattern(const MemoryOp& op, unsigned lanes) {
    if (op.shape.bytes % 4 != 0 || op.shape.bytes == 0 || std::popcount(active) != static_cast<int>(lanes)) return;
    uint64_t different = 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
        different |= address[lane] ^ (address[0] + uint64_t{lane} * op.shape.bytes);
    for (unsigned lane = 0; lane < lanes; ++lane)
        different |= static_cast<uint64_t>(space[lane]) ^ static_cast<uint64_t>(space[0]);
    consecutive = different == 0;
}

}  // namespace riftjit::rdna::emulator::memory
