// DS instructions that pass values between lanes and touch no memory: ds_swizzle, ds_permute, ds_bpermute. Each moves
// values within 32 lanes, in wave64 too.
#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr unsigned kLanesReached = 32;

struct LaneValues {
    std::array<uint32_t, kMaxLanes> value{}, undefined{};
};

LaneValues gather(const WaveState& wave, unsigned vgpr, uint64_t active) {
    LaneValues lanes;
    for_each_lane(active, [&](int lane) {
        lanes.value[lane] = wave.vgpr(vgpr)[lane];
        if (wave.vgpr_undefined != nullptr)
            lanes.undefined[lane] = wave.vgpr_undefined[vgpr * wave.lanes + static_cast<unsigned>(lane)];
    });
    return lanes;
}

void give(MemoryEffect& effect, const LaneValues& lanes, uint64_t active) {
    effect.lanes = active;
    for_each_lane(active, [&](int lane) {
        effect.values[lane] = lanes.value[lane];
        if (effect.undefined != nullptr) effect.undefined[lane] = lanes.undefined[lane];
    });
}

// Every active lane takes what `source_of` says another holds, or 0 where that one is off.
template <class SourceOf>
void pull(MemoryEffect& effect, const WaveState& wave, unsigned vgpr, const SourceOf& source_of) {
    const uint64_t active = wave.exec() & wave.all_lanes();
    const LaneValues held = gather(wave, vgpr, active);
    LaneValues taken;
    for_each_lane(active, [&](int lane) {
        const unsigned half = static_cast<unsigned>(lane) / kLanesReached * kLanesReached;
        const unsigned source = half + source_of(lane) % kLanesReached;
        if ((active >> source & 1) == 0) return;
        taken.value[lane] = held.value[source];
        taken.undefined[lane] = held.undefined[source];
    });
    give(effect, taken, active);
}

unsigned reversed_bits(unsigned lane) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit) reversed |= (lane >> bit & 1) << (4 - bit);
    return reversed;
}

// RDNA ISA guides, "DS_SWIZZLE_B32": the offset's top bits choose the mode.
unsigned swizzle_source(uint16_t control, unsigned lane) {
    constexpr uint16_t kFft = 0xE000, kRotate = 0xC000, kQuad = 0x8000;
    const unsigned low = control & 31;
    if (control >= kFft) return reversed_bits(lane) >> std::popcount(low) | (lane & low);
    if (control >= kRotate) {
        const unsigned distance = control >> 5 & 31, back = control >> 10 & 1;
        const unsigned moved = back != 0 ? lane - distance : lane + distance;
        return (lane & low) | (moved & ~low & 31);
    }
    if (control >= kQuad) return (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
    return ((lane & low) | (control >> 5 & 31)) ^ (control >> 10 & 31);
}

}  // namespace

void run_swizzle(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    pull(effect, wave, op.vaddr,
         [&](int lane) { return swizzle_source(op.swizzle, static_cast<unsigned>(lane) % kLanesReached); });
    model.finish(issue, effect);
}

void run_bpermute(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    pull(effect, wave, op.data[0],
         [&](int lane) { return (wave.vgpr(op.vaddr)[lane] + static_cast<uint32_t>(op.offset)) / 4; });
    model.finish(issue, effect);
}

// The other way round: each lane sends its value. Lanes that nobody sends to get 0; of several senders the last wins.
void run_permute(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    const uint64_t active = wave.exec() & wave.all_lanes();
    const LaneValues held = gather(wave, op.data[0], active);
    LaneValues received;
    for_each_lane(active, [&](int lane) {
        const unsigned half = static_cast<unsigned>(lane) / kLanesReached * kLanesReached;
        const uint32_t address = wave.vgpr(op.vaddr)[lane] + static_cast<uint32_t>(op.offset);
        const unsigned target = half + address / 4 % kLanesReached;
        received.value[target] = held.value[lane];
        received.undefined[target] = held.undefined[lane];
    });
    give(effect, received, active);
    model.finish(issue, effect);
}

}  // namespace riftjit::rdna::emulator::memory
