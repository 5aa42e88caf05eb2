// The cache's fault list (docs/ARCHITECTURE.md, "The cache"): whatever is found under an entry's name or instead of the
// directory, a run succeeds with one warning, mode require fails with the reason, and verify names the entry.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tests/jit/cache/cache_fixture.h"

namespace riftjit {
namespace cache_faults_test {

struct EntryFault {
    std::string what;
    std::function<void(const FilledCache&)> inject;
    std::string reason;  // of mode require and of verify
    std::string text;    // part of the warning
    enum class After { healed, stays } after;
};
using After = EntryFault::After;

void replace_entry(const FilledCache& cache, const std::vector<std::byte>& bytes) {
    write_file(cache.entry_path(), bytes);
}

// Changes the entry's bytes in place and makes the checksum right again.
void rewrite_sealed(const FilledCache& cache, size_t offset, uint8_t value) {
    std::vector<std::byte> entry = read_file(cache.entry_path());
    entry[offset] = std::byte{value};
    const auto checksum = checksum_of(std::span(entry).subspan(32));
    std::memcpy(entry.data() + 16, checksum.data(), checksum.size());
    replace_entry(cache, entry);
}

void resize_entry(const FilledCache& cache, uintmax_t bytes) {
    std::filesystem::resize_file(cache.entry_path(), bytes);
}

void remove_entry(const FilledCache& cache) { std::filesystem::remove(cache.entry_path()); }

void bind_socket(const FilledCache& cache) {
    remove_entry(cache);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = ""};
    // The path may be too long for sun_path: bind under a short name, then rename.
    const std::string socket_path = cache.scratch().path("s");
    std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
    const FileDescriptor socket_descriptor(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(socket_descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::filesystem::rename(socket_path, cache.entry_path());
}

void link_to(const FilledCache& cache, const std::string& target) {
    remove_entry(cache);
    std::filesystem::create_symlink(target, cache.entry_path());
}

std::vector<EntryFault> entry_faults() {
    return {
        {"empty", [](auto& c) { resize_entry(c, 0); }, "corrupt", "truncated to 0 bytes", After::healed},
        {"header only", [](auto& c) { resize_entry(c, kEntryHeaderBytes); }, "corrupt", "truncated: 0 of",
         After::healed},
        {"trailing bytes", [](auto& c) { resize_entry(c, std::filesystem::file_size(c.entry_path()) + 5); }, "corrupt",
         "5 trailing bytes", After::healed},
        {"not an entry", [](auto& c) { replace_entry(c, std::vector<std::byte>(5000)); }, "corrupt", "wrong magic",
         After::healed},
        {"older version", [](auto& c) { rewrite_sealed(c, 8, 0); }, "stale", "format version 0, not 1", After::healed},
        {"newer version", [](auto& c) { rewrite_sealed(c, 8, 2); }, "stale", "format version 2, not 1", After::stays},
        {"other target", [](auto& c) { rewrite_sealed(c, 32, 'a'); }, "stale", "target \"a86_64-avx2\"", After::healed},
        {"other features", [](auto& c) { rewrite_sealed(c, 57, 1); }, "stale", "feature bits 0x10f, not 0xf",
         After::healed},
        {"other key", [](auto& c) { rewrite_sealed(c, 64, 0xee); }, "stale", "holds the entry of key ee",
         After::healed},
        {"payload is not ELF", [](auto& c) { rewrite_sealed(c, 88, 'E'); }, "corrupt", "not an x86-64 ELF object",
         After::healed},
        {"huge declared length", [](auto& c) { rewrite_sealed(c, 87, 0x7f); }, "corrupt", "truncated: ", After::healed},
        {"huge file", [](auto& c) { resize_entry(c, kMaxEntryBytes + 1); }, "corrupt",
         "67108865 bytes are more than any entry has", After::healed},
        {"symbolic link to a sound entry",
         [](auto& c) {
             std::filesystem::copy_file(c.entry_path(), c.scratch().path("elsewhere"));
             link_to(c, c.scratch().path("elsewhere"));
         },
         "io", "is a symbolic link", After::healed},
        {"symbolic link to /dev/zero", [](auto& c) { link_to(c, "/dev/zero"); }, "io", "is a symbolic link",
         After::healed},
        {"dangling symbolic link", [](auto& c) { link_to(c, "/nonexistent"); }, "io", "is a symbolic link",
         After::healed},
        {"directory", [](auto& c) { remove_entry(c), std::filesystem::create_directory(c.entry_path()); }, "io",
         "is a directory", After::stays},
        {"FIFO", [](auto& c) { remove_entry(c), mkfifo(c.entry_path().c_str(), 0600); }, "io", "is a FIFO",
         After::healed},
        {"socket", bind_socket, "io", "is a socket", After::healed},
        {"writable by others", [](auto& c) { chmod(c.entry_path().c_str(), 0666); }, "io",
         "may be written by group or others (mode 0666)", After::healed},
        {"writable by the group", [](auto& c) { chmod(c.entry_path().c_str(), 0620); }, "io",
         "may be written by group or others (mode 0620)", After::healed},
    };
}

void expect_survived(const FilledCache& cache, const EntryFault& fault) {
    SCOPED_TRACE(fault.what);
    const CacheVerdict verdict = cache.verdict();
    ASSERT_EQ(verdict.bad.size(), 1u);
    EXPECT_EQ(verdict.bad[0].file, cache.entry_name());
    EXPECT_EQ(verdict.bad[0].reason, fault.reason);
    EXPECT_TRUE(has_text(verdict.bad[0].text, fault.text));

    const CacheRun required = run_once(cache.directory(), CacheMode::require);
    EXPECT_FALSE(required.is_answered);
    EXPECT_EQ(required.compiled, 0u);
    EXPECT_EQ(required.error_kind, ErrorKind::Cache);
    EXPECT_TRUE(has_text(required.error,
                         fmt::format("cache: rj_quantize_w1024_i16: {}: {}: ", fault.reason, cache.entry_path())));
    EXPECT_TRUE(has_text(required.error, fault.text));

    for (const CacheMode mode : {CacheMode::ro, CacheMode::rw}) {
        const CacheRun run = run_once(cache.directory(), mode);
        EXPECT_TRUE(run.is_answered);
        EXPECT_EQ(run.compiled, 1u);
        ASSERT_EQ(run.warnings.size(), 1u) << to_text(run);
        EXPECT_TRUE(has_text(run.warnings[0], fault.text));
        EXPECT_EQ(run.warnings[0].find('\n'), std::string::npos);
    }
    EXPECT_EQ(run_once(cache.directory()).from_disk, fault.after == After::healed);
    for (const std::string& name : names_in(cache.entries())) EXPECT_FALSE(is_temporary_file_name(name)) << name;
}

TEST(CacheFaults, OfAnEntryCostOneWarningAndARecompilation) {
    for (const EntryFault& fault : entry_faults()) {
        const FilledCache cache;
        fault.inject(cache);
        expect_survived(cache, fault);
    }
}

TEST(CacheFaults, OfEveryHeaderBitSampledPayloadBitsAndEveryLengthAreSeen) {
    const FilledCache cache;
    const std::vector<std::byte> sound = read_file(cache.entry_path());
    DiskCache disk = DiskCache::open(cache.directory(), CacheMode::require, {});
    const auto is_refused = [&] {
        const auto object = disk.load(test_spec(), Isa::avx2);
        return !object && object.error().kind == ErrorKind::Cache;
    };
    const FileDescriptor entry(open(cache.entry_path().c_str(), O_WRONLY));
    const auto put = [&](size_t offset, std::byte value) {
        ASSERT_EQ(pwrite(entry.get(), &value, 1, off_t(offset)), 1);
    };
    for (size_t offset = 0; offset < sound.size(); offset += offset < kEntryHeaderBytes ? 1 : 37)
        for (int bit = 0; bit < 8; bit += offset < kEntryHeaderBytes ? 1 : 3) {
            put(offset, sound[offset] ^ std::byte(1u << bit));
            ASSERT_TRUE(is_refused()) << offset << " bit " << bit;
            put(offset, sound[offset]);
        }
    ASSERT_TRUE(disk.load(test_spec(), Isa::avx2));
    for (size_t length = sound.size(); length-- > 0;) {
        resize_entry(cache, length);
        ASSERT_TRUE(is_refused()) << length;
    }
}

TEST(CacheFaults, OfAForeignOwnerAreRefusedAlsoThroughAHardLink) {
    if (!is_root()) GTEST_SKIP() << "wants to run as root, to give files away";
    const EntryFault foreign{"foreign owner", {}, "io", "belongs to user 65534, not to 0", After::healed};
    const FilledCache given;
    ASSERT_EQ(chown(given.entry_path().c_str(), kNobody, kNobody), 0);
    expect_survived(given, foreign);

    const FilledCache linked;
    const std::string elsewhere = linked.scratch().path("foreign");
    std::filesystem::copy_file(linked.entry_path(), elsewhere);
    ASSERT_EQ(chown(elsewhere.c_str(), kNobody, kNobody), 0);
    remove_entry(linked);
    ASSERT_EQ(link(elsewhere.c_str(), linked.entry_path().c_str()), 0);
    expect_survived(linked, foreign);
    EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST(CacheFaults, OfADeviceAreRefused) {
    const FilledCache cache;
    remove_entry(cache);
    if (mknod(cache.entry_path().c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0)
        GTEST_SKIP() << "wants the right to make device nodes";
    // A container may forbid to open device nodes: then the reason is the error of open().
    const bool can_open = bool(FileDescriptor(open(cache.entry_path().c_str(), O_RDONLY)));
    expect_survived(cache, {"device", {}, "io", can_open ? "is a device" : "cannot open: ", After::healed});
}

// Becomes nobody, who is bound by permissions, in a child process.
std::string as_nobody(const std::function<std::string()>& body) {
    return in_child([&]() -> std::string {
        if (is_root() && (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
                          setresuid(kNobody, kNobody, kNobody) != 0))
            return "cannot become nobody";
        return body();
    });
}

// A scratch directory that belongs to whom as_nobody() becomes.
std::string nobodys_cache(const Scratch& scratch) {
    if (is_root()) std::ignore = chown(scratch.directory().c_str(), kNobody, kNobody);
    const std::string directory = scratch.path("cache");
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory)); }),
              "answered=true from_disk=false compiled=1 warnings=0");
    return directory;
}

