#include "sim/files/hdf5/h5.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "host/available_memory.h"
#include "sim/files/hdf5/texts.h"
#include "sim/files/unpacked_limit.h"

namespace riftjit::sim::h5 {

namespace {

constexpr uint64_t kChecksumBytes = 4;  // of Fletcher's sum, behind each chunk

herr_t take_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
}

// Of a system call that failed HDF5 tells the time, in two lines, the buffer, and also why, which is of the whole file.
std::optional<std::string> reason_of_system_call(const std::string& reason) {
    constexpr std::string_view kBefore = "error message = '";
    const size_t start = reason.find(kBefore);
    if (start == std::string::npos) return std::nullopt;
    const size_t text = start + kBefore.size();
    return reason.substr(text, reason.find('\'', text) - text);
}

[[noreturn]] void raise(const std::string& what) {
    std::string reason;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
    H5Eclear2(H5E_DEFAULT);
    if (const auto of_system = reason_of_system_call(reason)) throw Hdf5Error(*of_system);
    throw Hdf5Error(reason.empty() ? what : what.empty() ? reason : what + ": " + reason);
}

Handle scalar_space() { return {H5Screate(H5S_SCALAR), H5Sclose, "space"}; }

Handle simple_space(const std::vector<hsize_t>& extents) {
    if (extents.empty()) return scalar_space();
    return {H5Screate_simple(int(extents.size()), extents.data(), nullptr), H5Sclose, "space"};
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    return pointers;
}

// UTF-8 of any length: what h5py turns into str.
Handle text_type() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "text type");
    require(H5Tset_size(type, H5T_VARIABLE), "text type");
    require(H5Tset_cset(type, H5T_CSET_UTF8), "text type");
    return type;
}

std::string without_padding(std::string text) {
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

// Of the file that this thread reads: its size, and what came of it in memory so far.
struct Unpacked {
    uint64_t file_bytes, bytes;
};
thread_local Unpacked unpacked = {};

// The elements of a dataset, after a look at whether its storage can hold them, and at what they take in memory.
uint64_t checked_size(hid_t dataset, const std::string& name, size_t element_bytes) {
    const Handle space(H5Dget_space(dataset), H5Sclose, name);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 0) raise(name);
    // Deflate's best ratio is 1032; nothing else that HDF5 brings packs closer.
    constexpr uint64_t kBestRatio = 1100;
    const uint64_t stored = H5Dget_storage_size(dataset);
    if (count > 0 && uint64_t(count) / kBestRatio > stored / element_bytes + 1)
        throw Hdf5Error(fmt::format("{}: {} elements, but {} bytes are stored", name, count, stored));
    uint64_t bytes = 0;  // as read: numbers become wide ones
    if (__builtin_mul_overflow(uint64_t(count), std::max(element_bytes, sizeof(double)), &bytes)) bytes = UINT64_MAX;
    count_unpacked(bytes, name);
    return uint64_t(count);
}

// What lies in other files is somebody else's: a recording that could name them would have its reader copy them.
void refuse_other_files(hid_t dataset, const std::string& name) {
    const Handle properties(H5Dget_create_plist(dataset), H5Pclose, name);
    char file[200] = "";
    const int external = H5Pget_external_count(properties);
    if (external < 0) raise(name);
    if (external > 0) {
        require(H5Pget_external(properties, 0, sizeof file - 1, file, nullptr, nullptr), name);
        throw Hdf5Error(fmt::format("dataset {}: its elements lie in another file, {}, which is not read", name, file));
    }
    if (H5Pget_layout(properties) != H5D_VIRTUAL) return;
    H5Pget_virtual_filename(properties, 0, file, sizeof file - 1);
    throw Hdf5Error(fmt::format("dataset {}: it is virtual, made of {}, which is not read", name, file));
}

