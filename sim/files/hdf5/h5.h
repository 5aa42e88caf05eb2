// HDF5 objects that close themselves, and the few ways in which recordings use them. Everything here throws Hdf5Error;
// only the module's interface catches it.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/result.h"

namespace riftjit::sim::h5 {

struct Hdf5Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Runs `action`; an Hdf5Error becomes "PATH: its message".
template <class Action>
Result<void> no_throw(const std::string& path, Action&& action) {
    try {
        action();
        return {};
    } catch (const Hdf5Error& error) {
        return fail(ErrorKind::Io, "{}: {}", path, error.what());
    }
}

class Handle {
public:
    using Close = herr_t (*)(hid_t);
    Handle() = default;
    // Throws "WHAT: HDF5's reason" when `id` says failure.
    Handle(hid_t id, Close close, const std::string& what);
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    operator hid_t() const { return id_; }
    void close();  // where its failure matters: throws HDF5's reason

private:
    hid_t id_ = -1;
    Close close_ = nullptr;
};

void require(herr_t status, const std::string& what);

template <class T>
hid_t type_of();  // native: uint8_t, uint32_t, uint64_t, int64_t, float, double

// For this process: what a file says lies in others, by links, external storage or as a virtual dataset, is refused
// with their names, and no filter is loaded that is not HDF5's own.
void keep_to_one_file();

// append: so that readers and a kill always find a sound file. change: of a file that nobody else has seen yet.
enum class Access : uint8_t { create, read, append, change };
Handle open_file(const std::string& path, Access access);
// Of the file that this thread opened last to read: refuses, by `name`, what with all before it is more than a file of
// its size may unpack to.
void count_unpacked(uint64_t bytes, const std::string& name);
void flush_to_disk(hid_t file);  // all that was written so far, before anything that follows
Handle create_group(hid_t parent, const std::string& name);
Handle open_group(hid_t parent, const std::string& name);
Handle open_dataset(hid_t parent, const std::string& name);
bool has(hid_t parent, const std::string& name);  // a link, one level
bool has_attribute(hid_t object, const std::string& name);
std::vector<std::string> links(hid_t group);  // names of its members, sorted

// Attributes: scalars; text of variable length reads like text of fixed length.
template <class T>
void write_attribute(hid_t object, const std::string& name, T value);
template <class T>
void set_attribute(hid_t object, const std::string& name, T value);  // one that exists
template <class T>
T read_attribute(hid_t object, const std::string& name);
void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, const char* text);
void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts);
std::string read_text_attribute(hid_t object, const std::string& name);

// Datasets. No extents: a scalar.
template <class T>
Handle write_dataset(hid_t parent, const std::string& name, std::span<const T> values, std::vector<hsize_t> extents);
// One whose rows (along the first axis) come by write_rows().
template <class T>
Handle create_dataset(hid_t parent, const std::string& name, const std::vector<hsize_t>& extents);
template <class T>
void write_rows(hid_t dataset, hsize_t first, std::span<const T> values);
// Rows [first, first + count) of a dataset of single numbers.
template <class T>
void read_rows(hid_t dataset, hsize_t first, hsize_t count, std::vector<T>& values);
Handle create_texts(hid_t parent, const std::string& name, hsize_t count);
void write_texts_from(hid_t dataset, hsize_t first, const std::vector<const char*>& texts);
Handle write_texts(hid_t parent, const std::string& name, const std::vector<std::string>& texts);
Handle write_text(hid_t parent, const std::string& name, const std::string& text);  // a scalar
std::vector<std::string> read_texts(hid_t parent, const std::string& name);         // of a scalar: one
std::vector<hsize_t> extents_of(hid_t dataset);
// A kill in the middle of a write leaves a chunk whose checksum is that of neither what was there nor what was to be.
enum class Checksums : uint8_t { compared, ignored };
// Refuses sizes that its storage cannot hold, before memory is taken. Numbers of other widths are converted.
std::vector<double> read_doubles(hid_t parent, const std::string& name, Checksums checksums = Checksums::compared);
// Refuses what does not fit.
std::vector<uint32_t> read_u32(hid_t parent, const std::string& name, Checksums checksums = Checksums::compared);

// How a dataset that grows along its first axis by rows of extents `row` is stored: in chunks with a checksum each, of
// several rows, or, of long rows, of a part of one. (HDF5 has no chunks of 4 GiB, and holds each whole in memory.)
struct ChunkShape {
    hsize_t rows, first_extent;  // of a chunk: rows, and of their first extent (1: rows are single numbers)
    hsize_t chunks_per_row;
    uint64_t bytes;  // of a chunk, with its checksum
};
ChunkShape chunk_shape(const std::vector<hsize_t>& row, size_t element_bytes);
template <class T>
Handle create_growing(hid_t parent, const std::string& name, const std::vector<hsize_t>& row = {});
// Columns of one value, which take no space: of `rows` elements; or grown by set_rows().
template <class T>
Handle create_filled(hid_t parent, const std::string& name, hsize_t rows, T value);
template <class T>
Handle create_growing_filled(hid_t parent, const std::string& name, T value);
void set_rows(hid_t parent, const std::string& name, hsize_t rows);
void append_rows(hid_t parent, const std::string& name, hid_t memory_type, const void* rows, hsize_t count);

}  // namespace riftjit::sim::h5
