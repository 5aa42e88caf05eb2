// What leaves a run of `riftjit sim NETWORK` while it goes on: the recording, saved states, spikes for statistics and
// plots.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/simulation.h"
#include "tools/cli/reporter.h"
#include "tools/sim/sim_network.h"

namespace riftjit::tools {

// "500 ms" of a flag: not below zero.
Result<double> time_of(const char* flag, const std::string& text);
sim::Existing existing(const NetworkRunOptions& options);
// By --record-format, else by the name of the file.
Result<sim::RecordingFormat> record_format(const NetworkRunOptions& options);

// --record-network: the synapses that the run starts with. Returns their hash.
Result<uint64_t> write_drawn_network(const NetworkRunOptions& options, const sim::Network& network);

class RunOutput {
public:
    // Opens the files, and says what they have no place for. `options` must outlive it.
    static Result<RunOutput> create(const NetworkRunOptions& options, const sim::Network& network,
                                    const sim::Simulation& simulation, Reporter& reporter);

    // Takes what was recorded and writes it, and the state when that is due.
    Result<void> take(sim::Simulation& simulation);
    // After an error, which is what the user hears of.
    void keep_what_was_recorded(sim::Simulation& simulation);
    Result<void> save_if_due(sim::Simulation& simulation);
    Result<void> finish(sim::Simulation& simulation);
    const sim::Recording* spikes() const { return is_complete_ ? &recording_ : nullptr; }

private:
    Result<void> read_save_interval(const sim::Network& network, const sim::Simulation& simulation);
    Result<void> open_recording(const sim::Simulation& simulation, Reporter& reporter);
    void keep(const std::vector<sim::Spike>& spikes);

    const NetworkRunOptions* options_ = nullptr;
    std::unique_ptr<sim::RecordingWriter> writer_;
    sim::Recording recording_;
    uint64_t hash_ = sim::kSpikesHashStart;  // of what was recorded since the file began
    bool is_complete_ = true;
    std::vector<size_t> state_recorders_, weight_recorders_;  // their numbers in the network, as in the recording
    uint32_t save_steps_ = 0, next_save_ = 0;                 // 0: only at the end
};

}  // namespace riftjit::tools