// In place of HDF5's own way along external links.
hid_t refuse_link(const char* name, hid_t, const void* value, size_t value_bytes, hid_t, hid_t) {
    const char *file = "", *object = "";
    unsigned flags = 0;
    if (H5Lunpack_elink_val(value, value_bytes, &flags, &file, &object) < 0) file = object = "";
    const std::string text =
        fmt::format("{} is a link to {} in another file, {}, which is not read", name, object, file);
    H5Epush2(H5E_DEFAULT, __FILE__, "refuse_link", __LINE__, H5E_ERR_CLS, H5E_LINK, H5E_TRAVERSE, "%s", text.c_str());
    return -1;
}

template <class T>
std::vector<T> read_numbers(hid_t parent, const std::string& name, H5T_class_t kind, Checksums checksums) {
    const Handle dataset = open_dataset(parent, name);
    const Handle type(H5Dget_type(dataset), H5Tclose, name);
    if (H5Tget_class(type) != kind) throw Hdf5Error(name + ": its elements are of another type");
    const uint64_t count = checked_size(dataset, name, H5Tget_size(type));
    // Columns, what is made of them, and its way from the process that reads to the one that asked, twice.
    constexpr uint64_t kCopies = 4;
    if (const auto fits = refuse_beyond_memory(kCopies * count * sizeof(T)); !fits)
        throw Hdf5Error(name + ": " + fits.error().message);
    const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, name);
    if (checksums == Checksums::ignored) require(H5Pset_edc_check(transfer, H5Z_DISABLE_EDC), name);
    std::vector<T> values(count);
    require(H5Dread(dataset, type_of<T>(), H5S_ALL, H5S_ALL, transfer, values.data()), name);
    return values;
}

bool fits_u32(hid_t parent, const std::string& name) {
    const Handle dataset = open_dataset(parent, name);
    const Handle type(H5Dget_type(dataset), H5Tclose, name);
    return H5Tget_size(type) <= 4 && H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
}

void write_rows_of(hid_t dataset, hid_t memory_type, hsize_t first, const void* rows, hsize_t count) {
    std::vector<hsize_t> block = extents_of(dataset), start(block.size(), 0);
    start[0] = first;
    block[0] = count;
    const Handle file_space(H5Dget_space(dataset), H5Sclose, "rows"), memory_space = simple_space(block);
    require(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr), "rows");
    require(H5Dwrite(dataset, memory_type, memory_space, file_space, H5P_DEFAULT, rows), "rows");
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

}  // namespace

template <>
hid_t type_of<uint8_t>() {
    return H5T_NATIVE_UINT8;
}
template <>
hid_t type_of<uint32_t>() {
    return H5T_NATIVE_UINT32;
}
template <>
hid_t type_of<uint64_t>() {
    return H5T_NATIVE_UINT64;
}
template <>
hid_t type_of<int64_t>() {
    return H5T_NATIVE_INT64;
}
template <>
hid_t type_of<float>() {
    return H5T_NATIVE_FLOAT;
}
template <>
hid_t type_of<double>() {
    return H5T_NATIVE_DOUBLE;
}

Handle::Handle(hid_t id, Close close, const std::string& what) : id_(id), close_(close) {
    if (id < 0) raise(what);
}

void Handle::close() { require(close_(std::exchange(id_, -1)), ""); }

void require(herr_t status, const std::string& what) {
    if (status < 0) raise(what);
}

void count_unpacked(uint64_t bytes, const std::string& name) {
    if (__builtin_add_overflow(unpacked.bytes, bytes, &unpacked.bytes)) unpacked.bytes = UINT64_MAX;
    if (const auto fits = refuse_beyond_unpacked(unpacked.bytes, unpacked.file_bytes); !fits)
        throw Hdf5Error(name + ": " + fits.error().message);
}

void keep_to_one_file() {
    constexpr H5L_class_t kRefused = {H5L_LINK_CLASS_T_VERS, H5L_TYPE_EXTERNAL, "refused", nullptr, nullptr, nullptr,
                                      refuse_link,           nullptr,           nullptr};
    require(H5Lregister(&kRefused), "external links");
    require(H5PLset_loading_state(0), "plug-ins");
}

