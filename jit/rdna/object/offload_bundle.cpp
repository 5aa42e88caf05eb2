#include "jit/rdna/object/offload_bundle.h"

#include <string>
#include <string_view>
#include <vector>

#include "host/bytes.h"
#include "host/little_endian.h"

namespace riftjit::rdna {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__", kCompressedMagic = "CCOB";
constexpr std::string_view kTriple = "amdgcn-amd-amdhsa";
constexpr size_t kMaxNamedEntries = 16;  // in a message

struct Entry {
    std::string_view id;  // "hipv4-amdgcn-amd-amdhsa--gfx1100"
    std::span<const std::byte> object;
};

// Old bundlers leave one dash between triple and chip, new ones two for the empty environment.
std::optional<Target> target_of(std::string_view id) {
    const size_t triple = id.find(kTriple);
    if (triple == std::string_view::npos) return std::nullopt;
    id.remove_prefix(triple + kTriple.size());
    id.remove_prefix(std::min(id.find_first_not_of('-'), id.size()));
    return target_from_name(id);
}

// magic, u64 count, then per entry u64 offset, u64 size, u64 id length, id.
Result<std::vector<Entry>> read_entries(std::span<const std::byte> file) {
    constexpr size_t kCountBytes = 8, kEntryBytes = 24;
    size_t at = kMagic.size();
    if (file.size() - at < kCountBytes) return fail(ErrorKind::Format, "offload bundle: {} bytes end it", file.size());
    const auto count = get_little_endian<uint64_t>(file, at);
    at += kCountBytes;
    if (count > (file.size() - at) / kEntryBytes)
        return fail(ErrorKind::Format, "offload bundle: {} entries do not fit {} bytes", count, file.size());
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count; ++i) {
        if (file.size() - at < kEntryBytes)
            return fail(ErrorKind::Format, "offload bundle: entry {} lies outside the file of {}", i, file.size());
        const auto offset = get_little_endian<uint64_t>(file, at), size = get_little_endian<uint64_t>(file, at + 8),
                   id_bytes = get_little_endian<uint64_t>(file, at + 16);
        at += kEntryBytes;
        if (id_bytes > file.size() - at || offset > file.size() || size > file.size() - offset)
            return fail(ErrorKind::Format,
                        "offload bundle: entry {}: id of {} bytes, {} bytes at {:#x} lie outside the file of {}", i,
                        id_bytes, size, offset, file.size());
        entries.push_back({bytes_of(file.subspan(at, id_bytes)), file.subspan(offset, size)});
        at += id_bytes;
    }
    return entries;
}

std::string list_ids(std::span<const Entry> entries) {
    std::string list;
    for (size_t i = 0; i < std::min(entries.size(), kMaxNamedEntries); ++i) {
        if (i != 0) list += ", ";
        for (char c : entries[i].id.substr(0, 64)) list += c >= ' ' && c <= '~' ? c : '?';
    }
    return list.empty() ? "nothing" : list;
}

}  // namespace

bool is_offload_bundle(std::span<const std::byte> file) {
    return bytes_of(file).starts_with(kMagic) || bytes_of(file).starts_with(kCompressedMagic);
}

Result<std::span<const std::byte>> pick_from_bundle(std::span<const std::byte> file, std::optional<Target> wanted) {
    if (bytes_of(file).starts_with(kCompressedMagic))
        return fail(ErrorKind::Unsupported,
                    "offload bundle: compressed (CCOB); unbundle it with clang-offload-bundler first");
    check(bytes_of(file).starts_with(kMagic), "only bundles are unbundled");
    RIFTJIT_TRY(entries, read_entries(file));
    std::vector<Entry> candidates;
    for (const Entry& entry : entries) {
        const std::optional<Target> target = target_of(entry.id);
        if (target && (!wanted || target == wanted)) candidates.push_back(entry);
    }
    if (candidates.size() == 1) return candidates[0].object;
    if (candidates.empty())
        return fail(ErrorKind::Unsupported, "offload bundle: no object for {}; it holds {}",
                    wanted ? name(*wanted) : "a chip we know", list_ids(entries));
    if (wanted) return fail(ErrorKind::Format, "offload bundle: several objects for {}", name(*wanted));
    return fail(ErrorKind::Usage, "offload bundle: choose a target; it holds {}", list_ids(candidates));
}

}  // namespace riftjit::rdna