std::string answered_with(const std::string& warning) {
    return "answered=true from_disk=false compiled=1 warnings=1\ncache: " + warning;
}

TEST(CacheFaults, OfAnUnreadableEntryAreHealed) {
    const Scratch scratch;
    const std::string directory = nobodys_cache(scratch);
    const std::string entry = directory + "/v1/" + entry_file_name(cache_key(test_spec(), Isa::avx2));
    ASSERT_EQ(chmod(entry.c_str(), 0), 0);
    EXPECT_TRUE(has_text(as_nobody([&] { return run_once(directory, CacheMode::require).error; }),
                         "io: " + entry + ": cannot open: Permission denied"));
    EXPECT_EQ(as_nobody([&] { return CacheAdmin::open(directory).value().verify().value().bad.at(0).text; }),
              "cannot open: Permission denied");
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory)); }),
              answered_with(entry + ": cannot open: Permission denied; compiling instead"));
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory)); }),
              "answered=true from_disk=true compiled=0 warnings=0");
}

TEST(CacheFaults, OfAReadOnlyDirectoryStopOnlyTheWriting) {
    const Scratch scratch;
    const std::string directory = nobodys_cache(scratch), entries = directory + "/v1";
    const std::string other_entry = entries + "/" + entry_file_name(cache_key(test_spec(2048), Isa::avx2));
    ASSERT_EQ(chmod(entries.c_str(), 0555), 0);
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory)); }),
              "answered=true from_disk=true compiled=0 warnings=0");
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory, CacheMode::rw, {test_spec(2048)})); }),
              answered_with(other_entry + ": cannot create a file: Permission denied; kernels are not kept"));
    chmod(entries.c_str(), 0700);
}

