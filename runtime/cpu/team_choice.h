// Whether a short run is faster with all threads or with the caller alone, judged by how long the caller waits.
//
// A thread whose core is taken away for a time slice holds up all others at every barrier: milliseconds, where a token
// of a small model takes a fraction of one. Results do not depend on the number of threads, so that the choice is free.
#pragma once

#include <cstdint>

namespace riftjit::runtime {

enum class Helpers : uint8_t { when_useful, always };

class TeamChoice {
public:
    TeamChoice(uint32_t threads, Helpers helpers) : threads_(threads), helpers_(helpers) {}

    // To be asked once before every run.
    bool together() {
        if (threads_ == 1) return false;
        if (runs_alone_ == 0 || helpers_ == Helpers::always) return true;
        --runs_alone_;
        return false;
    }

    // After a run together: ticks that the caller waited at barriers, of all ticks of the run.
    void record(uint64_t waited, uint64_t total);

private:
    static constexpr uint32_t kFirstRunsAlone = 16, kMostRunsAlone = 256;

    uint32_t threads_;
    Helpers helpers_;
    double waited_ = 0, total_ = 0;  // decaying sums over recent runs
    uint32_t runs_alone_ = 0;        // still to come
    uint32_t next_runs_alone_ = kFirstRunsAlone;
    uint32_t good_runs_ = 0;
};

}  // namespace riftjit::runtime
