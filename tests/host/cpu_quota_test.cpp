#include <gtest/gtest.h>

#include <map>
#include <string>

#include "host/cpus.h"
#include "tests/host/scratch.h"

namespace riftjit {
namespace cpu_quota_test {

using Files = std::map<std::string, std::string>;

// The quota that a system with these files has.
std::optional<uint32_t> quota_with(const Files& files) {
    const Scratch root;
    write_files(root.directory(), files);
    return cpu_quota(root.directory());
}

const std::string kUnified = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kSplit = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST(CpuQuota, IsTheLeastOfAllGroupsRoundedUp) {
    const struct {
        const char* what;
        Files files;
        std::optional<uint32_t> quota;
    } cases[] = {
        {"no control groups", {}, std::nullopt},
        {"version 2 without a limit",
         {{"proc/self/cgroup", "0::/a\n"},
          {"proc/self/mountinfo", kUnified},
          {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}},
         std::nullopt},
        {"half a CPU",
         {{"proc/self/cgroup", "0::/a\n"},
          {"proc/self/mountinfo", kUnified},
          {"sys/fs/cgroup/a/cpu.max", "50000 100000\n"}},
         1},
        {"one and a half, another period",
         {{"proc/self/cgroup", "0::/a\n"},
          {"proc/self/mountinfo", kUnified},
          {"sys/fs/cgroup/a/cpu.max", "15000 10000\n"}},
         2},
        {"a group above allows less",
         {{"proc/self/cgroup", "0::/a/b/c\n"},
          {"proc/self/mountinfo", kUnified},
          {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
          {"sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"}},
         3},
        {"a container that sees its own group as the root",
         {{"proc/self/cgroup", "0::/\n"},
          {"proc/self/mountinfo", kUnified},
          {"sys/fs/cgroup/cpu.max", "200000 100000\n"}},
         2},
        {"a container that is told its path outside",
         {{"proc/self/cgroup", "0::/docker/17/x\n"},
          {"proc/self/mountinfo", "30 20 0:26 /docker/17 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
          {"sys/fs/cgroup/x/cpu.max", "400000 100000\n"}},
         4},
        {"version 1",
         {{"proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n"},
          {"proc/self/mountinfo", kSplit},
          {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n"},
          {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}},
         3},
        {"version 1 without a limit",
         {{"proc/self/cgroup", "4:cpu,cpuacct:/a\n"},
          {"proc/self/mountinfo", kSplit},
          {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n"},
          {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}},
         std::nullopt},
        {"both versions: the limit is where the controller is",
         {{"proc/self/cgroup", "4:cpu,cpuacct:/\n0::/s\n"},
          {"proc/self/mountinfo", kSplit + kUnified},
          {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n"},
          {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
         1},
        {"files of other contents",
         {{"proc/self/cgroup", "0::/a\nnonsense\n::\n"},
          {"proc/self/mountinfo", "short\n\n" + kUnified},
          {"sys/fs/cgroup/a/cpu.max", "lots\n"}},
         std::nullopt},
        {"a quota above every machine",
         {{"proc/self/cgroup", "0::/a\n"}, {"proc/self/mountinfo", kUnified}, {"sys/fs/cgroup/a/cpu.max", "1e300 1\n"}},
         65536},
    };
    for (const auto& one : cases) EXPECT_EQ(quota_with(one.files), one.quota) << one.what;
}

}  // namespace cpu_quota_test
}  // namespace riftjit
