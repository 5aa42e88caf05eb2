// What lies below a folder, in the order of names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/result.h"

namespace riftjit::server {

struct WalkEntry {
    std::string path;  // from the folder on
    bool is_folder = false;
};
struct Walk {
    std::vector<WalkEntry> entries;
    bool is_cut = false;  // there is more than could be seen in time, or that may be read
};

// Regular files and folders, and links to such; links to folders, and folders of what programs made (.git,
// node_modules, build, ...), are in it and not gone into. At most so many levels (0: any), 200,000 entries and 10
// seconds, and as long as it is wanted. Fails where the folder is none or cannot be read.
Result<Walk> walk_folder(const std::string& folder, int64_t most_levels, const std::function<bool()>& is_wanted);

}  // namespace riftjit::server