Handle open_file(const std::string& path, Access access) {
    std::error_code error;
    if (access == Access::read) unpacked = {std::filesystem::file_size(path, error), 0};
    const Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path);
    // The latest format checks its metadata by checksum and knows single-writer mode. No locks: somebody who looks at a
    // recording in progress must not end it.
    require(H5Pset_libver_bounds(properties, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), path);
    require(H5Pset_file_locking(properties, false, true), path);
    // What a file still holds in memory is written when the last of its objects is closed, and only close() tells
    // whether that went well: it refuses to come before others.
    if (access != Access::read) require(H5Pset_fclose_degree(properties, H5F_CLOSE_SEMI), path);
    // No cache of chunks: what cannot be written is then an error of the write, not one of closing a dataset.
    if (access != Access::read) require(H5Pset_cache(properties, 0, 0, 0, 0), path);
    if (access == Access::create)
        return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties), H5Fclose, "cannot be created"};
    if (access == Access::change)
        return {H5Fopen(path.c_str(), H5F_ACC_RDWR, properties), H5Fclose, "cannot be opened"};
    if (access == Access::append)
        return {H5Fopen(path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, properties), H5Fclose, "cannot be opened"};
    // A run that was killed while it appended leaves a mark, with which only a reader in this mode may open the file.
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties);
    if (file >= 0) return {file, H5Fclose, path};
    constexpr unsigned kAttempts = 8;  // at metadata that fails its checksum; 100 by default, each twice as long
    require(H5Pset_metadata_read_attempts(properties, kAttempts), path);
    return {H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, properties), H5Fclose, "cannot be opened"};
}

void flush_to_disk(hid_t file) { require(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot be flushed"); }

Handle create_group(hid_t parent, const std::string& name) {
    return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, name};
}
Handle open_group(hid_t parent, const std::string& name) {
    return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, "group " + name};
}
Handle open_dataset(hid_t parent, const std::string& name) {
    Handle dataset(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), H5Dclose, "dataset " + name);
    refuse_other_files(dataset, name);
    return dataset;
}

bool has(hid_t parent, const std::string& name) {
    const htri_t found = H5Lexists(parent, name.c_str(), H5P_DEFAULT);
    if (found < 0) raise(name);
    return found > 0;
}
bool has_attribute(hid_t object, const std::string& name) {
    const htri_t found = H5Aexists(object, name.c_str());
    if (found < 0) raise(name);
    return found > 0;
}

std::vector<std::string> links(hid_t group) {
    std::vector<std::string> names;
    require(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name, &names), "members of a group");
    return names;
}

template <class T>
void write_attribute(hid_t object, const std::string& name, T value) {
    const Handle space = scalar_space();
    const Handle attribute(H5Acreate2(object, name.c_str(), type_of<T>(), space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           name);
    require(H5Awrite(attribute, type_of<T>(), &value), name);
}
template <class T>
void set_attribute(hid_t object, const std::string& name, T value) {
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, name);
    require(H5Awrite(attribute, type_of<T>(), &value), name);
}
template <class T>
T read_attribute(hid_t object, const std::string& name) {
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, "attribute " + name);
    const Handle space(H5Aget_space(attribute), H5Sclose, name);
    const Handle type(H5Aget_type(attribute), H5Tclose, name);
    const H5T_class_t kind = std::is_integral_v<T> ? H5T_INTEGER : H5T_FLOAT;
    if (H5Sget_simple_extent_npoints(space) != 1 || H5Tget_class(type) != kind)
        throw Hdf5Error("attribute " + name + ": is not one number");
    T value{};
    require(H5Aread(attribute, type_of<T>(), &value), name);
    return value;
}
void write_attribute(hid_t object, const std::string& name, const std::string& text) {
    const Handle type = text_type(), space = scalar_space();
    const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    const char* const pointer = text.c_str();
    require(H5Awrite(attribute, type, &pointer), name);
}

void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts) {
    const Handle type = text_type(), space = simple_space({texts.size()});
    const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    require(H5Awrite(attribute, type, pointers_to(texts).data()), name);
}

void write_attribute(hid_t object, const std::string& name, const char* text) {
    write_attribute(object, name, std::string(text));
}

