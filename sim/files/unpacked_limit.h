// How much a compressed file may unpack to. A thousandfold is a legal ratio of deflate, so that a file of a megabyte
// would take a gigabyte; recordings pack to a fifth or so, constants to a thousandth.
#pragma once

#include <cstdint>

#include "host/result.h"

namespace riftjit::sim {

inline constexpr uint64_t kUnpackedMiB = 256, kUnpackedRatio = 32;

inline uint64_t most_unpacked_bytes(uint64_t file_bytes) {
    constexpr uint64_t kMost = uint64_t(1) << 62;
    return (kUnpackedMiB << 20) + (file_bytes > kMost / kUnpackedRatio ? kMost : kUnpackedRatio * file_bytes);
}

// Of all arrays together.
inline Result<void> refuse_beyond_unpacked(uint64_t bytes, uint64_t file_bytes) {
    if (bytes <= most_unpacked_bytes(file_bytes)) return {};
    return fail(
        ErrorKind::Unsupported,
        "its arrays unpack to {} bytes; of a file of {} bytes {} MiB and {} times its size are read: store them "
        "uncompressed",
        bytes, file_bytes, kUnpackedMiB, kUnpackedRatio);
}

}  // namespace riftjit::sim
