#include "sim/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "host/available_memory.h"
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

namespace {

// Asks the device, which may refuse only now.
Result<void> sync_file(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fsync(file.get()) != 0) return fail_with_errno(path);
    return {};
}

// The last step of a write: the whole file under its name, or nothing.
Result<void> rename_into_place(const std::string& from, const std::string& to, Existing existing) {
    RIFTJIT_TRY_VOID(sync_file(from));
    const unsigned flags = existing == Existing::refuse ? RENAME_NOREPLACE : 0;
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return {};
    // Some file systems have no RENAME_NOREPLACE; the name was free a moment ago.
    if (errno == EINVAL && rename(from.c_str(), to.c_str()) == 0) return {};
    return fail_with_errno(to);
}

}  // namespace

Result<void> write_whole_file(const std::string& path, Existing existing,
                              const std::function<Result<void>(const std::string& temporary)>& write) {
    RIFTJIT_TRY_VOID(refuse_existing(path, existing));
    std::error_code error;
    const auto target = std::filesystem::weakly_canonical(path, error);  // a link stays, what it names is replaced
    if (error) return fail(ErrorKind::Io, "{}: {}", path, error.message());
    const std::string temporary = target.string() + ".new";
    std::filesystem::remove(temporary, error);
    const UnfinishedFile unfinished(temporary);
    auto written = Result<void>(fail(ErrorKind::OutOfMemory, "{}: writing it does not fit into memory", path));
    try {
        written = write(temporary);
    } catch (const std::bad_alloc&) {
    }
    if (written) written = rename_into_place(temporary, target.string(), existing);
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