TEST(CacheFaults, OfAnUnsearchableParentSwitchTheCacheOff) {
    const Scratch scratch;
    const std::string directory = nobodys_cache(scratch);
    ASSERT_EQ(chmod(scratch.directory().c_str(), 0), 0);
    EXPECT_EQ(as_nobody([&] { return to_text(run_once(directory)); }),
              answered_with("cannot open " + directory + ": Permission denied; compiling without a cache"));
    EXPECT_EQ(as_nobody([&] { return run_once(directory, CacheMode::require).error; }),
              "cache: rj_quantize_w1024_i16: io: cannot open " + directory + ": Permission denied");
    chmod(scratch.directory().c_str(), 0700);
}

TEST(CacheFaults, OfAForeignDirectorySwitchTheCacheOff) {
    if (!is_root()) GTEST_SKIP() << "wants to run as root, to give directories away";
    for (const std::string part : {"", "/v1"}) {
        const FilledCache cache;
        ASSERT_EQ(chown((cache.directory() + part).c_str(), kNobody, kNobody), 0);
        EXPECT_EQ(
            to_text(run_once(cache.directory())),
            answered_with(cache.directory() + part + " belongs to user 65534, not to 0; compiling without a cache"));
        EXPECT_FALSE(CacheAdmin::open(cache.directory()));
    }
}

