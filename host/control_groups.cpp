#include "host/control_groups.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace riftjit {
namespace {

bool names(const std::string& list, std::string_view wanted) {
    std::istringstream stream(list);
    for (std::string one; std::getline(stream, one, ',');)
        if (one == wanted) return true;
    return false;
}

// The path of this process in the hierarchy, from /proc/self/cgroup: "0::/a" or "4:cpu,cpuacct:/a".
std::optional<std::string> group_in(const std::filesystem::path& root, std::string_view controller, bool is_unified) {
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (is_unified ? controllers.empty() : names(controllers, controller)) return line.substr(second + 1);
    }
    return std::nullopt;
}

}  // namespace

// Lines of /proc/self/mountinfo: "36 35 0:28 ROOT MOUNT OPTIONS [TAGS] - TYPE SOURCE SUPER_OPTIONS" (proc(5)).
std::vector<ControlGroup> control_groups(std::string_view controller, const std::filesystem::path& root) {
    std::vector<ControlGroup> found;
    std::ifstream file(root / "proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string id, parent, device, mounted, mount, word, type, source, options;
        fields >> id >> parent >> device >> mounted >> mount;
        while (fields >> word && word != "-") continue;
        fields >> type >> source >> options;
        const bool is_unified = type == "cgroup2";
        if (!is_unified && (type != "cgroup" || !names(options, controller))) continue;
        const auto path = group_in(root, controller, is_unified);
        if (!path) continue;
        // A mount of a part of the hierarchy, as containers have: paths are told from its root.
        const bool is_below = mounted != "/" && path->starts_with(mounted);
        const std::string below = is_below ? path->substr(mounted.size()) : *path;
        const std::filesystem::path top = root / std::filesystem::path(mount).relative_path();
        for (auto group = std::filesystem::path(below).relative_path();; group = group.parent_path()) {
            found.push_back({top / group, is_unified});
            if (group.empty()) break;
        }
    }
    return found;
}

}  // namespace riftjit
