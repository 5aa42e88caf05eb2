#include "jit/cache/cache_entry.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "host/bytes.h"
#include "host/little_endian.h"

namespace riftjit {

namespace {

constexpr std::string_view kMagic = "RJCACHE\n";
constexpr std::string_view kFileSuffix = ".rjk";
constexpr size_t kKeyBytes = 16, kKeyDigits = 2 * kKeyBytes, kTargetBytes = 24;
constexpr size_t kVersionOffset = 8, kByteOrderOffset = 12, kChecksumOffset = 16, kCheckedOffset = 32,
                 kTargetOffset = 32, kFeaturesOffset = 56, kKeyOffset = 64, kPayloadBytesOffset = 80;

enum Feature : uint64_t {
    kAvx2 = 1,
    kFma = 2,
    kF16c = 4,
    kBmi2 = 8,
    kAvxVnni = 16,
    kAvx512F = 32,
    kAvx512Bw = 64,
    kAvx512Dq = 128,
    kAvx512Vl = 256,
    kAvx512Vnni = 512,
    kAvx512Bf16 = 1024,
    kAvx512Fp16 = 2048,
    kAmxBf16 = 4096,  // and AMX-TILE
    kAmxInt8 = 8192,
};

// What a level of x86 implies; none elsewhere.
uint64_t feature_bits(Target target) {
    if (target.architecture != Architecture::x86_64) return 0;
    const Isa isa = isa_of(target);
    uint64_t bits = kAvx2 | kFma | kF16c | kBmi2;
    if (isa == Isa::avx_vnni) bits |= kAvxVnni;
    if (has_avx512(isa)) bits |= kAvx512F | kAvx512Bw | kAvx512Dq | kAvx512Vl;
    if (isa >= Isa::avx512_vnni) bits |= kAvx512Vnni;
    if (isa >= Isa::avx512_bf16) bits |= kAvx512Bf16;
    if (isa >= Isa::avx512_fp16) bits |= kAvx512Fp16;
    if (isa >= Isa::amx_bf16) bits |= kAmxBf16;
    if (isa >= Isa::amx_int8) bits |= kAmxInt8;
    return bits;
}

int digit_value(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::array<std::byte, kKeyBytes> key_bytes(const CacheKey& key) {
    check(key.hex.size() == kKeyDigits, "a key has 32 hexadecimal digits");
    std::array<std::byte, kKeyBytes> bytes;
    for (size_t i = 0; i < kKeyBytes; ++i)
        bytes[i] = std::byte(digit_value(key.hex[2 * i]) * 16 + digit_value(key.hex[2 * i + 1]));
    return bytes;
}

CacheKey key_in(std::span<const std::byte> header) { return key_of(header.subspan(kKeyOffset).first<kKeyBytes>()); }

// The target as text, made printable: it may come from a damaged file.
std::string target_in(std::span<const std::byte> header) {
    std::string target;
    for (std::byte byte : header.subspan(kTargetOffset, kTargetBytes)) {
        const char letter = std::to_integer<char>(byte);
        if (letter == '\0') break;
        target += letter > ' ' && letter <= '~' ? letter : '?';
    }
    return target;
}

template <class... Args>
std::unexpected<CacheProblem> problem(CacheFault fault, fmt::format_string<Args...> format, Args&&... args) {
    return std::unexpected(CacheProblem{fault, fmt::format(format, std::forward<Args>(args)...)});
}

// Magic, then version: nothing else has the same place in other versions.
CacheResult<void> check_format(std::span<const std::byte> entry) {
    if (!kMagic.starts_with(bytes_of(entry.first(std::min(entry.size(), kMagic.size())))))
        return problem(CacheFault::corrupt, "not a cache entry (wrong magic)");
    if (entry.size() < kVersionOffset + sizeof(uint32_t))
        return problem(CacheFault::corrupt, "truncated to {} bytes", entry.size());
    const auto version = get_little_endian<uint32_t>(entry, kVersionOffset);
    if (version != kCacheFormatVersion)
        return std::unexpected(CacheProblem{CacheFault::stale,
                                            fmt::format("format version {}, not {}", version, kCacheFormatVersion),
                                            version > kCacheFormatVersion});
    if (entry.size() < kEntryHeaderBytes) return problem(CacheFault::corrupt, "truncated to {} bytes", entry.size());
    if (get_little_endian<uint32_t>(entry, kByteOrderOffset) != kByteOrderMark)
        return problem(CacheFault::corrupt, "wrong byte order mark");
    return {};
}

CacheResult<void> check_contents(std::span<const std::byte> entry) {
    const auto payload_bytes = get_little_endian<uint64_t>(entry, kPayloadBytesOffset);
    const uint64_t present = entry.size() - kEntryHeaderBytes;
    if (payload_bytes > present)
        return problem(CacheFault::corrupt, "truncated: {} of {} payload bytes", present, payload_bytes);
    if (payload_bytes < present) return problem(CacheFault::corrupt, "{} trailing bytes", present - payload_bytes);
    const auto sum = checksum_of(entry.subspan(kCheckedOffset));
    if (std::memcmp(sum.data(), entry.data() + kChecksumOffset, sum.size()) != 0)
        return problem(CacheFault::corrupt, "checksum does not match");
    return {};
}

CacheResult<Target> check_target(std::span<const std::byte> entry) {
    const std::string text = target_in(entry);
    const auto target = target_from_name(text);
    if (!target) return problem(CacheFault::stale, "target \"{}\" is not one of this build's", text);
    const auto bits = get_little_endian<uint64_t>(entry, kFeaturesOffset);
    if (bits != feature_bits(*target))
        return problem(CacheFault::stale, "feature bits {:#x}, not {:#x} as {} has", bits, feature_bits(*target), text);
    return *target;
}

}  // namespace

std::string_view name(CacheFault fault) {
    switch (fault) {
        case CacheFault::missing:
            return "missing";
        case CacheFault::stale:
            return "stale";
        case CacheFault::corrupt:
            return "corrupt";
        case CacheFault::io:
            return "io";
    }
    return "";
}

std::array<std::byte, 16> checksum_of(std::span<const std::byte> bytes) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
    std::array<std::byte, 16> checksum;
    std::memcpy(checksum.data(), canonical.digest, checksum.size());
    return checksum;
}

std::vector<std::byte> encode_entry(const CacheKey& key, const CodeObject& object) {
    std::vector<std::byte> entry(kEntryHeaderBytes);
    const std::string target = name(object.target);
    const auto key_value = key_bytes(key);
    std::memcpy(entry.data(), kMagic.data(), kMagic.size());
    put_little_endian<uint32_t>(entry, kVersionOffset, kCacheFormatVersion);
    put_little_endian<uint32_t>(entry, kByteOrderOffset, kByteOrderMark);
    std::memcpy(entry.data() + kTargetOffset, target.data(), target.size());
    put_little_endian<uint64_t>(entry, kFeaturesOffset, feature_bits(object.target));
    std::memcpy(entry.data() + kKeyOffset, key_value.data(), key_value.size());
    put_little_endian<uint64_t>(entry, kPayloadBytesOffset, object.elf.size());
    entry.insert(entry.end(), object.elf.begin(), object.elf.end());
    const auto sum = checksum_of(std::span(entry).subspan(kCheckedOffset));
    std::memcpy(entry.data() + kChecksumOffset, sum.data(), sum.size());
    return entry;
}

CacheResult<CodeObject> decode_entry(std::span<const std::byte> entry, const CacheKey& key) {
    if (auto format = check_format(entry); !format) return std::unexpected(format.error());
    if (auto contents = check_contents(entry); !contents) return std::unexpected(contents.error());
    const auto target = check_target(entry);
    if (!target) return std::unexpected(target.error());
    if (key_in(entry).hex != key.hex) return problem(CacheFault::stale, "holds the entry of key {}", key_in(entry).hex);

    auto object = read_code_object(entry.subspan(kEntryHeaderBytes), *target);
    if (!object) return problem(CacheFault::corrupt, "{}", object.error().message);
    return std::move(*object);
}

CacheResult<EntrySummary> summarize_entry(std::span<const std::byte> prefix) {
    if (auto format = check_format(prefix); !format) return std::unexpected(format.error());
    EntrySummary summary{"", target_in(prefix)};
    const auto target = target_from_name(summary.target);
    if (target && target->architecture != Architecture::x86_64) return summary;
    const auto kernel = read_x86_object_name(prefix.subspan(kEntryHeaderBytes));
    if (!kernel) return problem(CacheFault::corrupt, "{}", kernel.error().message);
    summary.name = *kernel;
    return summary;
}

CacheKey key_of(std::span<const std::byte, 16> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    CacheKey key;
    key.hex.reserve(kKeyDigits);
    for (std::byte byte : bytes) {
        key.hex += kDigits[std::to_integer<size_t>(byte) >> 4];
        key.hex += kDigits[std::to_integer<size_t>(byte) & 15];
    }
    return key;
}

std::string entry_file_name(const CacheKey& key) { return key.hex + std::string(kFileSuffix); }

bool is_entry_file_name(std::string_view file_name) {
    if (file_name.size() != kKeyDigits + kFileSuffix.size() || !file_name.ends_with(kFileSuffix)) return false;
    return file_name.substr(0, kKeyDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

CacheKey key_of_file_name(std::string_view file_name) {
    check(is_entry_file_name(file_name), "only entry files are named by a key");
    return {std::string(file_name.substr(0, kKeyDigits))};
}

}  // namespace riftjit
