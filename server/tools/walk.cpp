#include "server/tools/walk.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

namespace riftjit::server {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEntries = 200'000;
constexpr int64_t kMostLevels = 200;
constexpr std::chrono::seconds kMostTime{10};
constexpr auto kMadeFolders = std::to_array<std::string_view>(
    {".git", ".hg", ".svn", "node_modules", "build", "dist", "target", "out", "__pycache__", ".venv", "venv", ".cache",
     ".tox", ".mypy_cache", ".pytest_cache", ".idea", ".gradle"});

class FolderWalk {
public:
    FolderWalk(int64_t levels, const std::function<bool()>& is_wanted)
        : levels_(levels == 0 ? kMostLevels : std::min(levels, kMostLevels)), is_wanted_(is_wanted) {}

    Result<void> enter(const fs::path& folder, const std::string& prefix, int64_t level) {
        std::error_code error;
        std::vector<fs::directory_entry> found;
        for (fs::directory_iterator it(folder, error), end; !error && it != end && has_time(found.size());
             it.increment(error))
            found.push_back(*it);
        if (error) return fail(ErrorKind::Io, "{}: {}", folder.string(), error.message());
        std::ranges::sort(found, {}, [](const fs::directory_entry& entry) { return entry.path(); });
        for (const fs::directory_entry& entry : found) {
            if (walk_.is_cut && !has_time(0)) break;
            add(entry, prefix, level);
        }
        return {};
    }
    Walk result() { return std::move(walk_); }

private:
    void add(const fs::directory_entry& entry, const std::string& prefix, int64_t level) {
        std::error_code error;
        const std::string name = entry.path().filename().string(), path = prefix + name;
        const bool is_folder = entry.is_directory(error);
        if (!is_folder && !entry.is_regular_file(error)) return;
        walk_.entries.push_back({path, is_folder});
        const bool is_made = std::ranges::find(kMadeFolders, name) != kMadeFolders.end();
        if (!is_folder || is_made || entry.is_symlink(error) || level >= levels_) return;
        if (!enter(entry.path(), path + "/", level + 1)) walk_.is_cut = true;
    }

    bool has_time(size_t more) {
        const bool has = walk_.entries.size() + more < kMostEntries && std::chrono::steady_clock::now() < until_ &&
                         (!is_wanted_ || is_wanted_());
        walk_.is_cut |= !has;
        return has;
    }

    const int64_t levels_;
    const std::function<bool()>& is_wanted_;
    const std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + kMostTime;
    Walk walk_;
};

}  // namespace

Result<Walk> walk_folder(const std::string& folder, int64_t most_levels, const std::function<bool()>& is_wanted) {
    FolderWalk walk(most_levels, is_wanted);
    RIFTJIT_TRY_VOID(walk.enter(folder, "", 1));
    return walk.result();
}

}  // namespace riftjit::server
