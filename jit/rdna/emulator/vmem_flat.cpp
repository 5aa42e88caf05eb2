// Addresses of FLAT, GLOBAL and SCRATCH.
#include "jit/rdna/emulator/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

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
    count_access(issue, targets);
    perform(issue, effect, targets, 0);
    model.finish(issue, effect);
}

uint64_t address_pair(const WaveState& wave, const MemoryOp& op, int lane) {
    return wave.vgpr(op.vaddr)[lane] | static_cast<uint64_t>(wave.vgpr(op.vaddr + 1u)[lane]) << 32;
}

}  // namespace

void run_global(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    run_lanes(system, wave, data, effect, [&](const MemoryOp& op, int lane, LaneTargets& targets) {
        targets.space[lane] = Space::global;
        uint64_t address = static_cast<uint64_t>(op.offset);
        if (op.saddr.kind == MemoryScalar::Kind::registers) {
            address += op.saddr.read_pair(wave);
            if (!op.shape.thread_address) address += wave.vgpr(op.vaddr)[lane];
        } else if (!op.shape.thread_address) {
            address += address_pair(wave, op, lane);
        }
        if (op.shape.thread_address) address += static_cast<uint64_t>(lane) * 4;
        targets.address[lane] = address;
    });
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
