#include "sim/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "host/available_memory.h"
#include "host/file_kind.h"
#include "sim/files/unfinished_file.h"

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
    if (stat(path.c_str(), &status) == 0) return require_regular_file(status, path);
    return {};
}

Result<FileDescriptor> create_file(const std::string& path, Existing existing) {
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (existing == Existing::refuse ? O_EXCL : O_TRUNC);
    FileDescriptor file(open(path.c_str(), flags, 0666));
    if (!file) return fail_with_errno(path);
    return file;
}

Result<FileDescriptor> open_regular_file(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // a FIFO shall not wait for a writer
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return fail_with_errno(path);
    RIFTJIT_TRY_VOID(require_regular_file(status, path));
    return file;
}

namespace {

Result<std::string> read_at_most(const std::string& path, uint64_t limit) {
    RIFTJIT_TRY(file, open_regular_file(path));
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return fail_with_errno(path);
    const uint64_t size = std::min(uint64_t(status.st_size), limit);
    if (const auto available = memory_below(size))
        return fail(ErrorKind::OutOfMemory, "{}: {} bytes, {} are available", path, status.st_size, *available);
    std::string bytes;
    try {
        bytes.resize(size);
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::OutOfMemory, "{}: {} bytes do not fit into memory", path, size);
    }
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

Result<std::string> read_file(const std::string& path, uint64_t most_bytes) {
    RIFTJIT_TRY(bytes, read_at_most(path, most_bytes + 1));
    if (bytes.size() > most_bytes)
        return fail(ErrorKind::Format, "{}: more than {} MiB, the most that is read", path, most_bytes >> 20);
    return bytes;
}

Result<std::string> read_head(const std::string& path) { return read_at_most(path, 64); }

namespace {

// Asks the device, which may refuse only now.
Result<void> sync_file(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fsync(file.get()) != 0) return fail_with_errno(path);
    return {};
}

}  // namespace

Result<void> rename_into_place(const std::string& from, const std::string& to, Existing existing) {
    RIFTJIT_TRY_VOID(sync_file(from));
    const unsigned flags = existing == Existing::refuse ? RENAME_NOREPLACE : 0;
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return {};
    // Some file systems have no RENAME_NOREPLACE; the name was free a moment ago.
    if (errno == EINVAL && rename(from.c_str(), to.c_str()) == 0) return {};
    return fail_with_errno(to);
}

Result<std::string> file_behind(const std::string& path) {
    std::error_code error;
    const auto target = std::filesystem::weakly_canonical(path, error);
    if (error) return fail(ErrorKind::Io, "{}: {}", path, error.message());
    return target.string();
}

Result<void> write_whole_file(const std::string& path, Existing existing,
                              const std::function<Result<void>(const std::string& temporary)>& write) {
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    RIFTJIT_TRY(target, file_behind(path));
    const std::string temporary = target + ".new";
    std::error_code error;
    std::filesystem::remove(temporary, error);
    const UnfinishedFile unfinished(temporary);
    auto written = Result<void>(fail(ErrorKind::OutOfMemory, "{}: writing it does not fit into memory", path));
    try {
        written = write(temporary);
    } catch (const std::bad_alloc&) {
    }
    if (written) written = rename_into_place(temporary, target, existing);
    if (written) return {};
    std::filesystem::remove(temporary, error);
    // The caller knows the file by its own name.
    std::string message = written.error().message;
    if (message.starts_with(temporary)) message.replace(0, temporary.size(), path);
    return fail(written.error().kind, "{}", message);
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
