#include "host/available_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/host/scratch.h"

namespace riftjit {
namespace available_memory_test {

using Files = std::map<std::string, std::string>;

const std::string kUnified = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kSplit = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

uint64_t available_with(Files files) {
    const Scratch root;
    files["proc/meminfo"] = "MemTotal:       24000 kB\nMemFree:        1 kB\nMemAvailable:   20000 kB\n";
    write_files(root.directory(), files);
    return available_memory(root.directory());
}

TEST(AvailableMemory, IsWhatTheTightestGroupLeaves) {
    EXPECT_EQ(available_with({}), 20480000u);
    EXPECT_EQ(available_with({{"proc/self/cgroup", "0::/a\n"},
                              {"proc/self/mountinfo", kUnified},
                              {"sys/fs/cgroup/a/memory.max", "max\n"},
                              {"sys/fs/cgroup/a/memory.current", "5000\n"}}),
              20480000u);
    // Around the group of the process; pages of files can be taken back.
    EXPECT_EQ(
        available_with({{"proc/self/cgroup", "0::/a/b\n"},
                        {"proc/self/mountinfo", kUnified},
                        {"sys/fs/cgroup/a/b/memory.max", "9000000\n"},
                        {"sys/fs/cgroup/a/b/memory.current", "100\n"},
                        {"sys/fs/cgroup/a/memory.max", "1000000\n"},
                        {"sys/fs/cgroup/a/memory.current", "600000\n"},
                        {"sys/fs/cgroup/a/memory.stat", "anon 300000\ninactive_file 200000\nactive_file 100000\n"}}),
        700000u);
    EXPECT_EQ(available_with({{"proc/self/cgroup", "4:memory:/a\n"},
                              {"proc/self/mountinfo", kSplit},
                              {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000\n"},
                              {"sys/fs/cgroup/memory/a/memory.usage_in_bytes", "900000\n"},
                              {"sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 50000\nactive_file 7\n"}}),
              150000u);
    EXPECT_EQ(available_with({{"proc/self/cgroup", "0::/a\n"},
                              {"proc/self/mountinfo", kUnified},
                              {"sys/fs/cgroup/a/memory.max", "1000\n"},
                              {"sys/fs/cgroup/a/memory.current", "2000\n"}}),
              0u);
}

}  // namespace available_memory_test
}  // namespace riftjit
