#include "sim/network/text_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace riftjit::sim {

Result<std::string> read_regular_file(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error) return fail(ErrorKind::Io, "{}: {}", path, error.message());
    if (!std::filesystem::is_regular_file(status)) return fail(ErrorKind::Io, "{}: is not a regular file", path);
    const auto failed = [&] { return fail(ErrorKind::Io, "{}: {}", path, std::generic_category().message(errno)); };
    std::ifstream file(path, std::ios::binary);
    if (!file) return failed();
    std::ostringstream content;
    content << file.rdbuf();
    if (file.bad() || content.bad()) return failed();
    return std::move(content).str();
}

}  // namespace riftjit::sim
