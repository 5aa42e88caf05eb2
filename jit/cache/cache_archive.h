// Cache entries in one file, to carry them to other machines of the same target.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "host/result.h"

namespace riftjit {

// Header, little-endian: magic "RJEXPORT", u32 format version, u32 kByteOrderMark, architecture (16 bytes, zero
// padded), u64 entries; then per entry u64 bytes and the entry file; then XXH3-128 of everything before.
std::vector<std::byte> pack_archive(std::span<const std::vector<std::byte>> entries);
// The entries, each checked like one read from the cache. Refuses another format, byte order, architecture or target
// by its name.
Result<std::vector<std::span<const std::byte>>> unpack_archive(std::span<const std::byte> archive);

}  // namespace riftjit