TEST(CacheFaults, OfAPublicDirectorySwitchTheCacheOff) {
    for (const std::string part : {"", "/v1"})
        for (const mode_t mode : {mode_t(0777), mode_t(0720), mode_t(01777)}) {
            const FilledCache cache;
            ASSERT_EQ(chmod((cache.directory() + part).c_str(), mode), 0);
            EXPECT_EQ(to_text(run_once(cache.directory())),
                      answered_with(
                          fmt::format("{}{} may be written by group or others (mode {:04o}); compiling without a cache",
                                      cache.directory(), part, mode)));
            EXPECT_TRUE(has_text(run_once(cache.directory(), CacheMode::require).error, "io: " + cache.directory()));
            EXPECT_FALSE(CacheAdmin::open(cache.directory()));
        }
}

TEST(CacheFaults, OfASetGidDirectoryAreNone) {
    const Scratch scratch;
    const std::string directory = scratch.path("cache");
    std::filesystem::create_directory(directory);
    ASSERT_EQ(chmod(directory.c_str(), 02700), 0);
    EXPECT_EQ(to_text(run_once(directory)), "answered=true from_disk=false compiled=1 warnings=0");
    EXPECT_EQ(to_text(run_once(directory)), "answered=true from_disk=true compiled=0 warnings=0");
}

TEST(CacheFaults, OfALinkedVersionDirectorySwitchTheCacheOff) {
    const FilledCache cache;
    std::filesystem::rename(cache.entries(), cache.scratch().path("moved"));
    std::filesystem::create_symlink(cache.scratch().path("moved"), cache.entries());
    const CacheRun run = run_once(cache.directory());
    EXPECT_EQ(run.compiled, 1u);
    ASSERT_EQ(run.warnings.size(), 1u);
    EXPECT_TRUE(has_text(run.warnings[0], "cannot open " + cache.entries()));
}

TEST(CacheFaults, OfAFileInsteadOfTheDirectorySwitchTheCacheOff) {
    const Scratch scratch;
    write_file(scratch.path("file"), test_code().bytes);
    for (const std::string path : {"file", "file/below"}) {
        const CacheRun run = run_once(scratch.path(path));
        EXPECT_TRUE(run.is_answered);
        ASSERT_EQ(run.warnings.size(), 1u);
        EXPECT_TRUE(has_text(run.warnings[0], "Not a directory; compiling without a cache"));
    }
}

