#include "jit/cache/disk_cache.h"

#include <sys/vfs.h>

#include <atomic>
#include <mutex>
#include <set>

#include "jit/cache/build_id.h"
#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/cache_file.h"

namespace riftjit {

namespace {

constexpr std::chrono::hours kAbandonedAfter{1};

// Each part is preceded by its length, so that no two lists of parts run into the same bytes.
void append_part(std::vector<std::byte>& bytes, const void* data, uint64_t size) {
    const auto* length = reinterpret_cast<const std::byte*>(&size);
    const auto* first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), length, length + sizeof size);
    bytes.insert(bytes.end(), first, first + size);
}

}  // namespace

std::optional<CacheMode> cache_mode_from_name(std::string_view name) {
    if (name == "rw") return CacheMode::rw;
    if (name == "ro") return CacheMode::ro;
    if (name == "off") return CacheMode::off;
    if (name == "require") return CacheMode::require;
    return std::nullopt;
}

CacheKey cache_key(const KernelSpec& spec, Target target) { return cache_key(spec, target, running_build_id()); }

CacheKey cache_key(const KernelSpec& spec, Target target, std::span<const std::byte> build_id) {
    const std::vector<std::byte> fields = serialize(spec);
    std::vector<std::byte> parts;
    append_part(parts, fields.data(), fields.size());
    const std::string target_name = name(target);
    append_part(parts, target_name.data(), target_name.size());
    append_part(parts, &kCacheFormatVersion, sizeof kCacheFormatVersion);
    append_part(parts, build_id.data(), build_id.size());
    return key_of(checksum_of(parts));
}

std::optional<std::filesystem::path> resolve_cache_directory(std::string_view flag, std::string& reason) {
    const auto place = locate_cache(flag);
    if (place) return place->entries();
    reason = place.error().message;
    return std::nullopt;
}

struct DiskCache::State {
    CacheMode mode = CacheMode::off;
    std::filesystem::path path;
    FileDescriptor directory;
    // Why nothing can be looked up, if so; what mode require reports.
    CacheProblem obstacle{CacheFault::missing, ""};
    Warn warn;
    std::atomic<bool> has_warned = false;
    std::atomic<uint32_t> failed_stores = 0;
    std::mutex mutex;
    std::set<std::string> kept;  // entries of a later format version, not to be replaced

    void warn_once(const std::string& text) {
        if (!has_warned.exchange(true) && warn) warn(text);
    }
    std::string file_path(const std::string& file_name) const { return one_line((path / file_name).string()); }

    void open_directory(std::string_view flag);
    void give_up(CacheFault fault, const std::string& why);
    void warn_about_network() const;
    CacheResult<CodeObject> read(const KernelSpec& spec, Target target);
};

void DiskCache::State::open_directory(std::string_view flag) {
    const auto place = locate_cache(flag);
    if (!place) return give_up(CacheFault::io, place.error().message);
    path = place->entries();
    if (running_build_id().empty()) return give_up(CacheFault::io, "this program was linked without a build id");
    auto opened = open_cache_directory(*place, mode == CacheMode::rw ? Absent::create : Absent::report);
    if (!opened) return give_up(CacheFault::io, opened.error().message);
    if (!*opened) {  // nothing was ever cached: every lookup misses
        obstacle.text = fmt::format("there is no {}", one_line(path.string()));
        return;
    }
    directory = std::move(*opened);
    warn_about_network();
}

void DiskCache::State::give_up(CacheFault fault, const std::string& why) {
    obstacle = {fault, why};
    if (mode == CacheMode::require) return;
    mode = CacheMode::off;
    warn_once(fmt::format("cache: {}; compiling without a cache", why));
}

void DiskCache::State::warn_about_network() const {
    struct statfs status{};
    if (!warn || fstatfs(directory.get(), &status) != 0) return;
    if (const auto type = network_file_system(status.f_type))
        warn(fmt::format("cache: {} lies on a network file system ({}); a local --cache-dir is faster",
                         one_line(path.string()), *type));
}

CacheResult<CodeObject> DiskCache::State::read(const KernelSpec& spec, Target target) {
    if (!directory) return std::unexpected(obstacle);
    const CacheKey key = cache_key(spec, target);
    const std::string file_name = entry_file_name(key);
    const auto failed = [&](CacheProblem problem) {
        problem.text = fmt::format("{}: {}", file_path(file_name), problem.text);
        return std::unexpected(std::move(problem));
    };
    const auto bytes = read_entry_file(directory.get(), file_name, mode == CacheMode::rw ? Touch::yes : Touch::no);
    if (!bytes) return failed(bytes.error());
    auto object = decode_entry(*bytes, key);
    if (!object && object.error().is_newer) {
        const std::lock_guard lock(mutex);
        kept.insert(file_name);
    }
    if (!object) return failed(object.error());
    const std::string kernel = kernel_name(spec);
    if (object->target != target || object->name != kernel)
        return failed(
            {CacheFault::stale, fmt::format("holds {} for {}", one_line(object->name), name(object->target))});
    return object;
}

DiskCache DiskCache::open(std::string_view directory_flag, CacheMode mode, Warn warn) {
    auto state = std::make_shared<State>();
    state->mode = mode;
    state->warn = std::move(warn);
    if (mode != CacheMode::off) state->open_directory(directory_flag);
    return DiskCache(std::move(state));
}

DiskCache DiskCache::disabled() { return DiskCache(std::make_shared<State>()); }

CacheMode DiskCache::mode() const { return state_->mode; }
const std::filesystem::path& DiskCache::directory() const { return state_->path; }

Result<std::optional<CodeObject>> DiskCache::load(const KernelSpec& spec, Target target) {
    if (state_->mode == CacheMode::off) return std::nullopt;
    auto object = state_->read(spec, target);
    if (object) return std::move(*object);
    const CacheProblem& problem = object.error();
    if (state_->mode == CacheMode::require)
        return fail(ErrorKind::Cache, "cache: {}: {}: {}", kernel_name(spec), name(problem.fault), problem.text);
    if (problem.fault != CacheFault::missing)
        state_->warn_once(fmt::format("cache: {}; compiling instead", problem.text));
    return std::nullopt;
}

void DiskCache::store(const KernelSpec& spec, const CodeObject& object) {
    if (state_->mode != CacheMode::rw) return;
    const CacheKey key = cache_key(spec, object.target);
    const std::string file_name = entry_file_name(key);
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->kept.contains(file_name)) return;
    }
    const auto published = publish_file(state_->directory.get(), file_name, encode_entry(key, object));
    if (published) return;
    ++state_->failed_stores;
    state_->warn_once(
        fmt::format("cache: {}: {}; kernels are not kept", state_->file_path(file_name), published.error().message));
}

uint32_t DiskCache::failed_stores() const { return state_->failed_stores; }

void DiskCache::collect() {
    if (state_->mode != CacheMode::rw) return;
    remove_old_temporaries(state_->directory.get(), kAbandonedAfter);
    std::ignore = remove_least_recent(state_->directory.get(), kCacheCapBytes);  // the next run tries again
}

}  // namespace riftjit
