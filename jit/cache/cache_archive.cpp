#include "jit/cache/cache_archive.h"

#include <cstring>
#include <string>
#include <string_view>

#include "host/little_endian.h"
#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_entry.h"

namespace riftjit {

namespace {

constexpr std::string_view kMagic = "RJEXPORT";
constexpr std::string_view kArchitecture = "x86_64";
constexpr size_t kVersionOffset = 8, kByteOrderOffset = 12, kArchitectureOffset = 16, kEntriesOffset = 32,
                 kHeaderBytes = 40;
constexpr size_t kArchitectureBytes = 16, kChecksumBytes = 16;
constexpr uint32_t kReversedByteOrderMark = 0x04030201;

std::string architecture_in(std::span<const std::byte> archive) {
    const auto* text = reinterpret_cast<const char*>(archive.data() + kArchitectureOffset);
    return one_line({text, strnlen(text, kArchitectureBytes)});
}

Result<void> check_header(std::span<const std::byte> archive) {
    if (archive.size() < kMagic.size() || std::memcmp(archive.data(), kMagic.data(), kMagic.size()) != 0)
        return fail(ErrorKind::Format, "not a riftjit cache archive (wrong magic)");
    if (archive.size() < kHeaderBytes + kChecksumBytes)
        return fail(ErrorKind::Format, "truncated to {} bytes", archive.size());
    const auto mark = get_little_endian<uint32_t>(archive, kByteOrderOffset);
    if (mark == kReversedByteOrderMark)
        return fail(ErrorKind::Unsupported, "written in big-endian byte order, this machine is little-endian");
    if (mark != kByteOrderMark)
        return fail(ErrorKind::Format, "byte order mark {:#x}, not {:#x}", mark, kByteOrderMark);
    const auto version = get_little_endian<uint32_t>(archive, kVersionOffset);
    if (version != kCacheFormatVersion)
        return fail(ErrorKind::Unsupported, "cache format version {}, this build reads {}", version,
                    kCacheFormatVersion);
    if (architecture_in(archive) != kArchitecture)
        return fail(ErrorKind::Unsupported, "holds code for \"{}\", this build reads {}", architecture_in(archive),
                    kArchitecture);
    return {};
}

Result<void> check_checksum(std::span<const std::byte> archive) {
    const auto checksum = checksum_of(archive.first(archive.size() - kChecksumBytes));
    if (std::memcmp(checksum.data(), archive.data() + archive.size() - kChecksumBytes, kChecksumBytes) != 0)
        return fail(ErrorKind::Format, "checksum does not match: damaged or truncated");
    return {};
}

void append_u64(std::vector<std::byte>& bytes, uint64_t value) {
    bytes.resize(bytes.size() + sizeof value);
    put_little_endian(std::span(bytes).last(sizeof value), 0, value);
}

}  // namespace

std::vector<std::byte> pack_archive(std::span<const std::vector<std::byte>> entries) {
    std::vector<std::byte> archive(kHeaderBytes);
    std::memcpy(archive.data(), kMagic.data(), kMagic.size());
    put_little_endian<uint32_t>(archive, kVersionOffset, kCacheFormatVersion);
    put_little_endian<uint32_t>(archive, kByteOrderOffset, kByteOrderMark);
    std::memcpy(archive.data() + kArchitectureOffset, kArchitecture.data(), kArchitecture.size());
    put_little_endian<uint64_t>(archive, kEntriesOffset, entries.size());
    for (const std::vector<std::byte>& entry : entries) {
        append_u64(archive, entry.size());
        archive.insert(archive.end(), entry.begin(), entry.end());
    }
    const auto checksum = checksum_of(archive);
    archive.insert(archive.end(), checksum.begin(), checksum.end());
    return archive;
}

Result<std::vector<std::span<const std::byte>>> unpack_archive(std::span<const std::byte> archive) {
    RIFTJIT_TRY_VOID(check_header(archive));
    RIFTJIT_TRY_VOID(check_checksum(archive));
    const auto count = get_little_endian<uint64_t>(archive, kEntriesOffset);
    std::span<const std::byte> rest = archive.subspan(kHeaderBytes, archive.size() - kHeaderBytes - kChecksumBytes);
    std::vector<std::span<const std::byte>> entries;
    for (uint64_t index = 0; index < count; ++index) {
        if (rest.size() < sizeof(uint64_t)) return fail(ErrorKind::Format, "entry {} of {} is missing", index, count);
        const auto bytes = get_little_endian<uint64_t>(rest, 0);
        rest = rest.subspan(sizeof(uint64_t));
        if (bytes > rest.size())
            return fail(ErrorKind::Format, "entry {}: {} bytes, {} are left", index, bytes, rest.size());
        entries.push_back(rest.first(bytes));
        rest = rest.subspan(bytes);
        if (const auto object = decode_entry(entries.back(), CacheKey{}); !object)
            return fail(object.error().fault == CacheFault::stale ? ErrorKind::Unsupported : ErrorKind::Format,
                        "entry {}: {}", index, object.error().text);
    }
    if (!rest.empty()) return fail(ErrorKind::Format, "{} bytes after the last entry", rest.size());
    return entries;
}

}  // namespace riftjit
