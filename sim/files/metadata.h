// What a recording says about itself, as one JSON object: the text inside npz, dat, NWB and .part files.
#pragma once

#include "sim/files/recording.h"

namespace riftjit::sim {

struct Metadata {
    RecordingHeader header;
    RunSummary summary;
    bool is_finished = false;
};

// The windows of a population as far as the run went, or all of it where none is told.
std::vector<RecordedWindow> windows_within(const RecordedPopulation& population, const RunSummary& summary);

// Names unique and not empty, ids disjoint and ascending, numbers in range, states of neurons that exist.
Result<void> check_header(const RecordingHeader& header);

Result<void> check_ids(const RecordingHeader& header, std::span<const Spike> spikes);  // of a population, each
// Of the two populations of a weight recorder, each.
Result<void> check_synapse_ends(const RecordingHeader& header, size_t recorder, std::span<const SynapseEnds> synapses);

// Of a run that finished: whether its numbers of spikes and steps allow for what is there. Samples: of each recorder.
Result<void> check_summary(const Metadata& metadata, uint64_t spikes, uint32_t last_step,
                           std::span<const uint64_t> state_samples, std::span<const uint64_t> weight_samples);

inline constexpr size_t kMostMetadataValues = 1 << 24;  // neurons of state recorders most of all
std::string to_json_text(const Metadata& metadata);     // one line, UTF-8
Result<Metadata> metadata_from_json_text(std::string_view text);

// A recording made of its parts: sorted, ids checked, compared with its hash, or summarised if the run did not finish.
// Weight recorders whose synapses were not yet all there when a run was killed are left out: they have no sample.
Result<Recording> assemble(Metadata metadata, std::vector<Spike> spikes, std::vector<std::vector<double>> states,
                           std::vector<WeightSamples> weights);

// What is known of the neurons of a file of another program that did not fire.
enum class Silent : uint8_t { recorded, unknown };
// Of another program: without a seed, whole, and ended by its last spike. Of populations that list spikes alone, those
// neurons count as recorded that fired.
Result<Recording> assemble_foreign(const ReadOptions& options, std::vector<RecordedPopulation> populations,
                                   std::vector<Spike> spikes, Silent silent);

}  // namespace riftjit::sim