std::string read_text_attribute(hid_t object, const std::string& name) {
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, "attribute " + name);
    const Handle type(H5Aget_type(attribute), H5Tclose, name);
    const Handle space(H5Aget_space(attribute), H5Sclose, name);
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
        throw Hdf5Error("attribute " + name + ": is not one text");
    if (H5Tis_variable_str(type) > 0) return variable_text_of(attribute, "attribute " + name);
    if (H5Tget_size(type) > H5Aget_storage_size(attribute))
        throw Hdf5Error("attribute " + name + ": longer than its storage");
    std::string text(H5Tget_size(type), '\0');
    require(H5Aread(attribute, type, text.data()), name);
    return without_padding(std::move(text));
}

namespace {

Handle checked_chunks(const std::vector<hsize_t>& extents, const std::string& name) {
    Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name);
    require(H5Pset_chunk(properties, int(extents.size()), extents.data()), name);
    require(H5Pset_fletcher32(properties), name);
    return properties;
}

constexpr uint64_t kMostChunkBytes = 1 << 20;

}  // namespace

template <class T>
Handle create_dataset(hid_t parent, const std::string& name, const std::vector<hsize_t>& extents) {
    const Handle space = simple_space(extents);
    const auto create = [&](hid_t properties) -> Handle {
        return {H5Dcreate2(parent, name.c_str(), type_of<T>(), space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
                name};
    };
    if (extents.empty() || std::ranges::find(extents, 0u) != extents.end()) return create(H5P_DEFAULT);
    const std::vector<hsize_t> row(extents.begin() + 1, extents.end());
    const ChunkShape shape = chunk_shape(row, sizeof(T));
    std::vector<hsize_t> chunk = extents;
    if (!row.empty()) chunk[1] = shape.first_extent;
    // More rows than while a run goes on, where the last chunk is written again and again.
    const uint64_t row_bytes = (shape.bytes - kChecksumBytes) / shape.rows;
    const hsize_t most = std::max<hsize_t>(shape.rows, kMostChunkBytes / row_bytes);
    const hsize_t chunks = (extents[0] + most - 1) / most;
    chunk[0] = (extents[0] + chunks - 1) / chunks;  // of one size: the file holds the last one whole too
    return create(checked_chunks(chunk, name));
}

template <class T>
void write_rows(hid_t dataset, hsize_t first, std::span<const T> values) {
    hsize_t row = 1;
    for (const hsize_t extent : extents_of(dataset)) row *= extent;
    row /= std::max<hsize_t>(1, extents_of(dataset)[0]);
    if (!values.empty()) write_rows_of(dataset, type_of<T>(), first, values.data(), values.size() / row);
}

template <class T>
void read_rows(hid_t dataset, hsize_t first, hsize_t count, std::vector<T>& values) {
    values.resize(count);
    const Handle file_space(H5Dget_space(dataset), H5Sclose, "rows"), memory_space = simple_space({count});
    require(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &first, nullptr, &count, nullptr), "rows");
    require(H5Dread(dataset, type_of<T>(), memory_space, file_space, H5P_DEFAULT, values.data()), "rows");
}

