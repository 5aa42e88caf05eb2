// What libriftjit-hdf5.so exports.
#include <filesystem>

#include "sim/files/append_file.h"
#include "sim/files/hdf5/layouts.h"
#include "sim/files/hdf5_module.h"

namespace riftjit::sim {

namespace {

using h5::Handle, h5::Hdf5Error;

std::unique_ptr<RecordingWriter> create_writer(const std::string& path, RecordingFormat format,
                                               const RecordingHeader& header) {
    if (format == RecordingFormat::sonata) return h5::create_sonata(path, header);
    check(format == RecordingFormat::riftjit_h5, "no other format of HDF5 grows");
    return h5::create_riftjit(path, header);
}

Recording read_layout(hid_t file, const ReadOptions& options) {
    if (h5::has_attribute(file, "format")) return h5::read_riftjit(file);
    if (h5::has_attribute(file, "nwb_version")) return h5::read_nwb(file, options);
    if (h5::has(file, "spikes")) return h5::read_sonata(file, options);
    throw Hdf5Error("HDF5, but neither a recording of riftjit, SONATA spikes nor NWB");
}

class Module final : public Hdf5Module {
public:
    Module() {
        // A file that could not be closed, on a full disk, stays behind half closed, and closing it again at exit would
        // read what is freed. What can be closed every Handle closes.
        H5dont_atexit();
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors become one line of ours
        is_kept_to_one_file_ = h5::no_throw("libhdf5", [] { h5::keep_to_one_file(); });
    }

    Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, RecordingFormat format,
                                                    const RecordingHeader& header, Existing existing) const override {
        RIFTJIT_TRY_VOID(create_file(path, existing));  // says better than HDF5 why it cannot be written
        std::unique_ptr<RecordingWriter> writer;
        const Result<void> created = h5::no_throw(path, [&] { writer = create_writer(path, format, header); });
        if (created) return writer;
        std::filesystem::remove(path);  // without a sound header nobody can open it
        return std::unexpected(created.error());
    }

    Result<void> write(const std::string& path, RecordingFormat format, const RecordingSource& source) const override {
        if (format == RecordingFormat::nwb) {
            RIFTJIT_TRY_VOID(create_file(path, Existing::refuse));
            return h5::no_throw(path, [&] { h5::write_nwb(path, source); });
        }
        const Metadata& metadata = source.metadata();
        RIFTJIT_TRY(writer, create(path, format, metadata.header, Existing::refuse));
        RIFTJIT_TRY_VOID(
            source.each_spikes([&](std::span<const Spike> spikes) { return writer->append_spikes(spikes); }));
        for (size_t i = 0; i < metadata.header.states.size(); ++i)
            RIFTJIT_TRY_VOID(source.each_values(
                i, [&](std::span<const double> values) { return writer->append_states(i, values); }));
        for (size_t i = 0; i < metadata.header.weights.size(); ++i) {
            RIFTJIT_TRY_VOID(source.each_synapse(
                i, [&](std::span<const SynapseEnds> synapses) { return writer->append_synapses(i, synapses); }));
            RIFTJIT_TRY_VOID(source.each_weights(
                i, [&](std::span<const double> values) { return writer->append_weights(i, values); }));
        }
        return metadata.is_finished ? writer->finish(metadata.summary) : writer->flush();
    }

    Result<void> write_network(const std::string& path, const NetworkSource& source) const override {
        RIFTJIT_TRY_VOID(create_file(path, Existing::refuse));
        Result<void> written;
        RIFTJIT_TRY_VOID(h5::no_throw(path, [&] { written = h5::write_network(path, source); }));
        return written;
    }

    Result<Recording> read(const std::string& path, const ReadOptions& options) const override {
        RIFTJIT_TRY_VOID(is_kept_to_one_file_);
        try {
            const Handle file = h5::open_file(path, h5::Access::read);
            return read_layout(file, options);
        } catch (const Hdf5Error& error) {
            return fail(ErrorKind::Format, "{}: {}", path, error.what());
        }
    }

private:
    Result<void> is_kept_to_one_file_;
};

}  // namespace

}  // namespace riftjit::sim

extern "C" __attribute__((visibility("default"))) const void* riftjit_module(const char* interface,
                                                                             riftjit::InternalErrorHandler handler) {
    static const riftjit::sim::Module module;
    if (std::string_view(interface) != RIFTJIT_MODULE_INTERFACE) return nullptr;
    riftjit::set_internal_error_handler(handler);
    return static_cast<const riftjit::sim::Hdf5Module*>(&module);
}
