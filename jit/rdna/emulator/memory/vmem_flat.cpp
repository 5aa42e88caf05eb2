// Addresses of FLAT, GLOBAL and SCRATCH.
#include <algorithm>

#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

void run_targets(Issue& issue, MemoryEffect& effect, LaneTargets& targets) {
    targets.find_pattern(issue.op, issue.wave.lanes);
    count_access(issue, targets);
    perform(issue, effect, targets, 0);
    issue.model.finish(issue, effect);
}

// The whole instruction, given how a lane's address is found.
template <class AddressOf>
void run_lanes(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect,
               const AddressOf& address_of) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    LaneTargets targets;
    targets.active = wave.exec() & wave.all_lanes();
    for_each_lane(targets.active, [&](int lane) { address_of(op, lane, targets); });
    run_targets(issue, effect, targets);
}

uint64_t address_pair(const WaveState& wave, const MemoryOp& op, int lane) {
    return wave.vgpr(op.vaddr)[lane] | static_cast<uint64_t>(wave.vgpr(op.vaddr + 1u)[lane]) << 32;
}

}  // namespace

void run_global(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    LaneTargets targets;
    targets.active = wave.exec() & wave.all_lanes();
    const bool based = op.saddr.kind == MemoryScalar::Kind::registers;
    const uint64_t base = static_cast<uint64_t>(op.offset) + (based ? op.saddr.read_pair(wave) : 0);
    std::fill_n(targets.space.begin(), wave.lanes, Space::global);
    // Lanes that are off too: this the compiler turns into vector code.
    const uint32_t* const low = op.shape.thread_address ? nullptr : wave.vgpr(op.vaddr);
    const uint32_t* const high = based || low == nullptr ? nullptr : wave.vgpr(op.vaddr + 1u);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) targets.address[lane] = base;
    for (unsigned lane = 0; low != nullptr && lane < wave.lanes; ++lane) targets.address[lane] += low[lane];
    for (unsigned lane = 0; high != nullptr && lane < wave.lanes; ++lane)
        targets.address[lane] += static_cast<uint64_t>(high[lane]) << 32;
    for (unsigned lane = 0; low == nullptr && lane < wave.lanes; ++lane) targets.address[lane] += uint64_t{lane} * 4;
    run_targets(issue, effect, targets);
}

// The aperture is that of the address register; the offset moves within it. (An address that the offset moves across
// an aperture's edge is unpredictable.)
void run_flat(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    run_lanes(system, wave, data, effect, [&](const MemoryOp& op, int lane, LaneTargets& targets) {
        const uint64_t address = address_pair(wave, op, lane);
        const bool lds = address >> 32 == wave.shared_base >> 32;
        const bool scratch = address >> 32 == wave.private_base >> 32;
        targets.space[lane] = lds ? Space::lds : scratch ? Space::scratch : Space::global;
        targets.address[lane] = (lds || scratch ? address & 0xFFFFFFFFu : address) + static_cast<uint64_t>(op.offset);
    });
}

void run_scratch(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    run_lanes(system, wave, data, effect, [&](const MemoryOp& op, int lane, LaneTargets& targets) {
        uint32_t offset = static_cast<uint32_t>(op.offset) + op.saddr.read(wave);
        if (op.vaddr != MemoryOp::kNoRegister) offset += wave.vgpr(op.vaddr)[lane];
        targets.space[lane] = Space::scratch;
        targets.address[lane] = offset;
    });
}

}  // namespace riftjit::rdna::emulator::memory
