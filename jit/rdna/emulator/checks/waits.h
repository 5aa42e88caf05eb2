// Memory operations in flight: counters, and results that are withheld until a wait proves that they have come.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/rdna/emulator/checks/footprint.h"
#include "jit/rdna/emulator/machine/executors.h"

namespace riftjit::rdna::emulator {

// By gfx12's names. gfx10 and gfx11 count LDS and scalar memory together: their lgkmcnt is `ds`.
enum class Counter : uint8_t { load, store, ds, km, count };
inline constexpr size_t kCounters = static_cast<size_t>(Counter::count);

// In order: among their like, operations leave the counter as they entered it.
enum class Arrival : uint8_t { none, in_order, any_order };

struct CounterUse {
    std::array<Arrival, kCounters> raises{};
    bool any() const;
};
// FLAT raises two counters, and its loads take their turn in both (SIInsertWaitcnts.cpp, hasFlatLgkmVMemCountInOrder:
// every chip after gfx9). Stores become visible in any order.
CounterUse counters_of(const Instruction& instruction, Generation generation);

// How many operations may stay outstanding; kNoWait: as many as there are.
inline constexpr uint8_t kNoWait = 255;
struct WaitRequest {
    std::array<uint8_t, kCounters> at_most = {kNoWait, kNoWait, kNoWait, kNoWait};
    bool any() const { return at_most != WaitRequest{}.at_most; }
};
// Empty unless it is one of the wait instructions.
WaitRequest wait_of(const Instruction& instruction, Generation generation);

// What one operation will leave behind.
struct PendingResult {
    OperandRange destination;
    uint8_t counters_left = 0;
    uint32_t bits = ~0u;
    bool is_scratch_store = false;
    uint64_t lanes = 0;
    uint32_t token = 0;
    std::vector<uint32_t> values, undefined;
};

class WaitTracker {
public:
    // Reports reads and writes of registers whose value has not come.
    void check(WaveState& wave, const Op& op) {
        if (!pending_.empty()) [[unlikely]]
            check_pending(wave, op);
    }
    // Executes a memory instruction, and puts its result in flight or, unless `withhold`, in the registers.
    enum class Delivery : uint8_t { withheld, at_once };
    void issue(WaveState& wave, const Op& op, MemorySystem& memory, Delivery delivery);
    // A value that the machine itself computes, but that comes through a counter (messages, clocks).
    void issue_scalar(WaveState& wave, Counter counter, OperandRange destination, uint64_t value, Delivery delivery);
    void wait(WaveState& wave, const WaitRequest& request, MemorySystem& memory);
    bool has_scratch_store() const;
    void reset();

private:
    struct Entry {
        PendingResult* access;
        Arrival arrival;
    };
    void check_pending(WaveState& wave, const Op& op);
    bool arrives_after(const WaveState& wave, const Op& op, OperandRange range) const;
    PendingResult* take_access();
    void enqueue(WaveState& wave, PendingResult* access, const CounterUse& use, MemorySystem* memory);
    void hold_back(WaveState& wave, PendingResult& access);
    void leave_queue(WaveState& wave, Entry entry, MemorySystem* memory);
    void deliver(WaveState& wave, PendingResult& access);
    void set_pending(OperandRange range, int change);

    std::array<std::vector<Entry>, kCounters> queues_;
    std::vector<std::unique_ptr<PendingResult>> accesses_;
    std::vector<PendingResult*> free_;
    RegisterSet pending_;
    std::array<uint8_t, 256> pending_vgprs_{};
    std::array<uint8_t, 128> pending_scalars_{};
};

}  // namespace riftjit::rdna::emulator
