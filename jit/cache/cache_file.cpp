#include "jit/cache/cache_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>

#include "host/file_kind.h"

namespace riftjit {

namespace {

constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr mode_t kPrivateFile = 0600;
// Precision of the order of use; finer would write to disk on every run.
constexpr int64_t kTouchInterval_s = 3600;

std::unexpected<CacheProblem> io_problem(std::string text) {
    return std::unexpected(CacheProblem{CacheFault::io, std::move(text)});
}

CacheProblem open_problem(int code) {
    switch (code) {
        case ENOENT:
            return {CacheFault::missing, "no such entry"};
        case ELOOP:
            return {CacheFault::io, "is a symbolic link"};  // what O_NOFOLLOW says
        case ENXIO:
            return {CacheFault::io, "is a socket or a device without driver"};
        default:
            return {CacheFault::io, fmt::format("cannot open: {}", std::strerror(code))};
    }
}

// A write above RLIMIT_FSIZE raises SIGXFSZ, which kills by default; blocked, it fails with EFBIG like any other full
// disk. The signal goes to the writing thread, so it is taken back before the mask is restored (setrlimit(2)).
class FileSizeSignalBlock {
public:
    FileSizeSignalBlock() {
        sigemptyset(&signals_);
        sigaddset(&signals_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    }
    ~FileSizeSignalBlock() {
        if (sigismember(&before_, SIGXFSZ) == 0) {
            const timespec no_wait{};
            sigtimedwait(&signals_, nullptr, &no_wait);
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
    FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

private:
    sigset_t signals_, before_;
};

std::unexpected<Error> system_failure(std::string_view what) {
    const int code = errno;
    return fail(ErrorKind::Io, "cannot {}: {}", what, std::strerror(code));
}

Result<void> write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_failure("write");
        bytes = bytes.subspan(size_t(written));
    }
    return {};
}

Result<std::string> new_temporary_name() {
    uint64_t random = 0;
    if (getentropy(&random, sizeof random) != 0) return system_failure("draw a temporary name");
    return fmt::format("{}{:016x}", kTemporaryPrefix, random);
}

// Over NFS a rename may be done and still be reported as failed, when the answer got lost: then the file that is in
// place is the one that was written.
bool is_in_place(int directory, const std::string& file_name, int file) {
    struct stat written{}, placed{};
    return fstat(file, &written) == 0 && fstatat(directory, file_name.c_str(), &placed, AT_SYMLINK_NOFOLLOW) == 0 &&
           written.st_ino == placed.st_ino && written.st_dev == placed.st_dev;
}

Result<void> write_and_rename(int directory, int file, const std::string& temporary, const std::string& file_name,
                              std::span<const std::byte> bytes) {
    if (fchmod(file, kPrivateFile) != 0) return system_failure("set permissions");
    RIFTJIT_TRY_VOID(write_all(file, bytes));
    if (fsync(file) != 0) return system_failure("sync");  // before the rename: a power loss must not leave a torn entry
    if (renameat(directory, temporary.c_str(), directory, file_name.c_str()) == 0) return {};
    const int code = errno;
    if (is_in_place(directory, file_name, file)) return {};
    // Somebody removed the temporary (`riftjit cache clear`), which would have had the entry a moment later.
    if (code == ENOENT) return {};
    errno = code;
    return system_failure("rename into place");
}

struct DirectoryCloser {
    void operator()(DIR* directory) const { closedir(directory); }
};

struct UsedFile {
    timespec modified;
    uint64_t bytes;
    std::string name;
    bool operator<(const UsedFile& other) const {
        return std::tie(modified.tv_sec, modified.tv_nsec, name) <
               std::tie(other.modified.tv_sec, other.modified.tv_nsec, other.name);
    }
};

}  // namespace

CacheResult<EntryFile> open_entry_file(int directory, const std::string& file_name) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    FileDescriptor file(
        openat(directory, file_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) return std::unexpected(open_problem(errno));
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return io_problem(fmt::format("cannot examine: {}", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) return io_problem(fmt::format("is {}", broad_file_kind(status.st_mode)));
    if (status.st_uid != geteuid())
        return io_problem(fmt::format("belongs to user {}, not to {}", status.st_uid, geteuid()));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return io_problem(fmt::format("may be written by group or others (mode {:04o})", status.st_mode & 07777));
    const auto bytes = uint64_t(status.st_size);
    if (bytes > kMaxEntryBytes)
        return std::unexpected(
            CacheProblem{CacheFault::corrupt, fmt::format("{} bytes are more than any entry has", bytes)});
    return EntryFile{std::move(file), bytes, status.st_mtim.tv_sec};
}

CacheResult<std::vector<std::byte>> read_entry_file(int directory, const std::string& file_name, Touch touch) {
    auto file = open_entry_file(directory, file_name);
    if (!file) return std::unexpected(file.error());
    std::vector<std::byte> bytes(file->bytes);
    size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count = read(file->descriptor.get(), bytes.data() + filled, bytes.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return io_problem(fmt::format("cannot read: {}", std::strerror(errno)));
        if (count == 0) break;  // it was truncated since: the header will say so
        filled += size_t(count);
    }
    bytes.resize(filled);
    // Best effort, in either direction: a clock that was wrong once must not pin an entry.
    if (touch == Touch::yes && std::abs(int64_t(time(nullptr)) - file->modified_s) > kTouchInterval_s)
        futimens(file->descriptor.get(), nullptr);
    return bytes;
}

Result<void> publish_file(int directory, const std::string& file_name, std::span<const std::byte> bytes) {
    const FileSizeSignalBlock block;
    RIFTJIT_TRY(temporary, new_temporary_name());
    const FileDescriptor file(
        openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateFile));
    if (!file) return system_failure("create a file");
    const Result<void> published = write_and_rename(directory, file.get(), temporary, file_name, bytes);
    if (!published) unlinkat(directory, temporary.c_str(), 0);
    return published;
}

Result<std::vector<std::string>> list_files(int directory) {
    FileDescriptor copy(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // with a position of its own
    if (!copy) return system_failure("open the directory");
    const std::unique_ptr<DIR, DirectoryCloser> stream(fdopendir(copy.get()));
    if (!stream) return system_failure("open the directory");
    std::ignore = copy.release();
    std::vector<std::string> names;
    errno = 0;
    for (const dirent* entry; (entry = readdir(stream.get())) != nullptr; errno = 0) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return system_failure("list the directory");
    std::sort(names.begin(), names.end());
    return names;
}

bool is_temporary_file_name(std::string_view file_name) { return file_name.starts_with(kTemporaryPrefix); }

Removed remove_old_temporaries(int directory, std::chrono::seconds age) {
    Removed removed;
    const auto names = list_files(directory);
    if (!names) return removed;
    for (const std::string& name : *names) {
        struct stat status{};
        if (!is_temporary_file_name(name) || fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (time(nullptr) - status.st_mtim.tv_sec < age.count()) continue;
        if (unlinkat(directory, name.c_str(), 0) == 0)
            removed = {removed.files + 1, removed.bytes + uint64_t(status.st_size)};
    }
    return removed;
}

Result<Removed> remove_least_recent(int directory, uint64_t max_bytes) {
    RIFTJIT_TRY(names, list_files(directory));
    std::vector<UsedFile> files;
    uint64_t total = 0;
    for (std::string& name : names) {
        struct stat status{};
        if (!is_entry_file_name(name) || fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(status.st_mode)) continue;
        files.push_back({status.st_mtim, uint64_t(status.st_size), std::move(name)});
        total += files.back().bytes;
    }
    std::sort(files.begin(), files.end());
    Removed removed;
    for (const UsedFile& file : files) {
        if (total <= max_bytes) break;
        const bool is_removed = unlinkat(directory, file.name.c_str(), 0) == 0;
        if (!is_removed && errno != ENOENT) return system_failure("remove " + file.name);
        total -= file.bytes;
        if (is_removed) removed = {removed.files + 1, removed.bytes + file.bytes};
    }
    return removed;
}

Result<Removed> remove_all(int directory) {
    RIFTJIT_TRY(names, list_files(directory));
    Removed removed;
    for (const std::string& name : names) {
        struct stat status{};
        if (!is_entry_file_name(name) && !is_temporary_file_name(name)) continue;
        if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool is_removed = unlinkat(directory, name.c_str(), S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) == 0;
        if (!is_removed && errno != ENOENT) return system_failure("remove " + name);
        if (is_removed) removed = {removed.files + 1, removed.bytes + uint64_t(status.st_size)};
    }
    return removed;
}

}  // namespace riftjit
