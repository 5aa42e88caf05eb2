// A folder of its own for each test, and a recording that uses every field.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/files/recording.h"

namespace riftjit::sim {

inline constexpr RecordingFormat kAllFormats[] = {RecordingFormat::riftjit_h5, RecordingFormat::sonata,
                                                  RecordingFormat::nwb, RecordingFormat::npz,
                                                  RecordingFormat::nest_dat};

inline RecordingHeader sample_header() {
    RecordingHeader header;
    header.step_ms = 0.1;
    header.seed = 0xDEADBEEF12345678;  // above 2^63: no signed number and no double holds it
    header.network_name = "two populations";
    header.network_text = "name = \"two populations\"\n# θ = 20 mV\n";
    header.command_line = "riftjit sim two.toml --record \"a b.h5\"";
    header.program_version = "0.1.0";
    header.compat = "nest";
    header.populations = {{"E", 0, 80, {}}, {"I", 80, 20, 10}};
    header.states = {{"membrane", "E", {"V", "g_e"}, {"mV", "nS"}, {3, 7, 9}, 10, 9},
                     {"one", "I", {"V"}, {"mV"}, {85}, 5, 104}};
    header.weights = {{"learned", "I -> E", "I", "E", "pA", 7, 20, 39}};
    return header;
}

// Spikes of the steps first … last − 1, a few in each.
inline std::vector<Spike> sample_spikes(uint32_t first, uint32_t last) {
    std::vector<Spike> spikes;
    for (uint32_t step = first; step < last; ++step)
        for (uint32_t id = step * step % 13; id < 100; id += 41) spikes.push_back({step, id});
    return spikes;
}

inline std::vector<double> sample_values(const RecordedStates& recorder, uint32_t steps) {
    std::vector<double> values(steps / recorder.interval_steps * recorder.sample_values());
    for (size_t i = 0; i < values.size(); ++i) values[i] = -65 + 1.0 / double(i + 3);
    return values;
}

inline std::vector<SynapseEnds> sample_synapses() {
    return {{80, 0}, {80, 79}, {80, 79}, {81, 4}, {99, 0}, {99, 1}, {99, 78}};
}

inline Recording sample_recording(uint32_t steps = 500) {
    Recording recording{sample_header(), sample_spikes(0, steps), {}, {}, {}, true};
    for (const RecordedStates& recorder : recording.header.states)
        recording.states.push_back(sample_values(recorder, steps));
    recording.weights = {{sample_synapses(), std::vector<double>(steps / 20 * 7)}};
    for (double value = 1; double& weight : recording.weights[0].values) weight = 1 / value++;
    if (steps > 10) recording.header.populations[0].windows = {{2, steps / 2}, {steps / 2 + 3, steps}};
    recording.summary = {steps, recording.spikes.size() + 7, hash_spikes(recording.spikes), 0xFEDCBA9876543210};
    return recording;
}

// What is left of it in a format that holds neither states nor weights.
inline Recording without_states(Recording recording) {
    recording.states.clear();
    recording.header.states.clear();
    recording.weights.clear();
    recording.header.weights.clear();
    return recording;
}
inline Recording as_held_by(RecordingFormat format, const Recording& recording) {
    return lost_in(format, recording.header).empty() ? recording : without_states(recording);
}

inline std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems sync a file that is written over
    std::ofstream(path, std::ios::binary) << bytes;
}

// Of the samples at steps first … last − 1.
inline std::vector<double> sample_weights(uint32_t first, uint32_t last) {
    const uint32_t interval = sample_header().weights[0].interval_steps;
    std::vector<double> weights;
    for (uint32_t sample = first / interval; sample < last / interval; ++sample)
        for (uint32_t synapse = 0; synapse < sample_synapses().size(); ++synapse)
            weights.push_back(sample + 0.125 * synapse);
    return weights;
}
// As a run begins to record.
inline Result<std::unique_ptr<RecordingWriter>> start_recording(const std::string& path, RecordingFormat format,
                                                                const RecordingHeader& header) {
    auto writer = RecordingWriter::create(path, format, header);
    if (writer && !header.weights.empty()) RIFTJIT_TRY_VOID((*writer)->append_synapses(0, sample_synapses()));
    return writer;
}

class RecordingFiles : public testing::Test {
protected:
    RecordingFiles() { std::filesystem::create_directories(folder_); }
    ~RecordingFiles() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& file) const { return folder_ / file; }
    std::string path(RecordingFormat format) const { return path("spikes." + std::string(name(format))); }

    static std::string message(const auto& result) { return result ? "no error" : result.error().message; }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("riftjit-recordings-" + std::to_string(getpid()));
};

}  // namespace riftjit::sim