Handle create_texts(hid_t parent, const std::string& name, hsize_t count) {
    const Handle type = text_type(), space = simple_space({count});
    return {H5Dcreate2(parent, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose, name};
}

void write_texts_from(hid_t dataset, hsize_t first, const std::vector<const char*>& texts) {
    if (!texts.empty()) write_rows_of(dataset, text_type(), first, texts.data(), texts.size());
}

template <class T>
Handle write_dataset(hid_t parent, const std::string& name, std::span<const T> values, std::vector<hsize_t> extents) {
    Handle dataset = create_dataset<T>(parent, name, extents);
    if (!values.empty()) require(H5Dwrite(dataset, type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
    return dataset;
}

Handle write_texts(hid_t parent, const std::string& name, const std::vector<std::string>& texts) {
    Handle dataset = create_texts(parent, name, texts.size());
    write_texts_from(dataset, 0, pointers_to(texts));
    return dataset;
}

Handle write_text(hid_t parent, const std::string& name, const std::string& text) {
    const Handle type = text_type(), space = scalar_space();
    Handle dataset(H5Dcreate2(parent, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
                   name);
    const char* const pointer = text.c_str();
    require(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer), name);
    return dataset;
}

std::vector<std::string> read_texts(hid_t parent, const std::string& name) {
    const Handle dataset = open_dataset(parent, name);
    const Handle type(H5Dget_type(dataset), H5Tclose, name);
    const Handle space(H5Dget_space(dataset), H5Sclose, name);
    if (H5Tget_class(type) != H5T_STRING) throw Hdf5Error(name + ": holds no text");
    const size_t length = H5Tget_size(type);
    const uint64_t count = checked_size(dataset, name, length);
    if (H5Tis_variable_str(type) > 0) return variable_texts_of(dataset, count, name);
    if (count > 0 && length > H5Dget_storage_size(dataset)) throw Hdf5Error(name + ": longer than its storage");
    std::string padded(length * count, '\0');
    require(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), name);
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(without_padding(padded.substr(i * length, length)));
    return texts;
}

std::vector<hsize_t> extents_of(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "space");
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0) raise("space");
    std::vector<hsize_t> extents(size_t(rank), 0);
    if (H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) raise("space");
    return extents;
}

std::vector<double> read_doubles(hid_t parent, const std::string& name, Checksums checksums) {
    return read_numbers<double>(parent, name, H5T_FLOAT, checksums);
}

std::vector<uint32_t> read_u32(hid_t parent, const std::string& name, Checksums checksums) {
    if (fits_u32(parent, name)) return read_numbers<uint32_t>(parent, name, H5T_INTEGER, checksums);
    // HDF5 clips what does not fit; 64 bits show it.
    const std::vector<int64_t> wide = read_numbers<int64_t>(parent, name, H5T_INTEGER, checksums);
    std::vector<uint32_t> values(wide.size());
    for (size_t i = 0; i < wide.size(); ++i) {
        if (wide[i] < 0 || wide[i] > UINT32_MAX)
            throw Hdf5Error(fmt::format("{}: element {} is {}, not within 0 and {}", name, i, wide[i], UINT32_MAX));
        values[i] = static_cast<uint32_t>(wide[i]);
    }
    return values;
}

ChunkShape chunk_shape(const std::vector<hsize_t>& row, size_t element_bytes) {
    constexpr uint64_t kChunkBytes = 16 << 10;  // where rows are short
    uint64_t row_bytes = element_bytes;
    for (const hsize_t extent : row) row_bytes *= extent;
    if (row.empty() || row_bytes <= kMostChunkBytes) {
        const hsize_t rows = std::max<uint64_t>(1, kChunkBytes / row_bytes);
        return {rows, row.empty() ? 1 : row[0], 1, rows * row_bytes + kChecksumBytes};
    }
    const uint64_t element = row_bytes / row[0], most = std::max<uint64_t>(1, kMostChunkBytes / element);
    const hsize_t parts = (row[0] + most - 1) / most, first = (row[0] + parts - 1) / parts;
    return {1, first, parts, first * element + kChecksumBytes};
}

template <class T>
Handle create_filled(hid_t parent, const std::string& name, hsize_t rows, T value) {
    const Handle space = simple_space({rows});
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name);
    require(H5Pset_fill_value(properties, type_of<T>(), &value), name);
    return {H5Dcreate2(parent, name.c_str(), type_of<T>(), space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
            name};
}

template <class T>
Handle create_growing_filled(hid_t parent, const std::string& name, T value) {
    const hsize_t none = 0, most = H5S_UNLIMITED, chunk = chunk_shape({}, sizeof(T)).rows;
    const Handle space(H5Screate_simple(1, &none, &most), H5Sclose, name);
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name);
    require(H5Pset_chunk(properties, 1, &chunk), name);
    require(H5Pset_fill_value(properties, type_of<T>(), &value), name);
    return {H5Dcreate2(parent, name.c_str(), type_of<T>(), space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
            name};
}

