#include "sim/files/spool.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>

#include "host/bytes.h"
#include "sim/files/metadata.h"
#include "sim/files/spool_source.h"

namespace riftjit::sim {

namespace {

SpoolBlockHead head_of(SpoolBlock kind, size_t recorder, std::string_view payload) {
    return {kind, static_cast<uint32_t>(recorder), payload.size(), XXH3_64bits(payload.data(), payload.size())};
}

std::string block(SpoolBlock kind, size_t recorder, std::string_view payload) {
    const SpoolBlockHead head = head_of(kind, recorder, payload);
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    return bytes.append(payload);
}

class SpooledWriter final : public RecordingWriter {
public:
    SpooledWriter(std::string path, RecordingFormat format, RecordingHeader header, AppendFile spool)
        : path_(std::move(path)), format_(format), header_(std::move(header)), spool_(std::move(spool)) {}

    Result<void> append_spikes(std::span<const Spike> spikes) override {
        return append(SpoolBlock::spikes, 0, spikes, kSourceBlockBytes / sizeof(Spike));
    }
    Result<void> append_states(size_t recorder, std::span<const double> values) override {
        return append(SpoolBlock::states, recorder, values, values_per_block(header_.states[recorder]));
    }
    Result<void> append_synapses(size_t recorder, std::span<const SynapseEnds> synapses) override {
        return append(SpoolBlock::synapses, recorder, synapses, kSourceBlockBytes / sizeof(SynapseEnds));
    }
    Result<void> append_weights(size_t recorder, std::span<const double> values) override {
        return append(SpoolBlock::weights, recorder, values, values_per_block(header_.weights[recorder]));
    }
    Result<void> flush() override { return {}; }  // every append is with the operating system
    Result<void> finish(const RunSummary& summary) override {
        RIFTJIT_TRY_VOID(spool_.append(block(SpoolBlock::metadata, 0, to_json_text({header_, summary, true}))));
        const std::string spool_path = path_ + ".part";
        if (const auto written = convert(spool_path); !written)
            return fail(written.error().kind, "{}; what was recorded is in {}", written.error().message, spool_path);
        std::filesystem::remove(spool_path);
        return {};
    }

private:
    template <class T>
    Result<void> append(SpoolBlock kind, size_t recorder, std::span<const T> values, size_t most) {
        for (; !values.empty(); values = values.subspan(std::min(values.size(), most)))
            RIFTJIT_TRY_VOID(
                spool_.append(block(kind, recorder, bytes_of(values.first(std::min(values.size(), most))))));
        return {};
    }
    // Block by block: a run may record more than fits into memory.
    Result<void> convert(const std::string& spool_path) const {
        RIFTJIT_TRY(source, SpoolSource::open(spool_path));
        return write_recording(path_, format_, source, Existing::replace);
    }

    std::string path_;
    RecordingFormat format_;
    RecordingHeader header_;
    AppendFile spool_;
};

template <class T>
Result<void> append_payload(std::vector<T>& values, std::string_view payload) {
    if (payload.size() % sizeof(T) != 0) return fail(ErrorKind::Format, "a block of {} bytes", payload.size());
    const size_t before = values.size();
    values.resize(before + payload.size() / sizeof(T));
    if (!payload.empty()) std::memcpy(values.data() + before, payload.data(), payload.size());  // memcpy takes no null
    return {};
}

struct SpoolContents {
    std::optional<Metadata> metadata;
    std::vector<Spike> spikes;
    std::vector<std::vector<double>> states;
    std::vector<WeightSamples> weights;

    Result<void> take(const SpoolBlockHead& head, std::string_view payload) {
        if (head.kind == SpoolBlock::metadata) {
            RIFTJIT_TRY(parsed, metadata_from_json_text(payload));
            metadata = std::move(parsed);
            states.resize(metadata->header.states.size());
            weights.resize(metadata->header.weights.size());
            return {};
        }
        if (head.kind == SpoolBlock::spikes) return append_payload(spikes, payload);
        if (head.kind == SpoolBlock::states && head.recorder < states.size())
            return append_payload(states[head.recorder], payload);
        if (head.kind == SpoolBlock::synapses && head.recorder < weights.size())
            return append_payload(weights[head.recorder].synapses, payload);
        if (head.kind == SpoolBlock::weights && head.recorder < weights.size())
            return append_payload(weights[head.recorder].values, payload);
        return fail(ErrorKind::Format, "a block of kind {} and recorder {}", uint32_t(head.kind), head.recorder);
    }
};

}  // namespace

Result<std::unique_ptr<RecordingWriter>> create_spooled(const std::string& path, RecordingFormat format,
                                                        const RecordingHeader& header, Existing existing) {
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    RIFTJIT_TRY(spool, AppendFile::create(path + ".part", existing));
    RIFTJIT_TRY_VOID(spool.append(kSpoolMagic));
    RIFTJIT_TRY_VOID(spool.append(block(SpoolBlock::metadata, 0, to_json_text({header}))));
    return std::make_unique<SpooledWriter>(path, format, header, std::move(spool));
}

Result<void> append_spool(AppendFile& file, const Recording& recording) {
    const auto append = [&](SpoolBlock kind, size_t recorder, std::string_view payload) -> Result<void> {
        const SpoolBlockHead head = head_of(kind, recorder, payload);
        RIFTJIT_TRY_VOID(file.append({reinterpret_cast<const char*>(&head), sizeof head}));
        return file.append(payload);
    };
    const Metadata metadata{recording.header, recording.summary, recording.is_finished};
    RIFTJIT_TRY_VOID(file.append(kSpoolMagic));
    RIFTJIT_TRY_VOID(append(SpoolBlock::metadata, 0, to_json_text(metadata)));
    RIFTJIT_TRY_VOID(append(SpoolBlock::spikes, 0, bytes_of(std::span(recording.spikes))));
    for (size_t i = 0; i < recording.states.size(); ++i)
        RIFTJIT_TRY_VOID(append(SpoolBlock::states, i, bytes_of(std::span(recording.states[i]))));
    for (size_t i = 0; i < recording.weights.size(); ++i) {
        const auto& [synapses, values] = recording.weights[i];
        RIFTJIT_TRY_VOID(append(SpoolBlock::synapses, i, bytes_of(std::span(synapses))));
        RIFTJIT_TRY_VOID(append(SpoolBlock::weights, i, bytes_of(std::span(values))));
    }
    return {};
}

Result<Recording> parse_spool(std::string_view bytes) {
    SpoolContents contents;
    bytes.remove_prefix(kSpoolMagic.size());
    while (bytes.size() >= sizeof(SpoolBlockHead)) {
        SpoolBlockHead head;
        std::memcpy(&head, bytes.data(), sizeof head);
        bytes.remove_prefix(sizeof head);
        if (head.bytes > bytes.size()) break;
        const std::string_view payload = bytes.substr(0, head.bytes);
        bytes.remove_prefix(head.bytes);
        if (XXH3_64bits(payload.data(), payload.size()) != head.checksum)
            return fail(ErrorKind::Format, "a block of {} bytes differs from its checksum", head.bytes);
        RIFTJIT_TRY_VOID(contents.take(head, payload));
    }
    if (!contents.metadata) return fail(ErrorKind::Format, "ends before its metadata");
    return assemble(std::move(*contents.metadata), std::move(contents.spikes), std::move(contents.states),
                    std::move(contents.weights));
}

}  // namespace riftjit::sim
