#include "sim/files/hdf5/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/file_descriptor.h"

namespace riftjit::sim::h5 {

namespace {

constexpr size_t kMostWaitingBytes = 8 << 20;

// Room for what HDF5 writes beside rows: headers, and the index of chunks, an extensible array. The index of n chunks
// grows by whole data blocks of at most 16 √n elements (HDF5 file format, "Extensible Array": 16 at least, doubled with
// every second super block, which doubles n as well), and by a super block of fewer. An element is an address of 8
// bytes, a size of 4 at most where chunks are below 16 MiB, and a mask of filters of 4.
constexpr size_t kMetadataBytes = 8 << 10, kIndexBytesPerRootOfChunks = 2 * 16 * 16;

uint64_t index_bytes(uint64_t chunks) {
    return kMetadataBytes / 2 + uint64_t(kIndexBytesPerRootOfChunks * std::sqrt(double(chunks)));
}

}  // namespace

GrowingFile::GrowingFile(const std::string& path, const std::function<void(hid_t file)>& fill, RowGroups* groups)
    : path_(path), groups_(groups) {
    Handle file = open_file(path, Access::create);
    fill(file);
    file.close();
}

size_t GrowingFile::waiting_bytes() const {
    size_t bytes = 0;
    for (const Column& column : columns_) bytes += column.rows.size();
    return bytes;
}

std::vector<size_t> GrowingFile::share(unsigned halvings) const {
    if (groups_ != nullptr) return groups_->waiting_rows(halvings);
    std::vector<size_t> rows;
    for (const Column& column : columns_) rows.push_back(column.waiting_rows() >> halvings);
    return rows;
}

// HDF5 goes on writing metadata after a write of rows failed, and leaves a file that nobody can open. So the disk is
// asked first, for more than will be needed; closing the file gives the rest back. Returns errno's number.
int GrowingFile::reserve(std::span<const size_t> rows) const {
    uint64_t bytes = kMetadataBytes;
    for (size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        const ChunkShape& chunk = column.chunk;
        const auto chunks = [&](uint64_t count) {
            return (count + chunk.rows - 1) / chunk.rows * chunk.chunks_per_row;
        };
        const uint64_t after = chunks(column.written_rows + rows[i]);
        bytes += (after - chunks(column.written_rows)) * chunk.bytes + index_bytes(after);
    }
    const FileDescriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return errno;
    const int error = posix_fallocate(file.get(), status.st_size, off_t(bytes));
    if (error != 0 && ftruncate(file.get(), status.st_size) != 0) return errno;
    return error;
}

void GrowingFile::append_share(unsigned halvings) {
    const std::vector<size_t> rows = share(halvings);
    Handle file = open_file(path_, Access::append);
    for (size_t i = 0; i < columns_.size(); ++i)
        if (rows[i] != 0) append_rows(file, columns_[i].dataset, columns_[i].type, columns_[i].rows.data(), rows[i]);
    if (groups_ != nullptr) {
        flush_to_disk(file);  // so that a kill never leaves the note without the rows
        groups_->appended(file, halvings);
    }
    file.close();
    for (size_t i = 0; i < columns_.size(); ++i) {
        Column& column = columns_[i];
        column.rows.erase(column.rows.begin(), column.rows.begin() + ptrdiff_t(rows[i] * column.row_bytes));
        column.written_rows += rows[i];
    }
}

// All, or as much as there is room for, and then an error.
void GrowingFile::append_waiting() {
    while (waiting_bytes() != 0) {
        size_t most_rows = 0;
        for (const Column& column : columns_) most_rows = std::max(most_rows, column.waiting_rows());
        unsigned halvings = 0;
        while (const int error = reserve(share(halvings)))
            if (most_rows >> ++halvings == 0) throw Hdf5Error(std::strerror(error));
        append_share(halvings);
    }
}

Result<void> GrowingFile::flush() {
    if (waiting_bytes() == 0) return {};
    return no_throw(path_, [&] { append_waiting(); });
}

Result<void> GrowingFile::flush_when_large() {
    if (waiting_bytes() < kMostWaitingBytes) return {};
    return flush();
}

Result<void> GrowingFile::finish(const std::function<void(hid_t file)>& change) {
    RIFTJIT_TRY_VOID(flush());
    return no_throw(path_, [&] {
        Handle file = open_file(path_, Access::append);
        change(file);
        file.close();
    });
}

}  // namespace riftjit::sim::h5
