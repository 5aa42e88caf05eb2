// What a run recorded, and the files that hold it: HDF5 (our layout, SONATA, NWB), NumPy .npz, NEST .dat.
// docs/SIMULATOR.md, "Files", describes every layout.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::sim {

struct RecordedWindow {
    uint32_t first_step, end_step;  // first_step ≤ step < end_step; UINT32_MAX: to the end of the run
    auto operator<=>(const RecordedWindow&) const = default;
};
struct RecordedPopulation {
    std::string name;
    uint32_t first_id = 0, size = 0;           // global ids first_id … first_id + size − 1
    std::optional<uint32_t> recorded_neurons;  // whose spikes are recorded; unset: all
    // When they are: ascending, disjoint. None: files of other programs tell none; it counts as from 0 to the end.
    std::vector<RecordedWindow> windows = {};

    uint32_t recorded() const { return recorded_neurons.value_or(size); }
    auto operator<=>(const RecordedPopulation&) const = default;
};
struct RecordedStates {  // one state recorder
    std::string name, population;
    std::vector<std::string> variables, units;
    std::vector<uint32_t> neurons;  // global ids
    uint32_t interval_steps = 1;
    uint32_t first_step = 0;  // sample i holds the state at the end of step first_step + i · interval_steps

    size_t sample_values() const { return neurons.size() * variables.size(); }
    auto operator<=>(const RecordedStates&) const = default;
};
struct RecordedWeights {  // one recorder of the weights of a plastic projection
    std::string name, projection;
    std::string source, target;  // populations
    std::string unit;
    uint64_t synapses = 0;
    uint32_t interval_steps = 1, first_step = 0;  // as of RecordedStates

    size_t sample_values() const { return synapses; }
    auto operator<=>(const RecordedWeights&) const = default;
};
struct SynapseEnds {
    uint32_t source, target;  // global ids
    auto operator<=>(const SynapseEnds&) const = default;
};
struct RecordingHeader {
    double step_ms = 0;
    std::optional<uint64_t> seed;  // unset: files of other programs tell none
    std::string network_name, network_text, command_line, program_version, compat;  // compat: "nest" or "brian2"
    std::vector<RecordedPopulation> populations;                                    // ascending, disjoint ids
    std::vector<RecordedStates> states;
    std::vector<RecordedWeights> weights;

    auto operator<=>(const RecordingHeader&) const = default;
};
struct Spike {
    uint32_t step, id;  // step: counted from 0; id: global
    auto operator<=>(const Spike&) const = default;
};
struct RunSummary {
    uint32_t steps = 0;        // simulated
    uint64_t spikes = 0;       // of all populations, recorded or not
    uint64_t spikes_hash = 0;  // hash_spikes() of the recorded spikes in order (step, id)
    uint64_t graph_hash = 0;
    auto operator<=>(const RunSummary&) const = default;
};

// FNV-like, one whole value per round: of every spike its step, then its id. Continues from `hash`.
inline constexpr uint64_t kSpikesHashStart = 1469598103934665603u;
uint64_t hash_spikes(std::span<const Spike> spikes, uint64_t hash = kSpikesHashStart);

std::string seed_text(const RecordingHeader& header);  // "seed 5", "no seed"

// The time that files give a spike of `step`: its end under the rules of NEST, its start under those of Brian2.
double stamp_ms(const RecordingHeader& header, uint32_t step);

enum class RecordingFormat : uint8_t { riftjit_h5, sonata, nwb, npz, nest_dat };
std::string_view name(RecordingFormat format);  // "h5", "sonata", "nwb", "npz", "dat"
std::optional<RecordingFormat> recording_format_from_name(std::string_view name);
// spikes.h5 and .hdf5, .sonata.h5, .nwb, .npz, .dat.
Result<RecordingFormat> format_of_path(const std::string& path);

enum class Existing : uint8_t { refuse, replace };  // what to do with a file of that name

// Appends blocks as the run goes. What was appended and flushed survives a kill, a full disk or a later error: h5,
// sonata and dat in the file itself, or in PATH.part where they replace one, which stays until then; npz and nwb, which
// cannot grow, in PATH.part, which read_recording() reads.
class RecordingWriter {
public:
    static Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, RecordingFormat format,
                                                           const RecordingHeader& header,
                                                           Existing existing = Existing::refuse);
    virtual ~RecordingWriter() = default;                                   // flushes nothing
    virtual Result<void> append_spikes(std::span<const Spike> spikes) = 0;  // ascending (step, id), across calls too
    // values[sample][neuron][variable], whole samples; they follow those of the call before.
    virtual Result<void> append_states(size_t recorder, std::span<const double> values) = 0;
    // The synapses of a weight recorder in the order of its samples: all of them, before the first sample.
    virtual Result<void> append_synapses(size_t recorder, std::span<const SynapseEnds> synapses) = 0;
    // values[sample][synapse], whole samples.
    virtual Result<void> append_weights(size_t recorder, std::span<const double> values) = 0;
    virtual Result<void> flush() = 0;  // takes a millisecond for HDF5
    // flush(), but at most once a second: for calls after every step.
    Result<void> flush_when_due();
    virtual Result<void> finish(const RunSummary& summary) = 0;  // flushes too; nothing may follow

private:
    std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
};

struct WeightSamples {
    std::vector<SynapseEnds> synapses;
    std::vector<double> values;  // [sample][synapse]

    auto operator<=>(const WeightSamples&) const = default;
};
struct Recording {
    RecordingHeader header;
    std::vector<Spike> spikes;                // ascending (step, id)
    std::vector<std::vector<double>> states;  // per state recorder: values[sample][neuron][variable]
    std::vector<WeightSamples> weights;       // per weight recorder
    RunSummary summary;
    bool is_finished = true;  // false: the run was killed; summary then counts what is there

    auto operator<=>(const Recording&) const = default;
};
struct ReadOptions {
    double step_ms = 0.1;         // for files of other programs, which give times only
    std::string compat = "nest";  // likewise: the rule behind their times
};
// Any of the formats, by content. Every size is checked before memory is taken, and the spikes against their hash.
Result<Recording> read_recording(const std::string& path, const ReadOptions& options = {});
Result<void> write_recording(const std::string& path, RecordingFormat format, const Recording& recording,
                             Existing existing = Existing::refuse);
// What `format` has no place for, one phrase each ("states of recorder V"); empty when it holds everything.
std::vector<std::string> lost_in(RecordingFormat format, const RecordingHeader& header);

}  // namespace riftjit::sim
