#include "sim/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/available_memory.h"

namespace riftjit::sim {

namespace {

// Returns how many bytes were written; errno says why not all.
size_t write_at(int file, std::string_view bytes, uint64_t offset) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t written = pwrite(file, bytes.data() + done, bytes.size() - done, off_t(offset + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        done += size_t(written);
    }
    return done;
}

}  // namespace

std::unexpected<Error> fail_with_errno(const std::string& path) {
    return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
}

Result<void> refuse_existing(const std::string& path, Existing existing) {
    struct stat status{};
    if (lstat(path.c_str(), &status) != 0) return {};
    if (existing == Existing::refuse) return fail(ErrorKind::Io, "{}: exists, and is not replaced unless forced", path);
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        return fail(ErrorKind::Io, "{}: is not a regular file", path);
    return {};
}

Result<FileDescriptor> create_file(const std::string& path, Existing existing) {
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (existing == Existing::refuse ? O_EXCL : O_TRUNC);
    FileDescriptor file(open(path.c_str(), flags, 0666));
    if (!file) return fail_with_errno(path);
    return file;
}

namespace {

Result<std::string> read_at_most(const std::string& path, uint64_t limit) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // a pipe shall not wait
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return fail_with_errno(path);
    if (!S_ISREG(status.st_mode)) return fail(ErrorKind::Io, "{}: is not a regular file", path);
    if (std::min(uint64_t(status.st_size), limit) > available_memory())
        return fail(ErrorKind::OutOfMemory, "{}: {} bytes, {} are available", path, status.st_size, available_memory());
    std::string bytes(std::min(uint64_t(status.st_size), limit), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_with_errno(path);
        if (count == 0) break;
        done += size_t(count);
    }
    bytes.resize(done);
    return bytes;
}

}  // namespace

Result<std::string> read_file(const std::string& path) { return read_at_most(path, UINT64_MAX); }

Result<std::string> read_head(const std::string& path) { return read_at_most(path, 64); }

Result<void> sync_file(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fsync(file.get()) != 0) return fail_with_errno(path);
    return {};
}

Result<AppendFile> AppendFile::create(const std::string& path, Existing existing) {
    RIFTJIT_TRY(file, create_file(path, existing));
    return AppendFile(path, std::move(file));
}

Result<void> AppendFile::append(std::string_view bytes) {
    if (write_at(file_.get(), bytes, size_) == bytes.size()) {
        size_ += bytes.size();
        return {};
    }
    const auto error = fail_with_errno(path_);
    if (ftruncate(file_.get(), off_t(size_)) != 0) return fail_with_errno(path_);
    return error;
}

Result<void> AppendFile::overwrite(uint64_t offset, std::string_view bytes) {
    check(offset + bytes.size() <= size_, "only what was appended is written over");
    if (write_at(file_.get(), bytes, offset) == bytes.size()) return {};
    return fail_with_errno(path_);
}

Result<void> AppendFile::sync() {
    if (fsync(file_.get()) == 0) return {};
    return fail_with_errno(path_);
}

}  // namespace riftjit::sim
