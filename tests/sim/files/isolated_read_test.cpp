#include "sim/files/isolated_read.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace riftjit::sim {
namespace isolated_read_test {

// What a damaged file can make libhdf5 do: a global heap of zeros holds it for ever.
TEST(IsolatedRead, TellsAFileWithoutEndFromOneThatNeedsMuchMemory) {
    const auto read = read_in_child(
        []() -> Result<Recording> {
            rlimit time{};
            getrlimit(RLIMIT_CPU, &time);
            time = {1, 1 + time.rlim_max - time.rlim_cur};  // sooner, with the distance that it has
            setrlimit(RLIMIT_CPU, &time);
            for (volatile bool runs = true; runs;) continue;
            return Recording{};
        },
        0);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "is damaged: libhdf5 came to no end with it");
}

}  // namespace isolated_read_test
}  // namespace riftjit::sim
