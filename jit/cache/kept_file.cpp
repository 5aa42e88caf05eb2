#include "jit/cache/kept_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_file.h"

namespace riftjit {
namespace {

constexpr size_t kMostKeptBytes = 1 << 18;

FileDescriptor open_root(const CachePlace& place) {
    return FileDescriptor(open(place.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

std::optional<std::string> load_kept(std::string_view directory_flag, const std::string& file_name) {
    const auto place = locate_cache(directory_flag);
    if (!place) return std::nullopt;
    const FileDescriptor root = open_root(*place);
    if (!root) return std::nullopt;
    const auto bytes = read_entry_file(root.get(), file_name, Touch::no);
    if (!bytes || bytes->size() > kMostKeptBytes) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// The cache's own resolver makes the directory private: others' write permission would make the cache refuse it.
Result<void> keep(std::string_view directory_flag, const std::string& file_name, std::string_view text) {
    RIFTJIT_TRY(place, locate_cache(directory_flag));
    RIFTJIT_TRY_VOID(open_cache_directory(place, Absent::create));
    const FileDescriptor root = open_root(place);
    if (!root) return fail(ErrorKind::Io, "{}: {}", one_line(place.root.string()), std::strerror(errno));
    return publish_file(root.get(), file_name, std::as_bytes(std::span(text)));
}

}  // namespace riftjit
