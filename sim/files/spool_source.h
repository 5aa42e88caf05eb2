// A .part file, read block by block.
#pragma once

#include "host/file_descriptor.h"
#include "sim/files/recording_source.h"
#include "sim/files/spool.h"

namespace riftjit::sim {

class SpoolSource final : public RecordingSource {
public:
    // Checks every block, the order and ids of the spikes, and their hash. Of a run that was killed: summarises what is
    // there.
    static Result<SpoolSource> open(const std::string& path);

    // No weight recorder lacks synapses: those of a run that was killed as it began may.
    bool is_complete() const;

    const Metadata& metadata() const override { return metadata_; }
    uint64_t spikes() const override { return spikes_; }
    uint64_t values(size_t recorder) const override { return values_[recorder]; }
    uint64_t weights(size_t recorder) const override { return weights_[recorder]; }
    Result<void> each_spikes(const TakeSpikes& take) const override;
    Result<void> each_values(size_t recorder, const TakeValues& take) const override;
    Result<void> each_synapse(size_t recorder, const TakeSynapses& take) const override;
    Result<void> each_weights(size_t recorder, const TakeValues& take) const override;

private:
    SpoolSource(std::string path, FileDescriptor file, uint64_t bytes)
        : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}
    Result<void> check_blocks();
    Result<void> count_block(SpoolBlock kind, uint32_t recorder, uint64_t bytes);
    Result<void> check_synapses() const;
    Result<void> check_payload(uint64_t offset, uint64_t bytes, uint64_t checksum) const;
    Result<void> read_metadata(uint64_t offset, uint64_t bytes);
    Result<void> check_spikes();
    template <class T, class Take>
    Result<void> each(SpoolBlock kind, size_t recorder, size_t most, const Take& take) const;
    template <class Use>
    Result<void> each_block(const Use& use) const;
    Result<void> read(uint64_t offset, std::span<char> bytes) const;

    std::string path_;
    FileDescriptor file_;
    uint64_t bytes_, spikes_ = 0;
    std::vector<uint64_t> values_, synapses_, weights_;
    Metadata metadata_;
    bool has_metadata_ = false;
};

}  // namespace riftjit::sim
