// Workgroup barriers: whole ones of gfx10 and gfx11, split and named ones of gfx12.
#include <fmt/format.h>

#include "jit/rdna/emulator/machine/interpreter.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kWorkgroupBarrier = 0, kTrapBarrier = 17, kNamedBarriers = 16;

// The numbers of the code: -1 is the workgroup's, -2 the trap handler's, 1 to 16 are named.
unsigned index_of(int number) {
    if (number == -1) return kWorkgroupBarrier;
    if (number == -2) return kTrapBarrier;
    return number >= 1 && number <= static_cast<int>(kNamedBarriers) ? static_cast<unsigned>(number) : kBarriers;
}

}  // namespace

unsigned Interpreter::barrier_number(const WaveState& wave, const Op& op) const {
    const ScalarSource& source = op.sources[0];
    if (source.code < 0) return index_of(static_cast<int>(source.constant));
    return index_of(static_cast<int>(wave.m0() & 0x3F));
}

Stop Interpreter::barrier_instruction(Wave& wave, const Op& op) {
    WaveState& state = wave.state;
    const Opcode opcode = op.instruction.opcode;
    if (opcode == Opcode::s_barrier) {
        barrier_signal(wave, kWorkgroupBarrier);
        return barrier_wait(wave, kWorkgroupBarrier);
    }
    if (opcode == Opcode::s_barrier_wait) {
        const int number = static_cast<int16_t>(op.instruction.simm16);
        return barrier_wait(wave, number < 0 ? index_of(number) : wave.joined_barrier);
    }
    const unsigned barrier = opcode == Opcode::s_barrier_leave ? wave.joined_barrier : barrier_number(state, op);
    if (barrier >= kBarriers) {
        state.findings->report(FindingKind::barrier_misuse, state, kNoLane, "there is no such barrier");
        return Stop::quantum;
    }
    Barrier& chosen = state.group->barriers[barrier];
    switch (opcode) {
        case Opcode::s_barrier_signal_isfirst:
            state.scc = chosen.signalled == 0;
            state.scc_undefined = 0;
            barrier_signal(wave, barrier);
            break;
        case Opcode::s_barrier_signal:
            barrier_signal(wave, barrier);
            break;
        case Opcode::s_barrier_init:
            chosen = {.members = state.m0() >> 16 & 0x7F};
            break;
        case Opcode::s_barrier_join:
            wave.joined_barrier = barrier;
            wave.phases_waited[barrier] = wave.phases_signalled[barrier] = chosen.phase;
            break;
        case Opcode::s_barrier_leave:
            state.scc = chosen.members > 0;
            if (chosen.members > 0) --chosen.members;
            complete_if_all_signalled(*state.group, barrier);
            break;
        case Opcode::s_get_barrier_state:
            deliver_scalar(state, op, chosen.signalled << 16 | chosen.members << 4 | 1u);
            break;
        default:
            break;
    }
    return Stop::quantum;
}

void Interpreter::barrier_signal(Wave& wave, unsigned barrier) {
    WaveState& state = wave.state;
    Group& group = *state.group;
    Barrier& chosen = group.barriers[barrier];
    if (barrier == kWorkgroupBarrier) {
        if (wave.phases_signalled[barrier] > wave.phases_waited[barrier])
            state.findings->report(FindingKind::barrier_misuse, state, kNoLane,
                                   "the wave signals the barrier again without having waited for it");
        if (group.waves_ended > 0)
            state.findings->report(
                FindingKind::barrier_not_reached, state, kNoLane,
                fmt::format("{} of the workgroup's waves ended without arriving at the barrier", group.waves_ended));
    }
    memory_.barrier_signal(state, barrier);
    ++wave.phases_signalled[barrier];
    ++chosen.signalled;
    complete_if_all_signalled(group, barrier);
}

Stop Interpreter::barrier_wait(Wave& wave, unsigned barrier) {
    WaveState& state = wave.state;
    if (barrier >= kBarriers) {
        state.findings->report(FindingKind::barrier_misuse, state, kNoLane, "there is no such barrier");
        return Stop::quantum;
    }
    if (barrier == kWorkgroupBarrier && wave.phases_signalled[barrier] == wave.phases_waited[barrier])
        state.findings->report(FindingKind::barrier_misuse, state, kNoLane,
                               "the wave waits for the barrier without having signalled it");
    wave.status = Wave::Status::at_barrier;
    wave.barrier = barrier;
    return Stop::barrier;
}

void Interpreter::complete_if_all_signalled(Group& group, unsigned barrier) {
    Barrier& chosen = group.barriers[barrier];
    if (chosen.signalled == 0 || chosen.signalled < chosen.members) return;
    chosen.signalled = 0;
    ++chosen.phase;
}

}  // namespace riftjit::rdna::emulator
