#include "sim/files/spool_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "host/available_memory.h"
#include "sim/files/append_file.h"

namespace riftjit::sim {

Result<void> SpoolSource::read(uint64_t offset, std::span<char> bytes) const {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = pread(file_.get(), bytes.data() + done, bytes.size() - done, off_t(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_with_errno(path_);
        if (count == 0) return fail(ErrorKind::Format, "{}: became shorter while it was read", path_);
        done += size_t(count);
    }
    return {};
}

// use(head, offset of the payload)
template <class Use>
Result<void> SpoolSource::each_block(const Use& use) const {
    uint64_t offset = kSpoolMagic.size();
    while (bytes_ - offset >= sizeof(SpoolBlockHead)) {
        SpoolBlockHead head;
        RIFTJIT_TRY_VOID(read(offset, {reinterpret_cast<char*>(&head), sizeof head}));
        offset += sizeof head;
        if (head.bytes > bytes_ - offset) break;
        RIFTJIT_TRY_VOID(use(head, offset));
        offset += head.bytes;
    }
    return {};
}

template <class T, class Take>
Result<void> SpoolSource::each(SpoolBlock kind, size_t recorder, size_t most, const Take& take) const {
    std::vector<T> values;
    return each_block([&](const SpoolBlockHead& head, uint64_t offset) -> Result<void> {
        if (head.kind != kind || head.recorder != recorder) return {};
        for (uint64_t left = head.bytes / sizeof(T); left != 0; left -= values.size()) {
            values.resize(std::min<uint64_t>(left, most));
            const std::span<char> bytes(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T));
            RIFTJIT_TRY_VOID(read(offset, bytes));
            offset += bytes.size();
            RIFTJIT_TRY_VOID(take(std::span<const T>(values)));
        }
        return {};
    });
}

Result<void> SpoolSource::each_spikes(const TakeSpikes& take) const {
    return each<Spike>(SpoolBlock::spikes, 0, kSourceBlockBytes / sizeof(Spike), take);
}

Result<void> SpoolSource::each_values(size_t recorder, const TakeValues& take) const {
    return each<double>(SpoolBlock::states, recorder, values_per_block(metadata_.header.states[recorder]), take);
}

Result<void> SpoolSource::each_synapse(size_t recorder, const TakeSynapses& take) const {
    return each<SynapseEnds>(SpoolBlock::synapses, recorder, kSourceBlockBytes / sizeof(SynapseEnds), take);
}

Result<void> SpoolSource::each_weights(size_t recorder, const TakeValues& take) const {
    return each<double>(SpoolBlock::weights, recorder, values_per_block(metadata_.header.weights[recorder]), take);
}

Result<void> SpoolSource::check_payload(uint64_t offset, uint64_t bytes, uint64_t checksum) const {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
    check(state != nullptr && XXH3_64bits_reset(state.get()) == XXH_OK, "XXH3 has memory for its state");
    std::vector<char> piece;
    for (uint64_t left = bytes; left != 0; left -= piece.size(), offset += piece.size()) {
        piece.resize(std::min<uint64_t>(left, kSourceBlockBytes));
        RIFTJIT_TRY_VOID(read(offset, piece));
        XXH3_64bits_update(state.get(), piece.data(), piece.size());
    }
    if (XXH3_64bits_digest(state.get()) == checksum) return {};
    return fail(ErrorKind::Format, "{}: a block of {} bytes differs from its checksum", path_, bytes);
}

Result<void> SpoolSource::read_metadata(uint64_t offset, uint64_t bytes) {
    RIFTJIT_TRY_VOID(refuse_beyond_memory(bytes));
    std::string text(bytes, '\0');
    RIFTJIT_TRY_VOID(read(offset, text));
    auto metadata = metadata_from_json_text(text);
    if (!metadata) return fail(metadata.error().kind, "{}: {}", path_, metadata.error().message);
    metadata_ = std::move(*metadata);
    has_metadata_ = true;
    values_.resize(metadata_.header.states.size());
    weights_.resize(metadata_.header.weights.size());
    synapses_.resize(metadata_.header.weights.size());
    return {};
}

Result<void> SpoolSource::check_blocks() {
    return each_block([&](const SpoolBlockHead& head, uint64_t offset) -> Result<void> {
        RIFTJIT_TRY_VOID(check_payload(offset, head.bytes, head.checksum));
        if (head.kind == SpoolBlock::metadata) return read_metadata(offset, head.bytes);
        return count_block(head.kind, head.recorder, head.bytes);
    });
}

Result<void> SpoolSource::count_block(SpoolBlock kind, uint32_t recorder, uint64_t bytes) {
    const auto add = [&](uint64_t& count, size_t element_bytes, size_t group) {
        count += bytes / element_bytes;
        return bytes % (element_bytes * group) == 0;
    };
    const RecordingHeader& header = metadata_.header;
    bool is_whole = false;
    if (kind == SpoolBlock::spikes) is_whole = add(spikes_, sizeof(Spike), 1);
    if (kind == SpoolBlock::states && recorder < values_.size())
        is_whole = add(values_[recorder], sizeof(double), header.states[recorder].sample_values());
    if (kind == SpoolBlock::synapses && recorder < synapses_.size())
        is_whole = add(synapses_[recorder], sizeof(SynapseEnds), 1);
    if (kind == SpoolBlock::weights && recorder < weights_.size())
        is_whole = add(weights_[recorder], sizeof(double), header.weights[recorder].sample_values());
    if (is_whole) return {};
    return fail(ErrorKind::Format, "{}: a block of {} bytes of kind {}", path_, bytes, uint32_t(kind));
}

Result<void> SpoolSource::check_synapses() const {
    for (size_t i = 0; i < synapses_.size(); ++i) {
        const RecordedWeights& recorder = metadata_.header.weights[i];
        if (synapses_[i] != recorder.synapses)
            return fail(ErrorKind::Format, "{}: recorder {}: {} synapses of {}", path_, recorder.name, synapses_[i],
                        recorder.synapses);
        RIFTJIT_TRY_VOID(each_synapse(i, [&](std::span<const SynapseEnds> synapses) {
            return check_synapse_ends(metadata_.header, i, synapses);
        }));
    }
    return {};
}

bool SpoolSource::is_complete() const {
    for (size_t i = 0; i < synapses_.size(); ++i)
        if (synapses_[i] < metadata_.header.weights[i].synapses) return false;
    return true;
}

Result<void> SpoolSource::check_spikes() {
    uint64_t hash = kSpikesHashStart;
    Spike last{0, 0};
    RIFTJIT_TRY_VOID(each_spikes([&](std::span<const Spike> spikes) -> Result<void> {
        RIFTJIT_TRY_VOID(check_ids(metadata_.header, spikes));
        if (spikes.front() < last || !std::ranges::is_sorted(spikes))
            return fail(ErrorKind::Format, "{}: its spikes are not in order", path_);
        last = spikes.back();
        hash = hash_spikes(spikes, hash);
        return {};
    }));
    RunSummary& summary = metadata_.summary;
    if (!metadata_.is_finished) {
        summary = {std::max(summary.steps, spikes_ == 0 ? 0 : last.step + 1), spikes_, hash, summary.graph_hash};
        return {};
    }
    std::vector<uint64_t> state_samples, weight_samples;
    for (size_t i = 0; i < values_.size(); ++i)
        state_samples.push_back(values_[i] / metadata_.header.states[i].sample_values());
    for (size_t i = 0; i < weights_.size(); ++i)
        weight_samples.push_back(weights_[i] / metadata_.header.weights[i].synapses);
    if (const auto checked = check_summary(metadata_, spikes_, last.step, state_samples, weight_samples); !checked)
        return fail(checked.error().kind, "{}: {}", path_, checked.error().message);
    if (hash == summary.spikes_hash) return {};
    return fail(ErrorKind::Format, "{}: its spikes have the hash {:016x}, the run's had {:016x}", path_, hash,
                summary.spikes_hash);
}

Result<SpoolSource> SpoolSource::open(const std::string& path) {
    RIFTJIT_TRY(file, open_regular_file(path));
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return fail_with_errno(path);
    SpoolSource source(path, std::move(file), uint64_t(status.st_size));
    RIFTJIT_TRY_VOID(source.check_blocks());
    if (!source.has_metadata_) return fail(ErrorKind::Format, "{}: ends before its metadata", path);
    RIFTJIT_TRY_VOID(source.check_spikes());
    if (source.metadata_.is_finished || source.is_complete()) RIFTJIT_TRY_VOID(source.check_synapses());
    return source;
}

}  // namespace riftjit::sim
