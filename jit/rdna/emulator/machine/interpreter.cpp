#include "jit/rdna/emulator/machine/interpreter.h"

#include <fmt/format.h>

#include "jit/rdna/emulator/scalar/salu.h"

namespace riftjit::rdna::emulator {
namespace {

bool is_taken(const WaveState& wave, BranchCondition condition) {
    switch (condition) {
        case BranchCondition::always:
            return true;
        case BranchCondition::scc0:
            return wave.scc == 0;
        case BranchCondition::scc1:
            return wave.scc != 0;
        case BranchCondition::vccz:
            return wave.vcc() == 0;
        case BranchCondition::vccnz:
            return wave.vcc() != 0;
        case BranchCondition::execz:
            return wave.exec() == 0;
        case BranchCondition::execnz:
            return wave.exec() != 0;
    }
    return false;
}

WaitTracker::Delivery delivery(const Checks& checks) {
    return checks.waits ? WaitTracker::Delivery::withheld : WaitTracker::Delivery::at_once;
}

}  // namespace

Stop Interpreter::run(Wave& wave, uint64_t budget, uint64_t& executed) {
    if (wave.status == Wave::Status::at_barrier) {
        if (!wave.can_run()) return Stop::barrier;
        ++wave.phases_waited[wave.barrier];
        wave.status = Wave::Status::running;
        memory_.barrier_wait_done(wave.state, wave.barrier);
    }
    return wave.state.tracking ? loop<Checking::on>(wave, budget, executed)
                               : loop<Checking::off>(wave, budget, executed);
}

// While an instruction executes, state.op is it; between instructions state.next is where the wave stands.
template <Interpreter::Checking kChecking>
Stop Interpreter::loop(Wave& wave, uint64_t budget, uint64_t& executed) {
    const Op* next = wave.state.next;
    Stop stop = Stop::quantum;
    uint64_t left = budget;
    while (left > 0) {
        while (next->kind == OpKind::link) next = next->target;
        const Op& op = *next;
        wave.state.op = &op;
        next = &op + 1;
        --left;
        ++wave.state.cycle;
        ++counts_.instructions[static_cast<size_t>(op.counted_as)];
        stop = step<kChecking>(wave, op, next);
        if (stop != Stop::quantum) break;
    }
    wave.state.next = next;
    executed += budget - left;
    return stop;
}

template <Interpreter::Checking kChecking>
Stop Interpreter::step(Wave& wave, const Op& op, const Op*& next) {
    WaveState& state = wave.state;
    constexpr bool kChecked = kChecking == Checking::on;
    if constexpr (kChecked)
        if (op.kind != OpKind::fault && !precheck(wave, op)) return Stop::fault;
    switch (op.kind) {
        case OpKind::valu:
            if constexpr (kChecked) {
                if (state.vgpr_undefined) spread_valu(state, op);
                if (checks_.overlap && check_overlap(state, op)) lose_upper_half(state, op);
                if (checks_.wmma) check_wmma_exec(state, op);
            }
            op.valu.run(state, op.valu.data);
            return Stop::quantum;
        case OpKind::scalar:
            if (kChecked && state.vgpr_undefined) {
                const ScalarSpread spread = spread_scalar_before(state, op);
                op.scalar(state, op);
                spread_scalar_after(state, op, spread);
            } else {
                op.scalar(state, op);
            }
            return Stop::quantum;
        case OpKind::memory:
            if constexpr (kChecked) {
                if (state.vgpr_undefined) check_memory_operands(state, op);
                wave.tracking.waits.issue(state, op, memory_, delivery(checks_));
            } else {
                run_memory_unchecked(state, op);
            }
            return Stop::quantum;
        case OpKind::branch:
            if (kChecked && state.vgpr_undefined) check_branch(state, op);
            return is_taken(state, op.condition) ? branch_to(state, op, next) : Stop::quantum;
        case OpKind::subvector_loop:
            if (kChecked && state.vgpr_undefined) check_subvector_loop(state, op);
            return takes_subvector_loop(state, op) ? branch_to(state, op, next) : Stop::quantum;
        case OpKind::jump:
            if (kChecked && state.vgpr_undefined) check_jump(state, op);
            return jump(wave, op, next);
        case OpKind::control:
            return control(wave, op);
        case OpKind::end:
            return end(wave);
        case OpKind::fault:
        case OpKind::link:
            break;
    }
    state.findings->report(op.fault, state, kNoLane, op.detail);
    return Stop::fault;
}

bool Interpreter::precheck(Wave& wave, const Op& op) {
    WaveState& state = wave.state;
    if (checks_.registers && !check_registers(state, op)) return false;
    if (checks_.hazards || checks_.sgpr_read_hazard) wave.tracking.hazards.step(state, op, checks_);
    wave.tracking.waits.check(state, op);
    return true;
}

void Interpreter::run_memory_unchecked(WaveState& wave, const Op& op) {
    const OperandRange& loaded = op.checks->loaded;
    MemoryEffect effect;
    if (!op.checks->keeps_half) {
        effect.values = loaded.scalar ? wave.scalars + loaded.first : wave.vgpr(loaded.first);
        memory_.execute(wave, op.memory, effect);
        return;
    }
    uint32_t values[2 * 64];
    effect.values = values;
    memory_.execute(wave, op.memory, effect);
    for (unsigned i = 0; i < loaded.count; ++i)
        for (uint64_t left = effect.lanes; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            uint32_t& word = wave.vgpr(loaded.first + i)[lane];
            word = (word & ~effect.bits) | (values[i * wave.lanes + static_cast<unsigned>(lane)] & effect.bits);
        }
}

Stop Interpreter::branch_to(WaveState& state, const Op& op, const Op*& next) {
    if (!op.target) {
        state.findings->report(FindingKind::bad_jump, state, kNoLane, "the branch leads to no instruction");
        return Stop::fault;
    }
    next = op.target;
    return Stop::quantum;
}

Stop Interpreter::jump(Wave& wave, const Op& op, const Op*& next) {
    WaveState& state = wave.state;
    const bool is_call = op.instruction.opcode == Opcode::s_call_b64;
    const uint64_t address = is_call ? 0 : source64(state, op, 0);
    const Op* target = is_call ? op.target : op.program->at(address);
    if (op.instruction.opcode != Opcode::s_setpc_b64 && op.destination >= 0) {
        write64(state, op, op.end_address());
        if (state.vgpr_undefined)
            for (unsigned i = 0; i < 2; ++i) mark_scalar(state, static_cast<unsigned>(op.destination) + i, 0);
    }
    if (!target) {
        state.findings->report(FindingKind::bad_jump, state, kNoLane, fmt::format("{:#x} is no instruction", address));
        return Stop::fault;
    }
    next = target;
    return Stop::quantum;
}

Stop Interpreter::control(Wave& wave, const Op& op) {
    WaveState& state = wave.state;
    switch (op.instruction.opcode) {
        case Opcode::s_sleep:
        case Opcode::s_sleep_var:
            return Stop::sleep;
        case Opcode::s_sendmsg:
            if (op.checks->hazards.dealloc) release_vgprs(state);
            return Stop::quantum;
        case Opcode::s_sendmsg_rtn_b32:  // the time: other messages are refused
        case Opcode::s_sendmsg_rtn_b64:
        case Opcode::s_memtime:
        case Opcode::s_memrealtime:
            deliver_scalar(state, op, state.cycle);
            return Stop::quantum;
        case Opcode::s_waitcnt:
            if (state.generation == Generation::gfx12) {
                state.findings->report(FindingKind::illegal_instruction, state, kNoLane,
                                       "gfx12 has a wait for each counter instead");
                return Stop::fault;
            }
            break;
        default:
            break;
    }
    if (op.counted_as == InstructionClass::barrier) return barrier_instruction(wave, op);
    if (state.tracking) wave.tracking.waits.wait(state, wait_of(op.instruction, state.generation), memory_);
    return Stop::quantum;
}

// LLVM sends the message only where no store to scratch is outstanding (SIInsertWaitcnts.cpp).
void Interpreter::release_vgprs(WaveState& wave) {
    wave.vgpr_count = 0;
    if (checks_.hazards && wave.tracking->waits.has_scratch_store())
        wave.findings->report(FindingKind::dealloc_message, wave, kNoLane, "a store to scratch is outstanding");
}

void Interpreter::deliver_scalar(WaveState& wave, const Op& op, uint64_t value) {
    if (op.destination < 0) return;
    const OperandRange range{true, static_cast<uint16_t>(op.destination), op.destination_dwords};
    if (wave.tracking) {
        const Counter counter = wave.generation == Generation::gfx12 ? Counter::km : Counter::ds;
        wave.tracking->waits.issue_scalar(wave, counter, range, value, delivery(checks_));
        return;
    }
    for (unsigned i = 0; i < range.count; ++i) wave.scalars[range.first + i] = static_cast<uint32_t>(value >> 32 * i);
}

Stop Interpreter::end(Wave& wave) {
    WaveState& state = wave.state;
    Group& group = *state.group;
    wave.status = Wave::Status::ended;
    memory_.end_wave(state);
    ++group.waves_ended;
    Barrier& barrier = group.barriers[0];
    if (barrier.signalled > 0 && barrier.signalled < barrier.members)
        state.findings->report(FindingKind::barrier_not_reached, state, kNoLane,
                               fmt::format("the wave ends while {} of {} waves have arrived at the workgroup's barrier",
                                           barrier.signalled, barrier.members));
    if (barrier.members > 0) --barrier.members;
    complete_if_all_signalled(group, 0);
    return Stop::ended;
}

}  // namespace riftjit::rdna::emulator