void set_rows(hid_t parent, const std::string& name, hsize_t rows) {
    require(H5Dset_extent(open_dataset(parent, name), &rows), name);
}

template <class T>
Handle create_growing(hid_t parent, const std::string& name, const std::vector<hsize_t>& row) {
    const ChunkShape shape = chunk_shape(row, sizeof(T));
    std::vector<hsize_t> extents{0}, most{H5S_UNLIMITED}, chunk{shape.rows};
    for (const hsize_t extent : row)
        for (auto* const list : {&extents, &most, &chunk}) list->push_back(extent);
    if (!row.empty()) chunk[1] = shape.first_extent;
    const Handle space(H5Screate_simple(int(extents.size()), extents.data(), most.data()), H5Sclose, name);
    const Handle properties = checked_chunks(chunk, name);
    return {H5Dcreate2(parent, name.c_str(), type_of<T>(), space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
            name};
}

void append_rows(hid_t parent, const std::string& name, hid_t memory_type, const void* rows, hsize_t count) {
    const Handle dataset = open_dataset(parent, name);
    std::vector<hsize_t> extents = extents_of(dataset);
    const hsize_t first = extents[0];
    extents[0] += count;
    require(H5Dset_extent(dataset, extents.data()), name);
    write_rows_of(dataset, memory_type, first, rows, count);
}

template void write_attribute<uint8_t>(hid_t, const std::string&, uint8_t);
template void write_attribute<uint32_t>(hid_t, const std::string&, uint32_t);
template void write_attribute<uint64_t>(hid_t, const std::string&, uint64_t);
template void write_attribute<float>(hid_t, const std::string&, float);
template void write_attribute<double>(hid_t, const std::string&, double);
template void set_attribute<uint8_t>(hid_t, const std::string&, uint8_t);
template void set_attribute<uint32_t>(hid_t, const std::string&, uint32_t);
template void set_attribute<uint64_t>(hid_t, const std::string&, uint64_t);
template uint8_t read_attribute<uint8_t>(hid_t, const std::string&);
template uint32_t read_attribute<uint32_t>(hid_t, const std::string&);
template uint64_t read_attribute<uint64_t>(hid_t, const std::string&);
template double read_attribute<double>(hid_t, const std::string&);
template Handle create_growing<uint32_t>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_growing<uint64_t>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_growing<double>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_filled<int64_t>(hid_t, const std::string&, hsize_t, int64_t);
template Handle create_filled<uint32_t>(hid_t, const std::string&, hsize_t, uint32_t);
template Handle create_growing_filled<int64_t>(hid_t, const std::string&, int64_t);
template Handle create_growing_filled<uint32_t>(hid_t, const std::string&, uint32_t);
template Handle create_dataset<uint32_t>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_dataset<int64_t>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_dataset<uint64_t>(hid_t, const std::string&, const std::vector<hsize_t>&);
template Handle create_dataset<double>(hid_t, const std::string&, const std::vector<hsize_t>&);
template void write_rows<uint32_t>(hid_t, hsize_t, std::span<const uint32_t>);
template void write_rows<int64_t>(hid_t, hsize_t, std::span<const int64_t>);
template void write_rows<uint64_t>(hid_t, hsize_t, std::span<const uint64_t>);
template void write_rows<double>(hid_t, hsize_t, std::span<const double>);
template void read_rows<uint64_t>(hid_t, hsize_t, hsize_t, std::vector<uint64_t>&);
template Handle write_dataset<uint32_t>(hid_t, const std::string&, std::span<const uint32_t>, std::vector<hsize_t>);
template Handle write_dataset<uint64_t>(hid_t, const std::string&, std::span<const uint64_t>, std::vector<hsize_t>);
template Handle write_dataset<int64_t>(hid_t, const std::string&, std::span<const int64_t>, std::vector<hsize_t>);
template Handle write_dataset<double>(hid_t, const std::string&, std::span<const double>, std::vector<hsize_t>);

}  // namespace riftjit::sim::h5
