#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/files/unfinished_file.h"

namespace riftjit::tools {

Result<void> check_output_file(const std::string& flag, const std::string& path, bool is_forced) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
        return fail(ErrorKind::Io, "{}: there is no folder {}", flag, folder.string());
    if (!std::filesystem::exists(path, ignored)) return {};
    if (std::filesystem::is_directory(path, ignored)) return fail(ErrorKind::Io, "{}: {} is a folder", flag, path);
    if (is_forced) return {};
    return fail(ErrorKind::Usage, "{}: {} exists; --force overwrites it", flag, path);
}

Result<void> try_to_create(const std::string& flag, const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return {};
    const sim::UnfinishedFile unfinished(path);  // an interrupt in between leaves nothing behind
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST)
        return fail(ErrorKind::Io, "{}: {}: cannot be created: {}", flag, path, std::strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path.c_str());
    }
    return {};
}

}  // namespace riftjit::tools
