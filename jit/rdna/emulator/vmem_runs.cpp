// Loads and stores by runs of lanes: those whose elements lie one behind another, and those that all read the same.
#include <cstring>

#include "jit/rdna/emulator/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

using RunBytes = std::array<std::byte, size_t{kMaxLanes} * kMaxPieceBytes>;
using RunUndefined = std::array<uint32_t, size_t{kMaxLanes} * kMaxPieceBytes / 4>;

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
    RunBytes bytes;
    RunUndefined undefined;
    const bool tracked = effect.undefined != nullptr;
    if (!issue.model.read_run(issue, first_lane, run, bytes.data(), tracked ? undefined.data() : nullptr)) return false;
    const unsigned dwords = op.shape.dwords();
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t to = (element * dwords + d) * issue.wave.lanes + static_cast<unsigned>(first_lane);
        for (unsigned i = 0; i < lanes; ++i)
            std::memcpy(effect.values + to + i, bytes.data() + size_t{4} * (i * dwords + d), 4);
        for (unsigned i = 0; tracked && i < lanes; ++i) effect.undefined[to + i] = undefined[i * dwords + d];
    }
    return true;
}

bool store_run(Issue& issue, const LaneTargets& targets, int first_lane, unsigned lanes, unsigned element) {
    const MemoryOp& op = issue.op;
    const WaveState& wave = issue.wave;
    const Run run{targets.space[first_lane], targets.address[first_lane] + op.element_offset[element], lanes,
                  op.shape.bytes};
    RunBytes bytes;
    RunUndefined undefined;
    const bool tracked = wave.vgpr_undefined != nullptr;
    const unsigned dwords = op.shape.dwords();
    for (unsigned d = 0; d < dwords; ++d) {
        const size_t from = (op.data[element] + d) * wave.lanes + static_cast<unsigned>(first_lane);
        for (unsigned i = 0; i < lanes; ++i)
            std::memcpy(bytes.data() + size_t{4} * (i * dwords + d), wave.vgprs + from + i, 4);
        for (unsigned i = 0; tracked && i < lanes; ++i) undefined[i * dwords + d] = wave.vgpr_undefined[from + i];
    }
    return issue.model.write_run(issue, first_lane, run, bytes.data(), tracked ? undefined.data() : nullptr);
}

}  // namespace riftjit::rdna::emulator::memory
