#include "sim/files/npz.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/available_memory.h"
#include "host/bytes.h"
#include "sim/files/append_file.h"
#include "sim/files/metadata.h"
#include "sim/files/npy_array.h"
#include "sim/files/unpacked_limit.h"

namespace riftjit::sim {

namespace {

constexpr uint32_t kMostBytesAtOnce = 1 << 30;  // minizip counts them in 32 bits

class ZipWriter {
public:
    static Result<ZipWriter> create(const std::string& path) {
        errno = 0;
        ZipWriter writer(path);
        writer.file_ = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
        if (writer.file_ == nullptr) return fail_with_errno(path);
        return writer;
    }
    ZipWriter(ZipWriter&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, nullptr)) {}
    ~ZipWriter() {
        if (file_ != nullptr) zipClose(file_, nullptr);
    }

    // NAME.npy, stored: its header, then its elements by write(), then close().
    Result<void> open(const std::string& name, std::string_view header) {
        zip_fileinfo info{};
        info.tmz_date = {0, 0, 0, 1, 0, 1980};  // zip's earliest: the same spikes give the same bytes
        constexpr int kZip64 = 1;
        if (zipOpenNewFileInZip64(file_, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0,
                                  kZip64) != ZIP_OK)
            return failed();
        return write(header);
    }
    Result<void> write(std::string_view bytes) {
        for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), kMostBytesAtOnce)))
            if (zipWriteInFileInZip(file_, bytes.data(), uint32_t(std::min<size_t>(bytes.size(), kMostBytesAtOnce))) !=
                ZIP_OK)
                return failed();
        return {};
    }
    Result<void> close() {
        if (zipCloseFileInZip(file_) != ZIP_OK) return failed();
        return {};
    }
    Result<void> finish() {
        if (zipClose(std::exchange(file_, nullptr), nullptr) != ZIP_OK) return failed();
        return {};
    }

private:
    explicit ZipWriter(std::string path) : path_(std::move(path)) {}
    std::unexpected<Error> failed() const {
        if (errno == 0) return fail(ErrorKind::Io, "{}: cannot be written", path_);
        return fail_with_errno(path_);
    }

    std::string path_;
    zipFile file_ = nullptr;
};

class ZipReader {
public:
    static Result<ZipReader> open(const std::string& path) {
        std::error_code error;
        ZipReader reader(std::filesystem::file_size(path, error));
        reader.file_ = unzOpen64(path.c_str());
        if (reader.file_ == nullptr) return fail(ErrorKind::Format, "its zip directory is damaged or cut off");
        return reader;
    }
    ZipReader(ZipReader&& other) noexcept
        : file_bytes_(other.file_bytes_), unpacked_(other.unpacked_), file_(std::exchange(other.file_, nullptr)) {}
    ~ZipReader() {
        if (file_ != nullptr) unzClose(file_);
    }

