#include "sim/files/recording.h"

#include <algorithm>
#include <filesystem>

#include "host/available_memory.h"
#include "host/module.h"
#include "sim/files/append_file.h"
#include "sim/files/hdf5_module.h"
#include "sim/files/isolated_read.h"
#include "sim/files/metadata.h"
#include "sim/files/nest_dat.h"
#include "sim/files/npz.h"
#include "sim/files/spool_source.h"
#include "sim/files/unfinished_file.h"
#include "sim/printable.h"

namespace riftjit::sim {

namespace {

constexpr std::string_view kFormatNames[] = {"h5", "sonata", "nwb", "npz", "dat"};

Result<void> write_new_file(const std::string& path, RecordingFormat format, const RecordingSource& source) {
    if (format == RecordingFormat::npz) return write_npz(path, source);
    if (format != RecordingFormat::nest_dat) {
        RIFTJIT_TRY(module, load_hdf5_module());
        return module->write(path, format, source);
    }
    const Metadata& metadata = source.metadata();
    RIFTJIT_TRY(writer, create_nest_dat(path, metadata.header, Existing::refuse));
    RIFTJIT_TRY_VOID(source.each_spikes([&](std::span<const Spike> spikes) { return writer->append_spikes(spikes); }));
    return metadata.is_finished ? writer->finish(metadata.summary) : Result<void>();
}

Result<Recording> read_by_content(const std::string& path, const ReadOptions& options) {
    constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n", kZip = "PK\x03\x04";
    RIFTJIT_TRY(head, read_head(path));
    std::error_code error;
    const uint64_t file_bytes = std::filesystem::file_size(path, error);
    if (head.starts_with(kHdf5)) {
        RIFTJIT_TRY(module, load_hdf5_module());
        return read_in_child([&] { return module->read(path, options); }, file_bytes);
    }
    if (head.starts_with(kZip)) return read_npz(path, options);
    const bool is_spool = head.starts_with(kSpoolMagic);
    if (!is_spool && !looks_like_nest_dat(head))
        return fail(ErrorKind::Format, "starts like no recording: not HDF5, npz, NEST .dat or .part");
    // The text or the blocks, and as much again of spikes: a row of text is no shorter than a spike.
    RIFTJIT_TRY_VOID(refuse_beyond_memory(2 * file_bytes));
    RIFTJIT_TRY(bytes, read_file(path));
    return is_spool ? parse_spool(bytes) : parse_nest_dat(bytes, options);
}

}  // namespace

std::string_view name(RecordingFormat format) { return kFormatNames[size_t(format)]; }

std::optional<RecordingFormat> recording_format_from_name(std::string_view name) {
    const auto found = std::ranges::find(kFormatNames, name);
    if (found == std::end(kFormatNames)) return std::nullopt;
    return RecordingFormat(found - std::begin(kFormatNames));
}

std::string seed_text(const RecordingHeader& header) {
    return header.seed ? fmt::format("seed {}", *header.seed) : "no seed";
}

Result<RecordingFormat> format_of_path(const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension().string();
    if (path.ends_with(".sonata.h5")) return RecordingFormat::sonata;
    if (extension == ".h5" || extension == ".hdf5") return RecordingFormat::riftjit_h5;
    if (extension == ".nwb") return RecordingFormat::nwb;
    if (extension == ".npz") return RecordingFormat::npz;
    if (extension == ".dat") return RecordingFormat::nest_dat;
    return fail(ErrorKind::Usage, "{}: its ending names no format; .h5, .hdf5, .sonata.h5, .nwb, .npz and .dat do",
                path);
}

Result<const Hdf5Module*> load_hdf5_module() {
    static const auto loaded = load_module("hdf5");
    if (!loaded) return std::unexpected(loaded.error());
    return static_cast<const Hdf5Module*>(*loaded);
}

namespace {

// Of a format that grows.
Result<std::unique_ptr<RecordingWriter>> create_growing(const std::string& path, RecordingFormat format,
                                                        const RecordingHeader& header, Existing existing) {
    if (format == RecordingFormat::nest_dat) return create_nest_dat(path, header, existing);
    RIFTJIT_TRY(module, load_hdf5_module());
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));  // what is somebody else's stays
    const UnfinishedFile unfinished(path);              // nobody can open it before its header is whole
    return module->create(path, format, header, existing);
}

