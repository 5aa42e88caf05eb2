// A recording that is handed out block by block, so that a file can be written of one that does not fit into memory.
#pragma once

#include <functional>

#include "sim/files/metadata.h"

namespace riftjit::sim {

class RecordingSource {
public:
    using TakeSpikes = std::function<Result<void>(std::span<const Spike>)>;
    using TakeSynapses = std::function<Result<void>(std::span<const SynapseEnds>)>;
    using TakeValues = std::function<Result<void>(std::span<const double>)>;  // whole samples

    virtual ~RecordingSource() = default;
    virtual const Metadata& metadata() const = 0;
    virtual uint64_t spikes() const = 0;
    virtual uint64_t values(size_t recorder) const = 0;   // of a state recorder
    virtual uint64_t weights(size_t recorder) const = 0;  // of a weight recorder
    // About a megabyte at a time, in order; the first error ends it. Can be repeated.
    virtual Result<void> each_spikes(const TakeSpikes& take) const = 0;
    virtual Result<void> each_values(size_t recorder, const TakeValues& take) const = 0;  // [sample][neuron][variable]
    virtual Result<void> each_synapse(size_t recorder, const TakeSynapses& take) const = 0;
    virtual Result<void> each_weights(size_t recorder, const TakeValues& take) const = 0;  // [sample][synapse]
};

inline constexpr size_t kSourceBlockBytes = 1 << 20;

// The values that a block holds at most: whole samples, one at least.
template <class Recorder>
size_t values_per_block(const Recorder& recorder) {
    const size_t sample = recorder.sample_values();
    return std::max<size_t>(1, kSourceBlockBytes / sizeof(double) / sample) * sample;
}

Result<void> write_recording(const std::string& path, RecordingFormat format, const RecordingSource& source,
                             Existing existing);
// As read_recording(); .part files stay on the disk, others are read into memory.
Result<std::unique_ptr<RecordingSource>> open_recording(const std::string& path, const ReadOptions& options = {});

class RecordingInMemory : public RecordingSource {
public:
    explicit RecordingInMemory(const Recording& recording)  // which must outlive it
        : recording_(recording), metadata_{recording.header, recording.summary, recording.is_finished} {}

    const Metadata& metadata() const override { return metadata_; }
    uint64_t spikes() const override { return recording_.spikes.size(); }
    uint64_t values(size_t recorder) const override { return recording_.states[recorder].size(); }
    Result<void> each_spikes(const TakeSpikes& take) const override {
        return each_block<Spike>(recording_.spikes, kSourceBlockBytes / sizeof(Spike), take);
    }
    Result<void> each_values(size_t recorder, const TakeValues& take) const override {
        return each_block<double>(recording_.states[recorder], values_per_block(recording_.header.states[recorder]),
                                  take);
    }
    uint64_t weights(size_t recorder) const override { return recording_.weights[recorder].values.size(); }
    Result<void> each_synapse(size_t recorder, const TakeSynapses& take) const override {
        return each_block<SynapseEnds>(recording_.weights[recorder].synapses, kSourceBlockBytes / sizeof(SynapseEnds),
                                       take);
    }
    Result<void> each_weights(size_t recorder, const TakeValues& take) const override {
        return each_block<double>(recording_.weights[recorder].values,
                                  values_per_block(recording_.header.weights[recorder]), take);
    }

private:
    template <class T, class Take>
    static Result<void> each_block(std::span<const T> all, size_t most, const Take& take) {
        for (; !all.empty(); all = all.subspan(std::min(all.size(), most)))
            RIFTJIT_TRY_VOID(take(all.first(std::min(all.size(), most))));
        return {};
    }

    const Recording& recording_;
    Metadata metadata_;
};

}  // namespace riftjit::sim
