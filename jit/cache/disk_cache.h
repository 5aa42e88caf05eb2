// Code objects on disk: one checksummed file per entry, published by rename, trusted only when owned and private.
// Rules: docs/ARCHITECTURE.md, "The cache"; faults: CacheFault in cache_entry.h.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/code_object.h"
#include "jit/kernel_spec.h"

namespace riftjit {

enum class CacheMode : uint8_t { rw, ro, off, require };
std::optional<CacheMode> cache_mode_from_name(std::string_view name);

struct CacheKey {
    std::string hex;
};  // XXH3-128 of spec, target, format version and the running image's build id
CacheKey cache_key(const KernelSpec& spec, Target target);
CacheKey cache_key(const KernelSpec& spec, Target target, std::span<const std::byte> build_id);

// Where entries live: `flag` (--cache-dir), RIFTJIT_CACHE_DIR, $XDG_CACHE_HOME/riftjit, $HOME/.cache/riftjit; then a
// versioned sub-directory. nullopt: none of them is usable, and why is in `reason`.
std::optional<std::filesystem::path> resolve_cache_directory(std::string_view flag, std::string& reason);

// A run that compiled removes the least recently used entries beyond these bytes.
inline constexpr uint64_t kCacheCapBytes = uint64_t(1) << 30;

// Safe for concurrent use by threads and processes; there are no locks between processes.
class DiskCache {
public:
    // May be called on whichever thread met the fault. The text is one line without a prefix.
    using Warn = std::function<void(const std::string&)>;
    // Never fails: what is wrong is said once through warn and the cache behaves as off. Only mode require fails,
    // at the first lookup that is not answered, with ErrorKind::Cache (exit code 4) and missing|stale|corrupt|io.
    static DiskCache open(std::string_view directory_flag, CacheMode mode, Warn warn);
    static DiskCache disabled();

    Result<std::optional<CodeObject>> load(const KernelSpec& spec, Target target);  // nullopt: miss
    void store(const KernelSpec& spec, const CodeObject& object);                   // best effort
    uint32_t failed_stores() const;
    // Once after a run's stores: removes abandoned temporary files, and the least recently used entries above the cap.
    void collect();

    CacheMode mode() const;  // off when the directory cannot be used, unless it is required
    const std::filesystem::path& directory() const;

private:
    struct State;
    explicit DiskCache(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace riftjit
