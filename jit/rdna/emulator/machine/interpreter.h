// Executes one wave's instructions until something else must happen first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/group.h"
#include "jit/rdna/emulator/machine/program.h"

namespace riftjit::rdna::emulator {

// A wave with its storage and where it stands.
struct Wave {
    WaveState state{};
    WaveTracking tracking;
    std::unique_ptr<uint32_t[], void (*)(void*)> vgprs{nullptr, nullptr};
    std::unique_ptr<uint32_t[], void (*)(void*)> undefined{nullptr, nullptr};
    uint32_t vgprs_used = 0;  // by launches since the registers were allocated

    enum class Status : uint8_t { running, at_barrier, ended };
    Status status = Status::running;
    unsigned barrier = 0;         // that it waits at
    unsigned joined_barrier = 0;  // the named barrier that s_barrier_wait 1 means
    std::array<uint64_t, kBarriers> phases_signalled{}, phases_waited{};

    bool can_run() const {
        return status == Status::running ||
               (status == Status::at_barrier && state.group->barriers[barrier].phase >= phases_waited[barrier] + 1);
    }
};

enum class Stop : uint8_t { quantum, barrier, sleep, ended, fault };

class Interpreter {
public:
    Interpreter(MemorySystem& memory, const Checks& checks) : memory_(memory), checks_(checks) {}

    // At most `budget` instructions, whose number is added to `executed`.
    Stop run(Wave& wave, uint64_t budget, uint64_t& executed);
    const Counts& counts() const { return counts_; }

private:
    enum class Checking : uint8_t { off, on };
    template <Checking kChecking>
    Stop loop(Wave& wave, uint64_t budget, uint64_t& executed);
    template <Checking kChecking>
    Stop step(Wave& wave, const Op& op, const Op*& next);

    bool precheck(Wave& wave, const Op& op);
    void run_memory_unchecked(WaveState& wave, const Op& op);
    Stop branch_to(WaveState& state, const Op& op, const Op*& next);
    Stop jump(Wave& wave, const Op& op, const Op*& next);
    Stop control(Wave& wave, const Op& op);
    Stop end(Wave& wave);
    void release_vgprs(WaveState& wave);
    void deliver_scalar(WaveState& wave, const Op& op, uint64_t value);

    Stop barrier_instruction(Wave& wave, const Op& op);
    void barrier_signal(Wave& wave, unsigned barrier);
    Stop barrier_wait(Wave& wave, unsigned barrier);
    void complete_if_all_signalled(Group& group, unsigned barrier);
    unsigned barrier_number(const WaveState& wave, const Op& op) const;

    MemorySystem& memory_;
    Checks checks_;
    Counts counts_;
};

}  // namespace riftjit::rdna::emulator
