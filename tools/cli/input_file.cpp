#include "tools/cli/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "host/file_descriptor.h"
#include "host/file_kind.h"

namespace riftjit::tools {

namespace {

// Of a text in the system's words alone, of what is compiled with what was tried.
template <class Bytes>
std::unexpected<Error> cannot(std::string_view what, const std::string& path) {
    if constexpr (std::is_same_v<Bytes, std::string>)
        return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
    else
        return fail(ErrorKind::Io, "cannot {} {}: {}", what, path, std::strerror(errno));
}

std::unexpected<Error> longer(const std::string& name, size_t most) {
    return fail(ErrorKind::Io, "{} is longer than {} bytes", name, most);
}

// A name of something that is open already: whoever started the program meant it.
bool names_descriptor(const std::string& path) {
    return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

Result<void> refuse_endless(const struct stat& status, const std::string& path) {
    const mode_t mode = status.st_mode;
    if (S_ISREG(mode) || S_ISDIR(mode) || names_descriptor(path)) return {};  // reading a directory says what it is
    return fail(ErrorKind::Io, "{} is {}, not a file: it may have no end", path, broad_file_kind(mode));
}

// Of at most `most` bytes: a pipe may have no end, and a file with holes be larger than memory.
template <class Bytes>
Result<Bytes> read_all(int file, const std::string& name, size_t most) {
    constexpr size_t kStep = 1 << 16;
    struct stat status{};
    const bool has_size = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const size_t size = has_size ? static_cast<size_t>(status.st_size) : 0;
    if (size > most) return longer(name, most);
    Bytes bytes;
    bytes.reserve(size + kStep);
    for (size_t filled = 0;;) {
        bytes.resize(filled + kStep);
        const ssize_t count = read(file, bytes.data() + filled, kStep);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot<Bytes>("read", name);
        filled += static_cast<size_t>(count);
        bytes.resize(filled);
        if (count == 0) return bytes;
        if (filled > most) return longer(name, most);
    }
}

template <class Bytes>
Result<Bytes> read_named(const std::string& path, size_t most) {
    // Looked at before it is opened, which a FIFO would make wait and some devices act; and again afterwards, because
    // it may have been replaced in between.
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return cannot<Bytes>("open", path);
    RIFTJIT_TRY_VOID(refuse_endless(status, path));
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return cannot<Bytes>("open", path);
    if (fstat(file.get(), &status) != 0) return cannot<Bytes>("examine", path);
    RIFTJIT_TRY_VOID(refuse_endless(status, path));
    return read_all<Bytes>(file.get(), path, most);
}

}  // namespace

Result<std::string> read_text_bytes(const std::string& path, size_t most) {
    return read_named<std::string>(path, most);
}

Result<std::vector<std::byte>> read_bytes(const std::string& path, size_t most) {
    using Bytes = std::vector<std::byte>;
    return path == "-" ? read_all<Bytes>(STDIN_FILENO, "standard input", most) : read_named<Bytes>(path, most);
}

Result<std::string> read_stdin_bytes() {
    std::string bytes;
    std::array<char, 1 << 16> chunk;
    while (const size_t count = std::fread(chunk.data(), 1, chunk.size(), stdin)) {
        bytes.append(chunk.data(), count);
        if (bytes.size() > kMostOfText) return longer("standard input", kMostOfText);
    }
    RIFTJIT_TRY_VOID(check_standard_input());
    return bytes;
}

bool read_stdin_line(std::string& line, size_t most) {
    line.clear();
    int c = std::getc(stdin);
    if (c == EOF) return false;
    for (; c != EOF && c != '\n' && line.size() <= most; c = std::getc(stdin)) line += static_cast<char>(c);
    return true;
}

Result<void> check_standard_input() {
    if (std::cin.bad() || std::ferror(stdin) != 0)
        return fail(ErrorKind::Io, "cannot read standard input: {}", std::strerror(errno));
    return {};
}

}  // namespace riftjit::tools
