// The control groups that limit this process (cgroups(7)), of both versions.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace riftjit {

struct ControlGroup {
    std::filesystem::path folder;  // with the files of its limits
    bool is_unified;               // version 2
};

// Of every hierarchy with this controller ("cpu", "memory"): the group that the process is in, then those around it, as
// far as this process sees them. `root`: of the file system.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::filesystem::path& root = "/");

}  // namespace riftjit