// Grows beside the file that it replaces once it is whole: a run that fails or is killed leaves both.
class ReplacingWriter final : public RecordingWriter {
public:
    ReplacingWriter(std::string path, std::string part, std::unique_ptr<RecordingWriter> writer)
        : path_(std::move(path)), part_(std::move(part)), writer_(std::move(writer)) {}

    Result<void> append_spikes(std::span<const Spike> spikes) override { return writer_->append_spikes(spikes); }
    Result<void> append_states(size_t recorder, std::span<const double> values) override {
        return writer_->append_states(recorder, values);
    }
    Result<void> append_synapses(size_t recorder, std::span<const SynapseEnds> synapses) override {
        return writer_->append_synapses(recorder, synapses);
    }
    Result<void> append_weights(size_t recorder, std::span<const double> values) override {
        return writer_->append_weights(recorder, values);
    }
    Result<void> flush() override { return writer_->flush(); }
    Result<void> finish(const RunSummary& summary) override {
        RIFTJIT_TRY_VOID(writer_->finish(summary));
        return rename_into_place(part_, path_, Existing::replace);
    }

private:
    std::string path_, part_;
    std::unique_ptr<RecordingWriter> writer_;
};

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path, RecordingFormat format,
                                                                 const RecordingHeader& header, Existing existing) {
    RIFTJIT_TRY_VOID(check_header(header));
    if (format == RecordingFormat::nwb) RIFTJIT_TRY_VOID(load_hdf5_module());  // not only when the run is over
    if (format == RecordingFormat::npz || format == RecordingFormat::nwb)
        return create_spooled(path, format, header, existing);
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    if (std::error_code error; !std::filesystem::exists(path, error))
        return create_growing(path, format, header, existing);
    RIFTJIT_TRY(target, file_behind(path));
    const std::string part = target + ".part";
    RIFTJIT_TRY(writer, create_growing(part, format, header, Existing::replace));
    return std::make_unique<ReplacingWriter>(target, part, std::move(writer));
}

Result<void> RecordingWriter::flush_when_due() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_flush_ < std::chrono::seconds(1)) return {};
    last_flush_ = now;
    return flush();
}

Result<Recording> read_recording(const std::string& path, const ReadOptions& options) {
    try {
        auto recording = read_by_content(path, options);
        if (recording) return recording;
        std::string_view message = recording.error().message;
        if (message.starts_with(path)) message.remove_prefix(path.size());
        return fail(recording.error().kind, "{}{}{}", path, message.starts_with(": ") ? "" : ": ", printable(message));
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::OutOfMemory, "{}: does not fit into memory", path);
    }
}

namespace {

class OwnedRecording final : public RecordingInMemory {
public:
    explicit OwnedRecording(std::unique_ptr<const Recording> recording)
        : RecordingInMemory(*recording), owned_(std::move(recording)) {}

private:
    std::unique_ptr<const Recording> owned_;
};

}  // namespace

Result<std::unique_ptr<RecordingSource>> open_recording(const std::string& path, const ReadOptions& options) {
    const auto head = read_head(path);
    try {
        if (head && head->starts_with(kSpoolMagic)) {
            RIFTJIT_TRY(source, SpoolSource::open(path));
            if (source.is_complete()) return std::make_unique<SpoolSource>(std::move(source));
        }
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::OutOfMemory, "{}: does not fit into memory", path);
    }
    RIFTJIT_TRY(recording, read_recording(path, options));
    return std::make_unique<OwnedRecording>(std::make_unique<const Recording>(std::move(recording)));
}

Result<void> write_recording(const std::string& path, RecordingFormat format, const Recording& recording,
                             Existing existing) {
    RIFTJIT_TRY_VOID(check_header(recording.header));
    return write_recording(path, format, RecordingInMemory(recording), existing);
}

Result<void> write_recording(const std::string& path, RecordingFormat format, const RecordingSource& source,
                             Existing existing) {
    return write_whole_file(path, existing,
                            [&](const std::string& temporary) { return write_new_file(temporary, format, source); });
}

std::vector<std::string> lost_in(RecordingFormat format, const RecordingHeader& header) {
    std::vector<std::string> lost;
    if (format != RecordingFormat::sonata && format != RecordingFormat::nest_dat) return lost;
    for (const RecordedStates& states : header.states)
        lost.push_back(fmt::format("states of recorder {}", states.name));
    for (const RecordedWeights& weights : header.weights)
        lost.push_back(fmt::format("weights of recorder {}", weights.name));
    return lost;
}

}  // namespace riftjit::sim
