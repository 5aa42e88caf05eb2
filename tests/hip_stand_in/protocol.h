// What the stand-in for libamdhip64 and the process with its software machine say to each other over a socket. The
// machine is not linked into the library: it would have to be compiled once more, as position-independent code.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace riftjit::hip_stand_in {

enum class Ask : uint32_t { allocate, release, fill, write, read, copy, load, find, launch };

struct Request {
    Ask ask{};
    uint32_t kernel = 0, groups = 0, lanes = 0;  // launch
    uint64_t at = 0, from = 0;                   // addresses; fill: from is the byte
    uint64_t count = 0;                          // of bytes
    uint64_t payload = 0;                        // bytes that follow: what is written, an object, a name, arguments
};
struct Reply {
    int32_t error = 0;  // HIP's
    uint32_t reserved = 0;
    uint64_t value = 0;    // an address, a kernel's number
    uint64_t payload = 0;  // bytes that follow: what is read
};

inline bool read_all(int socket, void* to, uint64_t bytes) {
    for (auto* next = static_cast<char*>(to); bytes != 0;) {
        const ssize_t got = read(socket, next, bytes);
        if (got <= 0) return false;
        next += got;
        bytes -= uint64_t(got);
    }
    return true;
}
inline bool write_all(int socket, const void* from, uint64_t bytes) {
    for (const auto* next = static_cast<const char*>(from); bytes != 0;) {
        const ssize_t done = write(socket, next, bytes);
        if (done <= 0) return false;
        next += done;
        bytes -= uint64_t(done);
    }
    return true;
}

}  // namespace riftjit::hip_stand_in
