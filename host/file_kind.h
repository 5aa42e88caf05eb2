// What lies behind a name, in the words of messages.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "host/result.h"

namespace riftjit {

constexpr std::string_view file_kind(mode_t mode) {
    if (S_ISREG(mode)) return "a regular file";
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISLNK(mode)) return "a symbolic link";
    if (S_ISCHR(mode)) return "a character device";
    if (S_ISBLK(mode)) return "a block device";
    return "something else";
}

// The same where it does not matter of which kind a device is.
constexpr std::string_view broad_file_kind(mode_t mode) {
    return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : file_kind(mode);
}

// "PATH: is a FIFO, not a regular file"
inline Result<void> require_regular_file(const struct stat& status, std::string_view path) {
    if (S_ISREG(status.st_mode)) return {};
    return fail(ErrorKind::Io, "{}: is {}, not a regular file", path, file_kind(status.st_mode));
}

}  // namespace riftjit
