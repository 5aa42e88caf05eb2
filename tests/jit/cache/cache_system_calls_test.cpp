// Errors and deaths at each system call of the write path. The definitions below take the place of the C library's in
// this program; without a plan they only pass calls on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>

#include "tests/jit/cache/cache_fixture.h"

namespace {

enum class Call { none, fchmod, write, fsync, rename, read };
enum class Action { fail, fail_though_done, die_before, die_after };

struct Plan {
    Call call = Call::none;
    Action action = Action::fail;
    int error = 0;
} plan;

[[noreturn]] void die() {
    kill(getpid(), SIGKILL);
    while (true) pause();
}

template <class Real>
auto planned(Call call, Real real) -> decltype(real()) {
    if (plan.call != call) return real();
    if (plan.action == Action::die_before) die();
    if (plan.action != Action::fail) real();
    if (plan.action == Action::die_after) die();
    errno = plan.error;
    return -1;
}

}  // namespace

extern "C" {
int fchmod(int file, mode_t mode) noexcept {
    return planned(Call::fchmod, [&] { return int(syscall(SYS_fchmod, file, mode)); });
}
ssize_t write(int file, const void* data, size_t bytes) {
    return planned(Call::write, [&] { return ssize_t(syscall(SYS_write, file, data, bytes)); });
}
ssize_t read(int file, void* data, size_t bytes) {
    return planned(Call::read, [&] { return ssize_t(syscall(SYS_read, file, data, bytes)); });
}
int fsync(int file) {
    return planned(Call::fsync, [&] { return int(syscall(SYS_fsync, file)); });
}
int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
    return planned(Call::rename, [&] { return int(syscall(SYS_renameat, from, old_name, to, new_name)); });
}
}

namespace riftjit {
namespace {

// A child whose cache meets the plan while it stores or, for read, while it loads.
std::string run_with(const Plan& injected, const std::string& directory) {
    return in_child([&] {
        CacheRun run;
        {
            DiskCache disk = DiskCache::open(directory, CacheMode::rw,
                                             [&](const std::string& text) { run.warnings.push_back(text); });
            plan = injected;
            const auto loaded = disk.load(test_spec(), Isa::avx2);
            run.is_answered = loaded.has_value();
            if (loaded && !*loaded) disk.store(test_spec(), test_object(test_spec(), Isa::avx2));
            plan = {};
        }
        return to_text(run);
    });
}

TEST(CacheSystemCalls, ThatFailCostOneWarningAndLeaveNothing) {
    struct Failure {
        Call call;
        int error;
        std::string text;
    };
    const Failure failures[] = {
        {Call::fchmod, EPERM, "cannot set permissions: Operation not permitted"},
        {Call::write, ENOSPC, "cannot write: No space left on device"},
        {Call::write, EDQUOT, "cannot write: Disk quota exceeded"},
        {Call::write, EIO, "cannot write: Input/output error"},
        {Call::fsync, EIO, "cannot sync: Input/output error"},
        {Call::fsync, ENOSPC, "cannot sync: No space left on device"},
        {Call::rename, ENOSPC, "cannot rename into place: No space left on device"},
        {Call::rename, EBUSY, "cannot rename into place: Device or resource busy"},
        {Call::rename, EXDEV, "cannot rename into place: Invalid cross-device link"},
    };
    for (const auto& [call, error, text] : failures) {
        const Scratch scratch;
        const std::string answer = run_with({call, Action::fail, error}, scratch.path("cache"));
        EXPECT_TRUE(has_text(answer, "answered=true from_disk=false compiled=0 warnings=1\ncache: "));
        EXPECT_TRUE(has_text(answer, text + "; kernels are not kept"));
        EXPECT_TRUE(names_in(scratch.path("cache/v1")).empty()) << text;
    }
}

TEST(CacheSystemCalls, ThatReportAFailedRenameThoughItIsDoneAreBelievedByTheResult) {
    const Scratch scratch;
    const std::string answer = run_with({Call::rename, Action::fail_though_done, ENOENT}, scratch.path("cache"));
    EXPECT_EQ(answer, "answered=true from_disk=false compiled=0 warnings=0");
    EXPECT_TRUE(run_once(scratch.path("cache")).from_disk);
}

TEST(CacheSystemCalls, ThatFailToReadAreOneWarning) {
    for (const int error : {ESTALE, EIO}) {
        const FilledCache cache;
        const std::string answer = run_with({Call::read, Action::fail, error}, cache.directory());
        EXPECT_TRUE(has_text(answer, "warnings=1\ncache: " + cache.entry_path() +
                                         ": cannot read: " + std::strerror(error) + "; compiling instead"));
    }
}

// kill -9 anywhere in the write path: the entry is whole or absent, and the rest are temporary files.
TEST(CacheSystemCalls, ThatAreTheLastLeaveOnlyTemporaryFiles) {
    for (const Call call : {Call::fchmod, Call::write, Call::fsync, Call::rename})
        for (const Action action : {Action::die_before, Action::die_after}) {
            const Scratch scratch;
            const std::string answer = run_with({call, action, 0}, scratch.path("cache"));
            EXPECT_TRUE(has_text(answer, "died: 0x9"));
            const CacheAdmin admin = CacheAdmin::open(scratch.path("cache")).value();
            const CacheTotals totals = admin.totals().value();
            const bool is_published = call == Call::rename && action == Action::die_after;
            EXPECT_EQ(totals.entries.files, is_published ? 1u : 0u);
            EXPECT_EQ(totals.temporaries.files, is_published ? 0u : 1u);
            EXPECT_TRUE(admin.verify().value().bad.empty());
            EXPECT_EQ(to_text(run_once(scratch.path("cache"))),
                      is_published ? "answered=true from_disk=true compiled=0 warnings=0"
                                   : "answered=true from_disk=false compiled=1 warnings=0");
        }
}

}  // namespace
}  // namespace riftjit
