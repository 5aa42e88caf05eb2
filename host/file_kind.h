// What lies behind a name, in the words of messages.
#pragma once

#include <sys/stat.h>

#include <string_view>

namespace riftjit {

constexpr std::string_view file_kind(mode_t mode) {
    if (S_ISREG(mode)) return "a regular file";
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISLNK(mode)) return "a symbolic link";
    return "a device";
}

}  // namespace riftjit
