#include "jit/cache/cache_admin.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "jit/cache/cache_archive.h"

namespace riftjit {

namespace {

constexpr uint64_t kMaxArchiveBytes = uint64_t(4) << 30;

CacheResult<EntrySummary> read_summary(const EntryFile& file) {
    std::array<std::byte, kEntryPrefixBytes> prefix;
    const ssize_t count = pread(file.descriptor.get(), prefix.data(), prefix.size(), 0);
    if (count < 0)
        return std::unexpected(CacheProblem{CacheFault::io, fmt::format("cannot read: {}", std::strerror(errno))});
    return summarize_entry(std::span(prefix).first(size_t(count)));
}

std::string problem_text(const CacheProblem& problem) {
    return fmt::format("{}: {}", name(problem.fault), problem.text);
}

CacheListing list_entry(int directory, const std::string& file_name) {
    CacheListing listing;
    listing.key = key_of_file_name(file_name).hex;
    const auto file = open_entry_file(directory, file_name);
    if (!file) {
        listing.problem = problem_text(file.error());
        return listing;
    }
    listing.bytes = file->bytes;
    listing.modified_s = file->modified_s;
    if (const auto summary = read_summary(*file)) {
        listing.kernel = one_line(summary->name);
        listing.target = summary->target;
    } else {
        listing.problem = problem_text(summary.error());
    }
    return listing;
}

bool is_missing(const CacheProblem& problem) { return problem.fault == CacheFault::missing; }

std::string quoted(const std::filesystem::path& path) { return one_line(path.string()); }

std::unexpected<Error> archive_failure(std::string_view what, const std::filesystem::path& path) {
    const int code = errno;
    return fail(ErrorKind::Io, "cannot {} {}: {}", what, quoted(path), std::strerror(code));
}

// Through a temporary file beside it, so that an archive is whole or absent.
Result<void> write_archive(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
    const FileDescriptor directory(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return archive_failure("open", parent);
    const auto published = publish_file(directory.get(), path.filename().string(), bytes);
    if (!published) return fail(ErrorKind::Io, "{}: {}", quoted(path), published.error().message);
    return {};
}

Result<std::vector<std::byte>> read_archive(const std::filesystem::path& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return archive_failure("open", path);
    if (!S_ISREG(status.st_mode)) return fail(ErrorKind::Io, "{}: not a regular file", quoted(path));
    if (uint64_t(status.st_size) > kMaxArchiveBytes)
        return fail(ErrorKind::Format, "{}: {} bytes are more than an archive has", quoted(path), status.st_size);
    std::vector<std::byte> bytes(size_t(status.st_size));
    size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count = read(file.get(), bytes.data() + filled, bytes.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return archive_failure("read", path);
        if (count == 0) break;
        filled += size_t(count);
    }
    bytes.resize(filled);
    return bytes;
}

CacheKey key_in_entry(std::span<const std::byte> entry) { return summarize_entry(entry)->key; }

}  // namespace

Result<CacheAdmin> CacheAdmin::open(std::string_view directory_flag, Absent absent) {
    RIFTJIT_TRY(place, locate_cache(directory_flag));
    CacheAdmin admin;
    admin.path_ = place.entries();
    RIFTJIT_TRY(directory, open_cache_directory(place, absent));
    admin.directory_ = std::move(directory);
    return admin;
}

Result<std::vector<std::string>> CacheAdmin::files() const {
    if (!directory_) return std::vector<std::string>{};
    return list_files(directory_.get());
}

Result<std::vector<CacheListing>> CacheAdmin::list() const {
    RIFTJIT_TRY(names, files());
    std::vector<CacheListing> listings;
    for (const std::string& file_name : names)
        if (is_entry_file_name(file_name)) listings.push_back(list_entry(directory_.get(), file_name));
    return listings;
}

Result<CacheTotals> CacheAdmin::totals() const {
    RIFTJIT_TRY(names, files());
    CacheTotals totals;
    const auto count = [](CacheTotals::Count& counted, uint64_t bytes) {
        counted = {counted.files + 1, counted.bytes + bytes};
    };
    for (const std::string& file_name : names) {
        struct stat status{};
        if (is_entry_file_name(file_name)) {
            const CacheListing listing = list_entry(directory_.get(), file_name);
            count(totals.entries, listing.bytes);
            count(totals.by_target[listing.problem.empty() ? listing.target : "unreadable"], listing.bytes);
        } else if (!is_temporary_file_name(file_name)) {
            ++totals.other_files;
        } else if (fstatat(directory_.get(), file_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            count(totals.temporaries, uint64_t(status.st_size));
        }
    }
    return totals;
}

Result<CacheVerdict> CacheAdmin::verify() const {
    RIFTJIT_TRY(names, files());
    CacheVerdict verdict;
    for (const std::string& file_name : names) {
        if (is_temporary_file_name(file_name)) continue;  // someone may be writing it
        if (!is_entry_file_name(file_name)) {
            verdict.bad.push_back({file_name, "foreign", "not a cache file"});
            continue;
        }
        const auto bytes = read_entry_file(directory_.get(), file_name, Touch::no);
        if (!bytes && is_missing(bytes.error())) continue;  // removed since it was listed
        const auto object = bytes ? decode_entry(*bytes, key_of_file_name(file_name)) : std::unexpected(bytes.error());
        if (object)
            ++verdict.sound;
        else
            verdict.bad.push_back({file_name, std::string(name(object.error().fault)), object.error().text});
    }
    return verdict;
}

Result<Removed> CacheAdmin::prune(uint64_t max_bytes) const {
    if (!directory_) return Removed{};
    return remove_least_recent(directory_.get(), max_bytes);
}

Result<Removed> CacheAdmin::clear() const {
    if (!directory_) return Removed{};
    return remove_all(directory_.get());
}

Result<CacheVerdict> CacheAdmin::export_to(const std::filesystem::path& archive) const {
    RIFTJIT_TRY(names, files());
    CacheVerdict verdict;
    std::vector<std::vector<std::byte>> entries;
    for (const std::string& file_name : names) {
        if (!is_entry_file_name(file_name)) continue;
        auto bytes = read_entry_file(directory_.get(), file_name, Touch::no);
        const auto object = bytes ? decode_entry(*bytes, key_of_file_name(file_name)) : std::unexpected(bytes.error());
        if (object)
            entries.push_back(std::move(*bytes));
        else
            verdict.bad.push_back({file_name, std::string(name(object.error().fault)), object.error().text});
    }
    verdict.sound = entries.size();
    RIFTJIT_TRY_VOID(write_archive(archive, pack_archive(entries)));
    return verdict;
}

Result<uint64_t> CacheAdmin::import_from(const std::filesystem::path& archive) const {
    check(bool(directory_), "an import creates the directory first");
    RIFTJIT_TRY(bytes, read_archive(archive));
    const auto entries = unpack_archive(bytes);
    if (!entries) return fail(entries.error().kind, "{}: {}", quoted(archive), entries.error().message);
    for (const std::span<const std::byte> entry : *entries) {
        const auto published = publish_file(directory_.get(), entry_file_name(key_in_entry(entry)), entry);
        if (!published) return fail(ErrorKind::Io, "{}: {}", quoted(path_), published.error().message);
    }
    return entries->size();
}

}  // namespace riftjit
