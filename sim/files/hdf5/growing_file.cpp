#include "sim/files/hdf5/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "jit/file_descriptor.h"

namespace riftjit::sim::h5 {

namespace {

constexpr size_t kMostWaitingBytes = 8 << 20;
// Room for what HDF5 writes beside rows: headers and the index of chunks, a few dozen bytes per chunk.
constexpr size_t kMetadataBytes = 256 << 10, kIndexBytesPerChunk = 64;

}  // namespace

GrowingFile::GrowingFile(const std::string& path, const std::function<void(hid_t file)>& fill) : path_(path) {
    Handle file = open_file(path, Access::create);
    fill(file);
    file.close(path);
}

size_t GrowingFile::waiting_bytes() const {
    size_t bytes = 0;
    for (const Column& column : columns_) bytes += column.rows.size();
    return bytes;
}

// HDF5 goes on writing metadata after a write of rows failed, and leaves a file that nobody can open. So the disk is
// asked first, for more than will be needed; closing the file gives the rest back.
void GrowingFile::reserve() const {
    uint64_t bytes = kMetadataBytes;
    for (const Column& column : columns_) {
        const uint64_t chunk_bytes = rows_per_chunk(column.row_bytes) * column.row_bytes;
        const uint64_t chunks = column.rows.size() / chunk_bytes + 2;
        bytes += chunks * (chunk_bytes + kIndexBytesPerChunk);
    }
    const FileDescriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) throw Hdf5Error(std::strerror(errno));
    const int error = posix_fallocate(file.get(), status.st_size, off_t(bytes));
    if (error == 0) return;
    if (ftruncate(file.get(), status.st_size) != 0) throw Hdf5Error(std::strerror(errno));
    throw Hdf5Error(std::strerror(error));
}

void GrowingFile::append_waiting() {
    reserve();
    Handle file = open_file(path_, Access::append);
    for (const Column& column : columns_)
        if (!column.rows.empty())
            append_rows(file, column.dataset, column.type, column.rows.data(), column.rows.size() / column.row_bytes);
    file.close(path_);
    for (Column& column : columns_) column.rows.clear();
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
        file.close(path_);
    });
}

}  // namespace riftjit::sim::h5
