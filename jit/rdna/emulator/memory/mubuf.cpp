// Addresses of MUBUF.
#include <fmt/format.h>

#include "jit/rdna/emulator/memory/buffer_resource.h"
#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

struct LaneIndex {
    uint32_t index, offset;
};

LaneIndex lane_index(const WaveState& wave, const MemoryOp& op, const BufferResource& resource, int lane) {
    LaneIndex at{0, static_cast<uint32_t>(op.offset)};
    unsigned next = op.vaddr;  // the index comes before the offset
    if (op.index_enable) at.index = wave.vgpr(next++)[lane];
    if (op.offset_enable) at.offset += wave.vgpr(next)[lane];
    if (resource.adds_lane) at.index += static_cast<uint32_t>(lane);
    return at;
}

}  // namespace

void run_buffer(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    const BufferResource resource = buffer_resource(wave.scalars + op.resource, op.generation);
    const uint32_t scalar_offset = op.soffset.read(wave);
    LaneTargets targets;
    targets.active = wave.exec() & wave.all_lanes();
    const bool own_scratch =
        issue.memory.scratch != nullptr && resource.base == issue.memory.scratch->base && resource.adds_lane;
    if (resource.is_null() && targets.active != 0)
        model.findings.report(
            FindingKind::out_of_bounds, wave, std::countr_zero(targets.active),
            fmt::format("the buffer resource in s[{}:{}] has no address", op.resource, op.resource + 3u));
    targets.checks_range = !own_scratch;
    if (resource.swizzled && !own_scratch) targets.dword_step = 4 * resource.index_stride;
    for_each_lane(targets.active, [&](int lane) {
        const LaneIndex at = lane_index(wave, op, resource, lane);
        targets.space[lane] = own_scratch ? Space::scratch : Space::global;
        if (own_scratch) {
            // What is added to the base unswizzled moves every lane's offset by a 32nd or 64th of it.
            targets.address[lane] = at.offset + scalar_offset / wave.lanes;
            return;
        }
        const uint32_t in_range =
            resource.is_null() ? 0 : resource.in_range(at.index, at.offset, scalar_offset, op.shape.bytes);
        // Whole dwords are in or out.
        targets.bytes_in_range[lane] =
            static_cast<uint8_t>(op.shape.bytes < 4 ? (in_range < op.shape.bytes ? 0 : in_range) : in_range / 4 * 4);
        targets.address[lane] = resource.address(at.index, at.offset) + scalar_offset;
    });
    count_access(issue, targets);
    perform(issue, effect, targets, 0);
    model.finish(issue, effect);
}

}  // namespace riftjit::rdna::emulator::memory
