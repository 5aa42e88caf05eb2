// Decides which wave runs next, and notices when none can.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "jit/rdna/emulator/machine/interpreter.h"
#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/emulator/machine/trace.h"
#include "jit/rdna/emulator/machine/wave_setup.h"

namespace riftjit::rdna::emulator {

// A workgroup that takes part, with its waves' storage, which the next group reuses.
struct ResidentGroup {
    Group group;
    std::vector<std::unique_ptr<Wave>> waves;
    uint32_t ended = 0;

    bool is_done() const { return ended == group.waves.size(); }
};

// The slots of past launches: making a wave's registers anew costs more than many a wave's instructions.
class SlotPool {
public:
    std::unique_ptr<ResidentGroup> take(const LaunchContext& launch);
    void give_back(std::unique_ptr<ResidentGroup> slot);

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<ResidentGroup>> slots_;
    size_t waves_ = 0;  // in them
};

enum class Outcome : uint8_t { completed, fault, deadlock, limit, interrupted };

class Scheduler {
public:
    Scheduler(const LaunchContext& launch, const LaunchOptions& options, MemorySystem& memory, SlotPool& pool);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Runs groups [first, first + count), at most `resident` at a time. The limit of instructions is this run's own;
    // `is_interrupted` (null: never) is asked now and then, and ends it.
    Outcome run(uint64_t first, uint64_t count, uint64_t resident, const std::function<bool()>& is_interrupted);
    const Counts& counts() const { return interpreter_.counts(); }
    uint64_t executed() const { return executed_; }                     // by the last run
    const std::string& interrupted_at() const { return interrupted_; }  // where its waves stood

private:
    void start_group(std::unique_ptr<ResidentGroup>& slot);
    void finish_group(std::unique_ptr<ResidentGroup>& slot);
    void abandon();
    static bool goes_on_behind_a_barrier(const ResidentGroup& slot);
    Outcome run_in_turn();
    Outcome run_randomly();
    // Runs one wave; false when the launch must stop, with `outcome_` saying why.
    bool advance(ResidentGroup& slot, Wave& wave, uint64_t budget);
    bool stop(Outcome outcome);
    bool is_interrupted();
    const Wave* first_waiting() const;
    Finding finding_at(FindingKind kind, std::string detail) const;
    void report_deadlock();
    void report_limit();
    std::string where_waves_stand() const;

    const LaunchContext& launch_;
    const LaunchOptions& options_;
    MemorySystem& memory_;
    SlotPool& pool_;
    Interpreter interpreter_;
    Tracer tracer_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<ResidentGroup>> slots_;  // as many as can be resident; null: free
    uint64_t next_ = 0, waiting_ = 0;                    // group to start next, how many are still to start
    uint64_t executed_ = 0, asked_at_ = 0;
    const std::function<bool()>* asks_ = nullptr;
    std::string interrupted_;
    bool progressed_ = false;
    Outcome outcome_ = Outcome::completed;
};

}  // namespace riftjit::rdna::emulator
