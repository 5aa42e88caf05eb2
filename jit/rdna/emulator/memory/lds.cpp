// DS instructions that access LDS.
#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {

// Address and offset are added in 32 bits, so a negative address with a large enough offset is inside.
void run_lds(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    LaneTargets targets;
    targets.active = wave.exec() & wave.all_lanes();
    for_each_lane(targets.active, [&](int lane) {
        targets.space[lane] = Space::lds;
        const uint32_t address = op.shape.thread_address ? (wave.m0() & 0xFFFF) + static_cast<uint32_t>(lane) * 4
                                                         : wave.vgpr(op.vaddr)[lane];
        targets.address[lane] = op.shape.elements == 1 ? address + static_cast<uint32_t>(op.offset) : address;
    });
    targets.find_pattern(op, wave.lanes);
    count_access(issue, targets);
    for (unsigned element = 0; element < op.shape.elements; ++element) perform(issue, effect, targets, element);
    model.finish(issue, effect);
}

// ds_append, ds_consume: one counter, moved by the number of active lanes, which all get its old value.
void run_lds_counter(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    const uint64_t active = wave.exec() & wave.all_lanes();
    if (active != 0) {
        const int lane = std::countr_zero(active);
        uint64_t address = (wave.m0() & 0xFFFF) + static_cast<uint64_t>(op.offset);
        if (!model.aligned(issue, lane, address, 4)) address -= address % 4;
        const Place place = model.locate(issue, lane, Space::lds, address, 4);
        uint32_t undefined = 0;
        const uint64_t old = model.modify(issue, lane, place, AtomicWidth::b32,
                                          static_cast<uint64_t>(std::popcount(active)), 0, undefined);
        uint32_t unknown = 0;
        for (unsigned byte = 0; byte < 4; ++byte)
            if (undefined >> byte & 1) unknown |= 0xFFu << 8 * byte;
        effect.lanes = active;
        for_each_lane(active, [&](int each) {
            effect.values[each] = static_cast<uint32_t>(old);
            if (effect.undefined != nullptr) effect.undefined[each] = unknown;
        });
        issue.memory.counts.lds_bytes_loaded += 4;
        issue.memory.counts.lds_bytes_stored += 4;
    }
    model.finish(issue, effect);
}

}  // namespace riftjit::rdna::emulator::memory
