#include <gtest/gtest.h>

#include <map>
#include <string>

#include "host/cpus.h"
#include "tests/host/scratch.h"

namespace riftjit {
namespace performance_cpus_test {

std::optional<std::string> performance_cpus_with(const std::map<std::string, std::string>& files) {
    const Scratch root;
    write_files(root.directory(), files);
    return performance_cpus(root.directory());
}

TEST(PerformanceCpus, AreToldApartOnHybridProcessorsOnly) {
    EXPECT_EQ(performance_cpus_with({}), std::nullopt);
    EXPECT_EQ(performance_cpus_with({{"sys/devices/cpu/type", "4\n"}}), std::nullopt);
    EXPECT_EQ(
        performance_cpus_with({{"sys/devices/cpu_core/cpus", "0-15\n"}, {"sys/devices/cpu_atom/cpus", "16-23\n"}}),
        "0-15");
    // One kind switched off: what is left is all alike.
    EXPECT_EQ(performance_cpus_with({{"sys/devices/cpu_core/cpus", "0-15\n"}, {"sys/devices/cpu_atom/cpus", "\n"}}),
              std::nullopt);
    EXPECT_EQ(performance_cpus_with({{"sys/devices/cpu_core/cpus", "\n"}, {"sys/devices/cpu_atom/cpus", "16-23\n"}}),
              std::nullopt);
}

TEST(PerformanceCpus, KeepingToThemLeavesAThreadSomewhereToRun) {
    const uint32_t before = usable_cpus();
    keep_to_performance_cores();
    EXPECT_GE(usable_cpus(), 1u);
    if (!performance_cpus()) {
        EXPECT_EQ(usable_cpus(), before);
    }
}

}  // namespace performance_cpus_test
}  // namespace riftjit