    uint64_t file_bytes() const { return file_bytes_; }
    // Of all arrays together, as the directory says.
    uint64_t uncompressed_bytes() {
        uint64_t bytes = 0;
        for (int found = unzGoToFirstFile(file_); found == UNZ_OK; found = unzGoToNextFile(file_)) {
            unz_file_info64 info{};
            if (unzGetCurrentFileInfo64(file_, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) break;
            if (__builtin_add_overflow(bytes, info.uncompressed_size, &bytes)) return UINT64_MAX;
        }
        return bytes;
    }
    bool has(const std::string& name) { return unzLocateFile(file_, (name + ".npy").c_str(), 1) == UNZ_OK; }

    // The whole of NAME.npy, its checksum compared.
    Result<std::string> read(const std::string& name) {
        unz_file_info64 info{};
        if (!has(name)) return fail(ErrorKind::Format, "no array {}", name);
        if (unzGetCurrentFileInfo64(file_, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK ||
            unzOpenCurrentFile(file_) != UNZ_OK)
            return fail(ErrorKind::Format, "array {}: its entry is damaged", name);
        // Again: a damaged directory may have hidden it from uncompressed_bytes().
        if (__builtin_add_overflow(unpacked_, info.uncompressed_size, &unpacked_)) unpacked_ = UINT64_MAX;
        RIFTJIT_TRY_VOID(refuse_beyond_unpacked(unpacked_, file_bytes_));
        auto bytes = read_open(name, info.uncompressed_size);
        if (unzCloseCurrentFile(file_) != UNZ_OK && bytes)
            return fail(ErrorKind::Format, "array {}: differs from its checksum", name);
        return bytes;
    }

private:
    explicit ZipReader(uint64_t file_bytes) : file_bytes_(file_bytes) {}

    // Grows with what comes, so that a size that the entry only claims takes no memory.
    Result<std::string> read_open(const std::string& name, uint64_t size) {
        constexpr size_t kBlock = 1 << 20;
        std::string bytes;
        while (bytes.size() < size) {
            const size_t before = bytes.size();
            bytes.resize(before + std::min<uint64_t>(kBlock, size - before));
            const int count = unzReadCurrentFile(file_, bytes.data() + before, uint32_t(bytes.size() - before));
            if (count <= 0) return fail(ErrorKind::Format, "array {}: {} bytes, {} can be read", name, size, before);
            bytes.resize(before + size_t(count));
        }
        return bytes;
    }

    uint64_t file_bytes_, unpacked_ = 0;
    unzFile file_ = nullptr;
};

Result<void> write_column(ZipWriter& zip, const std::string& name, const RecordingSource& source,
                          uint32_t Spike::* member) {
    RIFTJIT_TRY_VOID(zip.open(name, npy_header("<u4", {source.spikes()})));
    std::vector<uint32_t> column;
    RIFTJIT_TRY_VOID(source.each_spikes([&](std::span<const Spike> spikes) {
        column.resize(spikes.size());
        std::ranges::transform(spikes, column.begin(), member);
        return zip.write(bytes_of(std::span<const uint32_t>(column)));
    }));
    return zip.close();
}

Result<void> write_states(ZipWriter& zip, const RecordingSource& source, size_t i) {
    const RecordedStates& recorder = source.metadata().header.states[i];
    const std::vector<uint64_t> shape{source.values(i) / recorder.sample_values(), recorder.neurons.size(),
                                      recorder.variables.size()};
    RIFTJIT_TRY_VOID(zip.open("states/" + recorder.name, npy_header("<f8", shape)));
    RIFTJIT_TRY_VOID(
        source.each_values(i, [&](std::span<const double> values) { return zip.write(bytes_of(values)); }));
    return zip.close();
}

// source, target and values of a weight recorder.
Result<void> write_weights(ZipWriter& zip, const RecordingSource& source, size_t i) {
    const RecordedWeights& recorder = source.metadata().header.weights[i];
    const std::string folder = "weights/" + recorder.name + "/";
    std::vector<uint32_t> column;
    for (const auto& [name, member] :
         {std::pair("source", &SynapseEnds::source), std::pair("target", &SynapseEnds::target)}) {
        RIFTJIT_TRY_VOID(zip.open(folder + name, npy_header("<u4", {recorder.synapses})));
        RIFTJIT_TRY_VOID(source.each_synapse(i, [&](std::span<const SynapseEnds> synapses) {
            column.resize(synapses.size());
            std::ranges::transform(synapses, column.begin(), member);
            return zip.write(bytes_of(std::span<const uint32_t>(column)));
        }));
        RIFTJIT_TRY_VOID(zip.close());
    }
    const std::vector<uint64_t> shape{source.weights(i) / recorder.synapses, recorder.synapses};
    RIFTJIT_TRY_VOID(zip.open(folder + "values", npy_header("<f8", shape)));
    RIFTJIT_TRY_VOID(
        source.each_weights(i, [&](std::span<const double> values) { return zip.write(bytes_of(values)); }));
    return zip.close();
}

Result<std::vector<uint32_t>> read_column(ZipReader& zip, const std::string& name) {
    RIFTJIT_TRY(bytes, zip.read(name));
    const auto array = parse_npy(bytes);
    auto values = array ? to_u32(*array) : std::unexpected(array.error());
    if (!values) return fail(values.error().kind, "array {}: {}", name, values.error().message);
    return values;
}

Result<std::vector<Spike>> read_spikes(ZipReader& zip) {
    RIFTJIT_TRY(steps, read_column(zip, "step"));
    RIFTJIT_TRY(ids, read_column(zip, "id"));
    if (steps.size() != ids.size()) return fail(ErrorKind::Format, "{} steps, but {} ids", steps.size(), ids.size());
    std::vector<Spike> spikes(steps.size());
    for (size_t i = 0; i < spikes.size(); ++i) spikes[i] = {steps[i], ids[i]};
    return spikes;
}

Result<Metadata> read_metadata(ZipReader& zip) {
    RIFTJIT_TRY(bytes, zip.read("metadata"));
    RIFTJIT_TRY(array, parse_npy(bytes));
    if (array.kind != 'S') return fail(ErrorKind::Format, "array metadata holds no bytes");
    std::string_view text = array.elements;
    while (text.ends_with('\0')) text.remove_suffix(1);
    return metadata_from_json_text(text);
}

// An array of f64, samples × the extents of one.
Result<std::vector<double>> read_samples(ZipReader& zip, const std::string& name, const std::vector<uint64_t>& sample) {
    RIFTJIT_TRY(bytes, zip.read(name));
    RIFTJIT_TRY(array, parse_npy(bytes));
    if (array.kind != 'f' || array.item_bytes != 8 || array.shape.size() != 1 + sample.size() ||
        !std::equal(sample.begin(), sample.end(), array.shape.begin() + 1))
        return fail(ErrorKind::Format, "array {}: not f64 of samples × {}", name, fmt::join(sample, " × "));
    std::vector<double> values(array.size());
    if (!values.empty()) std::memcpy(values.data(), array.elements.data(), array.elements.size());
    return values;
}

Result<WeightSamples> read_weights(ZipReader& zip, const RecordedWeights& recorder) {
    const std::string folder = "weights/" + recorder.name + "/";
    RIFTJIT_TRY(sources, read_column(zip, folder + "source"));
    RIFTJIT_TRY(targets, read_column(zip, folder + "target"));
    if (sources.size() != targets.size())
        return fail(ErrorKind::Format, "recorder {}: {} sources, but {} targets", recorder.name, sources.size(),
                    targets.size());
    WeightSamples weights;
    for (size_t i = 0; i < sources.size(); ++i) weights.synapses.push_back({sources[i], targets[i]});
    RIFTJIT_TRY(values, read_samples(zip, folder + "values", {recorder.synapses}));
    weights.values = std::move(values);
    return weights;
}

}  // namespace

Result<void> write_npz(const std::string& path, const RecordingSource& source) {
    RIFTJIT_TRY(zip, ZipWriter::create(path));
    const std::string metadata = to_json_text(source.metadata());
    RIFTJIT_TRY_VOID(zip.open("metadata", npy_header(fmt::format("|S{}", metadata.size()), {})));
    RIFTJIT_TRY_VOID(zip.write(metadata));
    RIFTJIT_TRY_VOID(zip.close());
    RIFTJIT_TRY_VOID(write_column(zip, "step", source, &Spike::step));
    RIFTJIT_TRY_VOID(write_column(zip, "id", source, &Spike::id));
    for (size_t i = 0; i < source.metadata().header.states.size(); ++i) RIFTJIT_TRY_VOID(write_states(zip, source, i));
    for (size_t i = 0; i < source.metadata().header.weights.size(); ++i)
        RIFTJIT_TRY_VOID(write_weights(zip, source, i));
    return zip.finish();
}

Result<Recording> read_npz(const std::string& path, const ReadOptions& options) {
    RIFTJIT_TRY(zip, ZipReader::open(path));
    const uint64_t unpacked = zip.uncompressed_bytes();
    RIFTJIT_TRY_VOID(refuse_beyond_unpacked(unpacked, zip.file_bytes()));
    RIFTJIT_TRY_VOID(refuse_beyond_memory(2 * unpacked));  // as it lies there, and as it is held
    RIFTJIT_TRY(spikes, read_spikes(zip));
    if (!zip.has("metadata")) {
        const uint32_t largest = spikes.empty() ? 0 : std::ranges::max(spikes, {}, &Spike::id).id;
        if (largest == UINT32_MAX) return fail(ErrorKind::Format, "id {}: above every neuron", largest);
        const uint32_t size = spikes.empty() ? 0 : largest + 1;
        return assemble_foreign(options, {{"all", 0, size, {}}}, std::move(spikes), Silent::unknown);
    }
    RIFTJIT_TRY(metadata, read_metadata(zip));
    std::vector<std::vector<double>> states;
    for (const RecordedStates& recorder : metadata.header.states) {
        RIFTJIT_TRY(values,
                    read_samples(zip, "states/" + recorder.name, {recorder.neurons.size(), recorder.variables.size()}));
        states.push_back(std::move(values));
    }
    std::vector<WeightSamples> weights;
    for (const RecordedWeights& recorder : metadata.header.weights) {
        RIFTJIT_TRY(samples, read_weights(zip, recorder));
        weights.push_back(std::move(samples));
    }
    return assemble(std::move(metadata), std::move(spikes), std::move(states), std::move(weights));
}

}  // namespace riftjit::sim
