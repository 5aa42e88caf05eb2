// A counter that threads wait on: spins while that is cheap, then sleeps in the kernel, so that a core shared with
// other work does not burn its time slice waiting for a thread that cannot run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace riftjit {

// Memory that its thread reads next: a wait brings it into the second-level cache, line by line, instead of pausing.
struct Ahead {
    const std::byte* next = nullptr;
    const std::byte* end = nullptr;
};

class Signal {
public:
    uint32_t value() const { return value_.load(std::memory_order_acquire); }

    // Returns once value() differs from `old`, and how many time stamp ticks that took. Sleeps after `spin_ticks`.
    uint64_t wait_while(uint32_t old, uint64_t spin_ticks, Ahead& ahead);
    uint64_t wait_while(uint32_t old, uint64_t spin_ticks) {
        Ahead nothing;
        return wait_while(old, spin_ticks, nothing);
    }

    // Changes the value and wakes who sleeps. What was written before is visible to who saw the new value.
    void advance();

private:
    // Writer: value, then sleepers; waiter: sleepers, then value (both sequentially consistent). One of them sees the
    // other, hence no wake-up is lost and the common case costs no system call.
    std::atomic<uint32_t> value_ = 0;
    std::atomic<uint32_t> sleepers_ = 0;
};

}  // namespace riftjit
