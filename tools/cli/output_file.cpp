#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/file_descriptor.h"
#include "sim/files/unfinished_file.h"
#include "tools/cli/output.h"

namespace riftjit::tools {

namespace {

constexpr int kNewFileMode = 0666;  // less what the user's mask takes away

std::unexpected<Error> system_words() { return fail(ErrorKind::Io, "{}", std::strerror(errno)); }

std::unexpected<Error> cannot_write(const std::string& path, std::string_view why) {
    return fail(ErrorKind::Io, "cannot write {}: {}", path, why);
}

// As O_NONBLOCK has a FIFO without a reader refused, for which a writer would wait for ever; then writes wait again.
FileDescriptor open_special(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file) fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
    return file;
}

std::string why_not_open() { return errno == ENXIO ? "a FIFO that nobody reads" : std::strerror(errno); }

// A device or a pipe: written to as it is.
bool is_special(const std::string& path, struct stat& status) {
    return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// The file that a symbolic link leads to, which is the one to replace, even where it does not exist yet; `path` itself
// if it is none.
std::filesystem::path link_target(std::filesystem::path path) {
    constexpr int kMostLinks = 40;  // as the kernel follows
    std::error_code error;
    for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i)
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    return path;
}

}  // namespace

Result<void> check_output_file(const std::string& flag, const std::string& path, bool is_forced) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
        return fail(ErrorKind::Io, "{}: there is no folder {}", flag, folder.string());
    if (!std::filesystem::exists(path, ignored)) return {};
    if (std::filesystem::is_directory(path, ignored)) return fail(ErrorKind::Io, "{}: {} is a folder", flag, path);
    if (is_forced) return {};
    return fail(ErrorKind::Usage, "{}: {} exists; --force overwrites it", flag, path);
}

Result<void> try_to_create(const std::string& flag, const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return {};
    const sim::UnfinishedFile unfinished(path);  // an interrupt in between leaves nothing behind
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST)
        return fail(ErrorKind::Io, "{}: {}: cannot be created: {}", flag, path, std::strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path.c_str());
    }
    return {};
}

bool is_same_file(const std::string& a, const std::string& b) {
    std::error_code error;
    if (std::filesystem::exists(a, error) && std::filesystem::exists(b, error))
        return std::filesystem::is_regular_file(a, error) && std::filesystem::equivalent(a, b, error);
    const std::filesystem::path whole = std::filesystem::weakly_canonical(link_target(a), error);
    return !error && whole == std::filesystem::weakly_canonical(link_target(b), error);
}

std::string dash_for_standard_output(const std::string& path) {
    struct stat named{}, output{};
    const bool is_it = stat(path.c_str(), &named) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
                       named.st_dev == output.st_dev && named.st_ino == output.st_ino;
    return is_it && !S_ISCHR(named.st_mode) ? "-" : path;  // what goes to a device goes there by any way
}

Result<void> check_output(const std::string& path) {
    if (path == "-" && isatty(STDOUT_FILENO) != 0)
        return fail(ErrorKind::Usage,
                    "standard output is a terminal, and these are bytes: redirect it, or name a file");
    struct stat status{};
    if (path == "-" || is_special(path, status)) return {};  // who reads a FIFO would see its end if it were tried
    const std::string parent = link_target(path).parent_path().string();
    const bool is_writable = access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) == 0;
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (!is_writable || S_ISDIR(status.st_mode)) return cannot_write(path, std::strerror(errno));
    return {};
}

struct ReplacedFile::State {
    std::string target, temporary;  // empty: written to as it is
    FileDescriptor file = {};
    std::unique_ptr<sim::UnfinishedFile> unfinished = nullptr;

    ~State() {
        if (!temporary.empty()) unlink(temporary.c_str());
    }
};

Result<ReplacedFile> ReplacedFile::create(const std::string& path) {
    auto state = std::make_shared<State>();
    struct stat status{};
    if (is_special(path, status) || dash_for_standard_output(path) == "-") {
        state->file = open_special(path);
    } else {
        state->target = link_target(path).string();
        const std::string temporary = fmt::format("{}.{}.tmp", state->target, getpid());
        state->unfinished = std::make_unique<sim::UnfinishedFile>(temporary);
        constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
        state->file = FileDescriptor(open(temporary.c_str(), kFlags, kNewFileMode));
        if (state->file) state->temporary = temporary;
    }
    if (!state->file) return fail(ErrorKind::Io, "{}", why_not_open());
    return ReplacedFile(std::move(state));
}

Result<void> ReplacedFile::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(state_->file.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_words();
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

Result<void> ReplacedFile::finish() {
    if (close(state_->file.release()) != 0) return system_words();
    if (state_->temporary.empty()) return {};
    if (rename(state_->temporary.c_str(), state_->target.c_str()) != 0) return system_words();
    state_->temporary.clear();
    return {};
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
    RIFTJIT_TRY_VOID(check_output(path));
    if (path == "-") {  // a failure is told when the program ends
        write_output({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        return {};
    }
    auto file = ReplacedFile::create(path);
    auto written = file ? file->append(bytes) : std::unexpected(file.error());
    if (written) written = file->finish();
    return written ? written : cannot_write(path, written.error().message);
}

}  // namespace riftjit::tools