TEST(CacheFaults, OfPathsTooLongSwitchTheCacheOff) {
    const Scratch scratch;
    std::string deep = scratch.path("d");
    while (deep.size() <= 4096) deep += "/directory";
    for (const std::string& path : {scratch.path(std::string(256, 'c')), deep}) {
        const CacheRun run = run_once(path);
        EXPECT_TRUE(run.is_answered);
        ASSERT_EQ(run.warnings.size(), 1u);
        EXPECT_TRUE(has_text(run.warnings[0], "File name too long"));
    }
}

// The environment of one run, in a child.
std::string with_environment(const std::vector<std::pair<std::string, std::string>>& variables) {
    return in_child([&] {
        for (const char* name : {"RIFTJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
        for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
        return to_text(run_once(""));
    });
}

TEST(CacheFaults, OfTheHomeDirectorySwitchTheCacheOff) {
    const std::string off = "; compiling without a cache";
    EXPECT_EQ(with_environment({}), answered_with("no directory: HOME is not set" + off));
    EXPECT_EQ(with_environment({{"HOME", ""}}), answered_with("no directory: HOME is not set" + off));
    EXPECT_EQ(with_environment({{"HOME", "home/user"}}),
              answered_with("no directory: HOME is relative (\"home/user\")" + off));
    EXPECT_EQ(with_environment({{"HOME", "/nonexistent/home"}}),
              answered_with("cannot use /nonexistent/home: No such file or directory" + off));
    EXPECT_FALSE(std::filesystem::exists("/nonexistent"));
    EXPECT_TRUE(has_text(with_environment({{"HOME", "/proc"}}), answered_with("cannot create /proc/.cache: ")));
    EXPECT_TRUE(has_text(with_environment({{"XDG_CACHE_HOME", "relative"}}),
                         answered_with("no directory: HOME is not set" + off)));
}

TEST(CacheFaults, OfANewlineInAPathStayOnOneLine) {
    const CacheRun run = run_once("/proc/new\nline");
    ASSERT_EQ(run.warnings.size(), 1u);
    EXPECT_TRUE(has_text(run.warnings[0], "/proc/new?line"));
    EXPECT_EQ(run.warnings[0].find('\n'), std::string::npos);
}

// ---- space and limits -----------------------------------------------------------------------------------------------

TEST(CacheFaults, OfTheFileSizeLimitNeitherKillNorLeaveFiles) {
    for (const rlim_t limit : {rlim_t(0), rlim_t(100)}) {
        const Scratch scratch;
        const std::string directory = scratch.path("cache");
        const std::string answer = in_child([&] {
            const rlimit small{limit, limit};
            setrlimit(RLIMIT_FSIZE, &small);
            return to_text(run_once(directory));
        });
        EXPECT_TRUE(has_text(answer, ": cannot write: File too large; kernels are not kept")) << limit;
        EXPECT_TRUE(has_text(answer, "answered=true from_disk=false compiled=1 warnings=1"));
        EXPECT_TRUE(names_in(directory + "/v1").empty());
    }
}

TEST(CacheFaults, OfTheFileSizeLimitKeepTheCallersSignals) {
    const Scratch scratch;
    const std::string answer = in_child([&]() -> std::string {
        std::filesystem::create_directory(scratch.path("d"));
        const FileDescriptor directory(open(scratch.path("d").c_str(), O_RDONLY | O_DIRECTORY));
        const rlimit small{10, 10};
        setrlimit(RLIMIT_FSIZE, &small);
        if (publish_file(directory.get(), "f", test_code().bytes)) return "published";
        sigset_t blocked, pending;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        sigpending(&pending);
        return sigismember(&blocked, SIGXFSZ) || sigismember(&pending, SIGXFSZ) ? "changed" : "restored";
    });
    EXPECT_EQ(answer, "restored");
}

TEST(CacheFaults, OfTooManyOpenFilesCostOneWarning) {
    const FilledCache cache;
    const std::string answer = in_child([&] {
        CacheRun run;
        DiskCache disk = DiskCache::open(cache.directory(), CacheMode::rw,
                                         [&](const std::string& text) { run.warnings.push_back(text); });
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NOFILE, &none);
        run.is_answered = disk.load(test_spec(), Isa::avx2).has_value();
        disk.store(test_spec(), test_object(test_spec(), Isa::avx2));
        disk.collect();
        return to_text(run);
    });
    EXPECT_TRUE(has_text(answer, "answered=true"));
    EXPECT_TRUE(has_text(
        answer, "warnings=1\ncache: " + cache.entry_path() + ": cannot open: Too many open files; compiling instead"));

    const std::string without = in_child([&] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NOFILE, &none);
        return to_text(run_once(cache.directory()));
    });
    EXPECT_EQ(without,
              answered_with("cannot open " + cache.directory() + ": Too many open files; compiling without a cache"));
}

