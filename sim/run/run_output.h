// What leaves a run while it goes on: the recording, saved states, spikes for statistics and pictures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/recorders.h"
#include "sim/engine/simulation.h"

namespace riftjit::sim {

// Of something that is left out: one line each.
using Warn = std::function<void(const std::string& message)>;

struct RunFiles {  // empty names: none
    std::string record;
    RecordingFormat format = RecordingFormat::riftjit_h5;
    std::string save;                           // the state, at the end
    std::optional<double> save_interval_ms;     // and each so much model time
    std::string network;                        // the synapses, as drawn
    std::string command_line, program_version;  // stored in files
    Existing existing = Existing::refuse;       // but for `save`, which is replaced each time
};

class RunOutput {
public:
    // Opens the files, and says what they have no place for and which recorders have nothing to record before
    // `end_step`. Whether a state can be saved shows here, too.
    static Result<RunOutput> create(RunFiles files, const Network& network, const Simulation& simulation,
                                    uint64_t end_step, Warn warn);

    // Takes what was recorded and writes it, and the state when that is due.
    Result<void> take(Simulation& simulation);
    // After an error, which is what the user hears of.
    void keep_what_was_recorded(Simulation& simulation);
    Result<void> finish(const Network& network, Simulation& simulation);
    const Recording* spikes() const { return is_complete_ ? &recording_ : nullptr; }  // null: too many to keep

private:
    Result<void> open_recording(const Simulation& simulation);
    void warn_of_idle_recorders(const Network& network, uint64_t end_step);
    Result<void> take_recorded(Simulation& simulation);
    void keep(const std::vector<Spike>& spikes);

    RunFiles files_;
    Warn warn_;
    std::unique_ptr<RecordingWriter> writer_;
    Recording recording_;
    uint64_t hash_ = kSpikesHashStart;  // of what was recorded since the file began
    bool is_complete_ = true;
    uint32_t first_step_ = 0;
    std::vector<bool> is_idle_;                               // by recorder: said to record nothing
    std::vector<size_t> state_recorders_, weight_recorders_;  // their numbers in the network, as in the recording
    uint32_t save_steps_ = 0, next_save_ = 0;                 // 0: only at the end
};

}  // namespace riftjit::sim
