#include "tools/rdna/rdna_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "sim/files/unfinished_file.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

constexpr int kNewFileMode = 0666;  // less what the user's mask takes away

std::unexpected<Error> system_error(std::string_view what, const std::string& path) {
    return fail(ErrorKind::Io, "cannot {} {}: {}", what, path, std::strerror(errno));
}

// Of at most `most` bytes: a pipe may have no end, and a file with holes be larger than memory.
Result<std::vector<std::byte>> read_all(int file, const std::string& path, size_t most) {
    constexpr size_t kStep = 1 << 16;
    struct stat status{};
    const bool has_size = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const size_t size = has_size ? static_cast<size_t>(status.st_size) : 0;
    if (size > most) return fail(ErrorKind::Io, "{} is longer than {} bytes", path, most);
    std::vector<std::byte> bytes;
    bytes.reserve(size + kStep);
    for (size_t filled = 0;;) {
        bytes.resize(filled + kStep);
        const ssize_t count = read(file, bytes.data() + filled, kStep);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error("read", path);
        filled += static_cast<size_t>(count);
        bytes.resize(filled);
        if (count == 0) return bytes;
        if (filled > most) return fail(ErrorKind::Io, "{} is longer than {} bytes", path, most);
    }
}

Result<void> write_all(int file, const std::string& path, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(file, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error("write", path);
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

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

// `shown`: its name in messages.
Result<void> write_to(const std::string& path, int flags, const std::string& shown, std::span<const std::byte> bytes) {
    const int file = open(path.c_str(), flags | O_CLOEXEC, kNewFileMode);
    if (file < 0) return system_error("write", shown);
    Result<void> written = write_all(file, shown, bytes);
    if (close(file) != 0 && written) written = system_error("write", shown);
    return written;
}

constexpr size_t kMaxLineBytes = 4096;

// As std::getline, but of a longer line only its beginning and the fact; the rest is left unread.
bool read_line(std::istream& in, std::string& line, bool& is_too_long) {
    line.clear();
    is_too_long = false;
    for (int c = in.get(); c != EOF; c = in.get()) {
        if (c == '\n') return true;
        line += static_cast<char>(c);
        is_too_long = line.size() > kMaxLineBytes;
        if (is_too_long) return true;
    }
    return !line.empty();
}

std::string_view without_comment(std::string_view line) {
    line = line.substr(0, std::min({line.find(';'), line.find("//"), line.find('#'), line.size()}));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return "";
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// A message quotes what it refuses: control bytes are spelt out, and it ends somewhere.
std::string printable(std::string_view text) {
    constexpr size_t kMost = 160;
    std::string shown;
    for (const char c : text.substr(0, kMost)) {
        const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        shown += is_control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
    }
    return text.size() > kMost ? shown + "..." : shown;
}

}  // namespace

std::string clipped(std::string_view text) {
    constexpr size_t kMost = 80;
    return text.size() > kMost ? std::string(text.substr(0, kMost)) + "..." : std::string(text);
}

Result<std::vector<std::byte>> read_bytes(const std::string& path, size_t most) {
    if (path == "-") return read_all(STDIN_FILENO, "standard input", std::min(most, kMostOfFile));
    struct stat status{};
    if (stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)))
        return fail(ErrorKind::Io, "{} is a device, not a file: it may have no end", path);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return system_error("open", path);
    auto bytes = read_all(file, path, most);
    close(file);
    return bytes;
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
    if (path == "-" || is_special(path, status)) return {};
    const std::string parent = link_target(path).parent_path().string();
    const bool is_writable = access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) == 0;
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (!is_writable || S_ISDIR(status.st_mode)) return system_error("write", path);
    return {};
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
    RIFTJIT_TRY_VOID(check_output(path));
    if (path == "-") {  // a failure is told when the program ends
        write_output({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        return {};
    }
    struct stat status{};
    if (is_special(path, status)) return write_to(path, O_WRONLY, path, bytes);
    const std::string target = link_target(path).string(), temporary = fmt::format("{}.{}.tmp", target, getpid());
    const sim::UnfinishedFile unfinished(temporary);
    Result<void> written = write_to(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, path, bytes);
    if (written && rename(temporary.c_str(), target.c_str()) != 0) written = system_error("write", path);
    if (!written) unlink(temporary.c_str());
    return written;
}

void add_rdna_target(CLI::App& app, RdnaChoice& choice, const std::string& help) {
    app.add_option_function<std::string>(
           "--target",
           [&choice](const std::string& text) {
               choice.target = rdna::target_from_name(text);
               if (!choice.target)
                   throw CLI::ValidationError(
                       fmt::format("--target: \"{}\" is not known, expected one of {}", text, rdna::target_names()),
                       CLI::ExitCodes::ValidationError);
           },
           help)
        ->type_name("GFX");
}

void add_rdna_choice(CLI::App& app, RdnaChoice& choice, const std::string& target_help, const std::string& wave_help) {
    add_rdna_target(app, choice, target_help);
    app.add_flag_callback("--wave64", [&choice] { choice.wave_size = rdna::WaveSize::wave64; }, wave_help);
}

int translate_lines(const std::function<Result<std::string>(std::string_view)>& translate) {
    int exit_code = kExitDone;
    std::string line;
    bool is_too_long = false;
    for (size_t number = 1; read_line(std::cin, line, is_too_long); ++number) {
        if (is_too_long) {
            write_diagnostic(fmt::format("error: line {}: more than {} bytes\n", number, kMaxLineBytes));
            return kExitError;
        }
        Result<std::string> translated = translate(without_comment(line));
        if (!translated) {
            write_diagnostic(fmt::format("error: line {}: {}\n", number, printable(translated.error().message)));
            exit_code = kExitError;
        }
        if (!write_output(translated.value_or("") + "\n")) return exit_code;
    }
    if (std::ferror(stdin) == 0) return exit_code;
    return report(system_error("read", "standard input").error());
}

}  // namespace riftjit::tools
