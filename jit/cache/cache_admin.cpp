#include "jit/cache/cache_admin.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "jit/cache/cache_entry.h"

namespace riftjit {

namespace {

bool is_missing(const CacheProblem& problem) { return problem.fault == CacheFault::missing; }

CacheResult<EntrySummary> read_summary(const EntryFile& file) {
    std::array<std::byte, kEntryPrefixBytes> prefix;
    const ssize_t count = pread(file.descriptor.get(), prefix.data(), prefix.size(), 0);
    if (count < 0)
        return std::unexpected(CacheProblem{CacheFault::io, fmt::format("cannot read: {}", std::strerror(errno))});
    return summarize_entry(std::span(prefix).first(size_t(count)));
}

// Where its first bytes do not name the kernel, the whole entry does.
CacheResult<EntrySummary> summarize(int directory, const std::string& file_name, const EntryFile& file) {
    auto summary = read_summary(file);
    if (!summary || !summary->name.empty()) return summary;
    const auto bytes = read_entry_file(directory, file_name, Touch::no);
    if (!bytes) return std::unexpected(bytes.error());
    auto object = decode_entry(*bytes, key_of_file_name(file_name));
    if (!object) return std::unexpected(object.error());
    summary->name = std::move(object->name);
    return summary;
}

std::string problem_text(const CacheProblem& problem) {
    return fmt::format("{}: {}", name(problem.fault), problem.text);
}

// nullopt: removed since its name was listed.
std::optional<CacheListing> list_entry(int directory, const std::string& file_name) {
    CacheListing listing;
    listing.key = key_of_file_name(file_name).hex;
    const auto file = open_entry_file(directory, file_name);
    if (!file && is_missing(file.error())) return std::nullopt;
    if (!file) {
        listing.problem = problem_text(file.error());
        return listing;
    }
    listing.bytes = file->bytes;
    listing.modified_s = file->modified_s;
    if (const auto summary = summarize(directory, file_name, *file)) {
        listing.kernel = one_line(summary->name);
        listing.target = summary->target;
    } else {
        listing.problem = problem_text(summary.error());
    }
    return listing;
}

}  // namespace

Result<CacheAdmin> CacheAdmin::open(std::string_view directory_flag) {
    RIFTJIT_TRY(place, locate_cache(directory_flag));
    CacheAdmin admin;
    admin.path_ = place.entries();
    RIFTJIT_TRY(directory, open_cache_directory(place, Absent::report));
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
        if (is_entry_file_name(file_name))
            if (auto listing = list_entry(directory_.get(), file_name)) listings.push_back(*std::move(listing));
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
            const auto listing = list_entry(directory_.get(), file_name);
            if (!listing) continue;
            count(totals.entries, listing->bytes);
            count(totals.by_target[listing->problem.empty() ? listing->target : "unreadable"], listing->bytes);
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

// Files of a cache have long names without a folder.
Result<Removed> CacheAdmin::told(Result<Removed> removed) const {
    if (removed) return removed;
    return fail(removed.error().kind, "{}: {}", one_line(path_.string()), removed.error().message);
}

Result<Removed> CacheAdmin::prune(uint64_t max_bytes) const {
    if (!directory_) return Removed{};
    return told(remove_least_recent(directory_.get(), max_bytes));
}

Result<Removed> CacheAdmin::clear() const {
    if (!directory_) return Removed{};
    return told(remove_all(directory_.get()));
}

}  // namespace riftjit
