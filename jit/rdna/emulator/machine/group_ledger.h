// Workgroups that host threads run side by side, accounted for in the order in which one thread would run them: whether
// and where a launch stops, and what it reports, is the same at any number of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/emulator/machine/scheduler.h"

namespace riftjit::rdna::emulator {

class GroupLedger {
public:
    GroupLedger(const LaunchContext& launch, const LaunchOptions& options) : launch_(launch), options_(options) {}

    // The turn of the next workgroup to run; none when all have been taken or the launch stops before it.
    std::optional<uint64_t> take();
    uint32_t group(uint64_t turn) const;
    // False once a workgroup with an earlier turn has stopped the launch.
    bool is_wanted(uint64_t turn) const { return turn <= stop_.load(std::memory_order_relaxed); }
    // `executed` instructions of this workgroup's own.
    void finish(uint64_t turn, Outcome outcome, uint64_t executed);
    // When all threads have come back.
    Outcome close();

private:
    struct Ended {
        Outcome outcome;
        uint64_t executed;
    };
    void commit(const Ended& ended);
    void stop_at(uint64_t turn);

    const LaunchContext& launch_;
    const LaunchOptions& options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t next_ = 0, committed_ = 0;        // turns
    std::atomic<uint64_t> stop_ = UINT64_MAX;  // the first turn known to stop the launch; written under the mutex
    std::map<uint64_t, Ended> ended_ = {};     // turns that wait for earlier ones
    uint64_t executed_ = 0;                    // by what is committed
    Outcome outcome_ = Outcome::completed;
};

}  // namespace riftjit::rdna::emulator
