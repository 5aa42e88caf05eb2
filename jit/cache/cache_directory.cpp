#include "jit/cache/cache_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "jit/cache/cache_entry.h"

namespace riftjit {

namespace {

constexpr mode_t kPrivateDirectory = 0700;
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

std::string version_directory() { return fmt::format("v{}", kCacheFormatVersion); }

std::unexpected<Error> system_failure(std::string_view what, const std::filesystem::path& path) {
    const int code = errno;
    return fail(ErrorKind::Io, "cannot {} {}: {}", what, one_line(path.string()), std::strerror(code));
}

// Gives a directory that was just made the mode that the umask took away. O_PATH needs no permission on the directory
// itself; fchmod refuses such a descriptor, its link under /proc does not (open(2), O_PATH).
Result<void> make_private(int parent, const std::string& name, const std::filesystem::path& path) {
    const FileDescriptor made(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!made || fstat(made.get(), &status) != 0) return system_failure("open", path);
    if ((status.st_mode & 07777) == kPrivateDirectory) return {};
    if (chmod(fmt::format("/proc/self/fd/{}", made.get()).c_str(), kPrivateDirectory) != 0)
        return system_failure("set the permissions of", path);
    return {};
}

Result<void> make_directory(int parent, const std::string& name, const std::filesystem::path& path) {
    if (mkdirat(parent, name.c_str(), kPrivateDirectory) == 0) return make_private(parent, name, path);
    if (errno == EEXIST) return {};  // another process was faster
    return system_failure("create", path);
}

// Creates what is missing from the bottom up, so that no existing parent needs to be writable.
Result<void> make_directories(const std::filesystem::path& path, const std::filesystem::path& existing) {
    struct stat status{};
    const std::filesystem::path parent = path.parent_path();
    const bool has_parent = stat(parent.c_str(), &status) == 0;
    if (!has_parent && errno != ENOENT) return system_failure("create", path);
    if (!has_parent) {
        if (parent == existing || parent == path) return system_failure("use", parent);
        RIFTJIT_TRY_VOID(make_directories(parent, existing));
    }
    return make_directory(AT_FDCWD, path.string(), path);
}

Result<void> check_trust(const FileDescriptor& directory, const std::filesystem::path& path) {
    struct stat status{};
    if (fstat(directory.get(), &status) != 0) return system_failure("examine", path);
    if (status.st_uid != geteuid())
        return fail(ErrorKind::Io, "{} belongs to user {}, not to {}", one_line(path.string()), status.st_uid,
                    geteuid());
    if ((status.st_mode & kWritableByOthers) != 0)
        return fail(ErrorKind::Io, "{} may be written by group or others (mode {:04o})", one_line(path.string()),
                    status.st_mode & 07777);
    return {};
}

// An environment variable that is set and not empty.
std::optional<std::string> environment(const char* name) {
    const char* value = secure_getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

Result<CachePlace> named_place(std::string_view path, std::string_view source) {
    std::error_code error;
    const std::filesystem::path root = std::filesystem::absolute(path, error);
    if (error) return fail(ErrorKind::Io, "{} {}: {}", source, one_line(path), error.message());
    return CachePlace{root.lexically_normal(), {}};
}

}  // namespace

std::filesystem::path CachePlace::entries() const { return root / version_directory(); }

Result<CachePlace> locate_cache(std::string_view flag) {
    if (!flag.empty()) return named_place(flag, "--cache-dir");
    if (const auto directory = environment("RIFTJIT_CACHE_DIR")) return named_place(*directory, "RIFTJIT_CACHE_DIR");
    // XDG Base Directory Specification: relative paths are invalid and must be ignored.
    if (const auto cache_home = environment("XDG_CACHE_HOME"); cache_home && cache_home->starts_with('/'))
        return CachePlace{std::filesystem::path(*cache_home) / "riftjit", {}};
    const auto home = environment("HOME");
    if (!home) return fail(ErrorKind::Io, "no directory: HOME is not set");
    if (!home->starts_with('/')) return fail(ErrorKind::Io, "no directory: HOME is relative (\"{}\")", one_line(*home));
    const std::filesystem::path home_path = std::filesystem::path(*home + "/").lexically_normal().parent_path();
    return CachePlace{home_path / ".cache" / "riftjit", home_path};
}

Result<FileDescriptor> open_cache_directory(const CachePlace& place, Absent absent) {
    constexpr int kRootFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    constexpr int kEntriesFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    FileDescriptor root(open(place.root.c_str(), kRootFlags));
    if (!root && errno == ENOENT) {
        if (absent == Absent::report) return FileDescriptor();
        RIFTJIT_TRY_VOID(make_directories(place.root, place.existing));
        root = FileDescriptor(open(place.root.c_str(), kRootFlags));
    }
    if (!root) return system_failure("open", place.root);
    RIFTJIT_TRY_VOID(check_trust(root, place.root));

    const std::string version = version_directory();
    FileDescriptor entries(openat(root.get(), version.c_str(), kEntriesFlags));
    if (!entries && errno == ENOENT) {
        if (absent == Absent::report) return FileDescriptor();
        RIFTJIT_TRY_VOID(make_directory(root.get(), version, place.entries()));
        entries = FileDescriptor(openat(root.get(), version.c_str(), kEntriesFlags));
    }
    if (!entries) return system_failure("open", place.entries());
    RIFTJIT_TRY_VOID(check_trust(entries, place.entries()));
    return entries;
}

std::optional<std::string_view> network_file_system(long type) {
    // statfs(2). 9p and FUSE are left out: most of them are local (containers, virtual machines, encryption).
    switch (static_cast<uint32_t>(type)) {
        case 0x6969:
            return "nfs";
        case 0x517b:
            return "smb";
        case 0xff534d42:
            return "cifs";
        case 0xfe534d42:
            return "smb2";
        case 0x5346414f:
            return "afs";
        case 0x73757245:
            return "coda";
        case 0x00c36400:
            return "ceph";
        case 0x0bd00bd0:
            return "lustre";
        case 0x01161970:
            return "gfs2";
        case 0x7461636f:
            return "ocfs2";
        case 0x47504653:
            return "gpfs";
        default:
            return std::nullopt;
    }
}

std::string one_line(std::string_view text) {
    std::string line(text);
    for (char& letter : line)
        if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') letter = '?';
    return line;
}

}  // namespace riftjit