// Runs in a child with a small file system of its own at `where`; "" when this process may not mount.
std::string on_small_file_system(const std::string& where, const std::string& options,
                                 const std::function<std::string()>& body) {
    return in_child([&]() -> std::string {
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            return "cannot mount";
        std::filesystem::create_directories(where);
        if (mount("none", where.c_str(), "tmpfs", 0, options.c_str()) != 0) return "cannot mount";
        return body();
    });
}

TEST(CacheFaults, OfAFullDiskCostOneWarning) {
    const Scratch scratch;
    const std::string where = scratch.path("disk");
    const auto run_large = [&] { return to_text(run_once(where + "/cache", CacheMode::rw, {test_spec()}, 100'000)); };
    const std::string full = on_small_file_system(where, "size=64k", run_large);
    if (full == "cannot mount") GTEST_SKIP() << "wants the right to mount a tmpfs";
    EXPECT_TRUE(has_text(full, "answered=true from_disk=false compiled=1 warnings=1\ncache: "));
    EXPECT_TRUE(has_text(full, "cannot write: No space left on device; kernels are not kept"));

    const std::string no_inodes = on_small_file_system(where, "size=1m,nr_inodes=3", run_large);
    EXPECT_TRUE(has_text(no_inodes, "answered=true from_disk=false compiled=1 warnings=1\ncache: "));
    EXPECT_TRUE(has_text(no_inodes, "cannot create a file: No space left on device; kernels are not kept"));
}

TEST(CacheFaults, OfAReadOnlyFileSystemStopOnlyTheWriting) {
    const Scratch scratch;
    const std::string where = scratch.path("disk");
    const std::string answer = on_small_file_system(where, "size=1m", [&] {
        std::string text = to_text(run_once(where + "/cache"));
        mount(nullptr, where.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
        text += "\n" + to_text(run_once(where + "/cache"));
        text += "\n" + to_text(run_once(where + "/cache", CacheMode::rw, {test_spec(2048)}));
        return text + "\n" + to_text(run_once(where + "/other"));
    });
    if (answer == "cannot mount") GTEST_SKIP() << "wants the right to mount a tmpfs";
    EXPECT_TRUE(has_text(answer, "from_disk=true compiled=0 warnings=0"));
    EXPECT_TRUE(has_text(answer, "cannot create a file: Read-only file system; kernels are not kept"));
    EXPECT_TRUE(
        has_text(answer, "cannot create " + where + "/other: Read-only file system; compiling without a cache"));
}

TEST(CacheFaults, OfAReadOnlyFileSystemAreToldByWhatRemoves) {
    const Scratch scratch;
    const std::string where = scratch.path("disk");
    const std::string answer = on_small_file_system(where, "size=1m", [&] {
        run_once(where + "/cache");
        mount(nullptr, where.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
        const CacheAdmin admin = CacheAdmin::open(where + "/cache").value();
        const auto pruned = admin.prune(0), cleared = admin.clear();
        return (pruned ? "pruned" : pruned.error().message) + "\n" + (cleared ? "cleared" : cleared.error().message);
    });
    if (answer == "cannot mount") GTEST_SKIP() << "wants the right to mount a tmpfs";
    const std::string entry = entry_file_name(cache_key(test_spec(), Isa::avx2));
    const std::string line = where + "/cache/v1: cannot remove " + entry + ": Read-only file system";
    EXPECT_EQ(answer, line + "\n" + line);
}

}  // namespace cache_faults_test
}  // namespace riftjit
