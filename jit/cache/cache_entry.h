// One cache entry as bytes: a header that says for whom the code is, a checksum over everything, and the code object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/cache/disk_cache.h"
#include "jit/code_object.h"

namespace riftjit {

// Part of every key and of every header; entries of another version live in another directory.
inline constexpr uint32_t kCacheFormatVersion = 1;
// Larger than any kernel; a file above it is not read.
inline constexpr uint64_t kMaxEntryBytes = uint64_t(64) << 20;

// Header, little-endian:
//    0  magic "RJCACHE\n"
//    8  u32 format version
//   12  u32 kByteOrderMark
//   16  XXH3-128 of everything from byte 32 on; the fields before it have one right value each
//   32  target, 24 bytes, zero padded: "x86_64-avx512_vnni"
//   56  u64 feature bits of an x86 level; 0 for other targets
//   64  key, 16 bytes
//   80  u64 payload bytes
//   88  payload: the code object's ELF file, to the end of the file
inline constexpr size_t kEntryHeaderBytes = 88;
inline constexpr uint32_t kByteOrderMark = 0x01020304;

// Why an entry was not used; the words of --cache-mode=require.
enum class CacheFault : uint8_t {
    missing,
    stale,    // sound, but written for another key, target or format
    corrupt,  // not what was written
    io,       // could not be read, or must not be (type, owner, permissions)
};
std::string_view name(CacheFault fault);

struct CacheProblem {
    CacheFault fault;
    std::string text;
    bool is_newer = false;  // of a later format version: to be left alone
};
template <class T>
using CacheResult = std::expected<T, CacheProblem>;

std::vector<std::byte> encode_entry(const CacheKey& key, const CodeObject& object);
// Accepts only what encode_entry wrote for this key, with code for the target that the header names.
CacheResult<CodeObject> decode_entry(std::span<const std::byte> entry, const CacheKey& key);

// From the first kEntryPrefixBytes of an entry, unchecked: for listings.
inline constexpr size_t kEntryPrefixBytes = kEntryHeaderBytes + kX86NameBytes;
struct EntrySummary {
    std::string name;  // empty where only the whole object tells it: no x86 object
    std::string target;
};
CacheResult<EntrySummary> summarize_entry(std::span<const std::byte> prefix);

CacheKey key_of(std::span<const std::byte, 16> bytes);

// Entry files are named by their key: 32 hexadecimal digits and ".rjk".
std::string entry_file_name(const CacheKey& key);
bool is_entry_file_name(std::string_view file_name);
CacheKey key_of_file_name(std::string_view file_name);

// XXH3-128, most significant byte first.
std::array<std::byte, 16> checksum_of(std::span<const std::byte> bytes);

}  // namespace riftjit
