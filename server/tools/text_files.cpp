#include "server/tools/text_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/file_descriptor.h"
#include "host/file_kind.h"
#include "host/utf8.h"

namespace riftjit::server {

namespace {

constexpr uint64_t kMostScanned = uint64_t(4) << 30;  // bytes of a file in which lines are looked for
constexpr mode_t kNewFile = 0666;                     // less what the user's mask takes away

std::unexpected<Error> cannot(const std::string& path) {
    return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
}

// O_NONBLOCK: to open a FIFO would wait for who writes to it.
Result<FileDescriptor> open_text(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return cannot(path);
    RIFTJIT_TRY_VOID(require_regular_file(status, path));
    return file;
}

Result<size_t> read_piece(const FileDescriptor& file, const std::string& path, char* target, size_t size) {
    while (true) {
        const ssize_t count = read(file.get(), target, size);
        if (count >= 0) return size_t(count);
        if (errno != EINTR) return cannot(path);
    }
}

std::unexpected<Error> no_text(const std::string& path) {
    return fail(ErrorKind::Format, "{}: is no text (it has NUL bytes)", path);
}

// Takes a file's bytes in order and keeps the lines that were asked for.
class LineTaker {
public:
    LineTaker(const LineRange& range, size_t most) : range_(range), most_(most) {}

    // False: nothing more is wanted.
    bool take(std::string_view bytes) {
        while (!bytes.empty()) {
            const size_t end = bytes.find('\n');
            const std::string_view part = bytes.substr(0, end == bytes.npos ? end : end + 1);
            bytes.remove_prefix(part.size());
            if (line_ > range_.last) return false;
            if (is_line_begin_) found_.lines_seen = line_;
            if (line_ >= range_.first && !keep(part)) return false;
            is_line_begin_ = end != std::string_view::npos;
            if (is_line_begin_) ++line_;
        }
        return true;
    }
    FileLines result() { return std::move(found_); }

private:
    bool keep(std::string_view part) {
        if (is_line_begin_) {
            line_begin_ = found_.text.size();
            if (range_.has_numbers) found_.text += fmt::format("{}→", line_);
        }
        found_.text += part;
        found_.last = line_;
        if (found_.text.size() <= most_) return true;
        found_.is_cut = true;
        if (line_begin_ > 0) {
            found_.text.resize(line_begin_);
            --found_.last;
        } else {
            found_.text.resize(valid_utf8_prefix(std::string_view(found_.text).substr(0, most_)));
        }
        return false;
    }

    const LineRange range_;
    const size_t most_;
    FileLines found_;
    int64_t line_ = 1;
    size_t line_begin_ = 0;
    bool is_line_begin_ = true;
};

// What a link leads to; the path itself where it is none or leads nowhere yet.
std::string real_path(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::canonical(path, error);
    return error ? path : whole.string();
}

Result<void> write_all(const FileDescriptor& file, const std::string& path, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = write(file.get(), text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot(path);
        text.remove_prefix(size_t(count));
    }
    return {};
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
    RIFTJIT_TRY(file, open_text(path));
    std::string text;
    char piece[65536];
    while (true) {
        RIFTJIT_TRY(count, read_piece(file, path, piece, sizeof piece));
        if (count == 0) break;
        text.append(piece, count);
        if (text.size() > kMostFileBytes)
            return fail(ErrorKind::Unsupported, "{}: has more than {} bytes", path, kMostFileBytes);
    }
    if (text.contains('\0')) return no_text(path);
    return text;
}

Result<FileLines> read_lines(const std::string& path, const LineRange& range, size_t most_bytes,
                             const std::function<bool()>& is_wanted) {
    RIFTJIT_TRY(file, open_text(path));
    LineTaker taker(range, most_bytes);
    char piece[65536];
    for (uint64_t scanned = 0;; scanned += sizeof piece) {
        if (scanned > kMostScanned)
            return fail(ErrorKind::Unsupported, "{}: line {} does not begin within {} bytes", path, range.first,
                        kMostScanned);
        if (is_wanted && !is_wanted()) return fail(ErrorKind::Interrupted, "{}: was interrupted", path);
        RIFTJIT_TRY(count, read_piece(file, path, piece, sizeof piece));
        if (std::memchr(piece, 0, count) != nullptr) return no_text(path);
        if (count == 0 || !taker.take({piece, count})) return taker.result();
    }
}

Result<void> write_text_file(const std::string& path, std::string_view text) {
    const std::string target = real_path(path);
    struct stat status{};
    const bool exists = stat(target.c_str(), &status) == 0;
    if (exists) RIFTJIT_TRY_VOID(require_regular_file(status, path));
    // Renaming needs no permission to write the file; whoever has none shall not change it all the same.
    if (exists && access(target.c_str(), W_OK) != 0) return cannot(path);
    if (lstat(target.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
        return fail(ErrorKind::Io, "{}: is a symbolic link that leads nowhere", path);
    std::error_code error;
    const auto folder = std::filesystem::path(target).parent_path();
    std::filesystem::create_directories(folder, error);
    if (error) return fail(ErrorKind::Io, "{}: {}", folder.string(), error.message());
    static std::atomic<uint64_t> number = 0;  // calls may write one file at a time
    const std::string temporary = fmt::format("{}.{}.{}.tmp", target, getpid(), number++);
    FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile));
    if (!file) return cannot(path);
    auto written = write_all(file, path, text);
    if (written && exists) {
        (void)!fchown(file.get(), status.st_uid, status.st_gid);  // only root can; others may own what they rewrote
        if (fchmod(file.get(), status.st_mode & 0777) != 0) written = cannot(path);
    }
    if (written && fsync(file.get()) != 0) written = cannot(path);
    if (written && rename(temporary.c_str(), target.c_str()) != 0) written = cannot(path);
    if (!written) unlink(temporary.c_str());
    return written;
}

}  // namespace riftjit::server
