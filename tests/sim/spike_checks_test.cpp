#include "sim/spike_checks.h"

#include <gtest/gtest.h>

namespace riftjit::sim {
namespace run_checks_test {

TEST(SpikeChecks, SayWhatWasLost) {
    EXPECT_TRUE(check_arrivals(8, 8));
    EXPECT_TRUE(check_counts(2, 2));
    const auto arrivals = check_arrivals(7, 8), counts = check_counts(3, 2);
    ASSERT_FALSE(arrivals);
    ASSERT_FALSE(counts);
    EXPECT_EQ(arrivals.error().message,
              "7 arrivals for 8 synapses of the neurons that fired: the simulation lost spikes");
    EXPECT_EQ(counts.error().message, "the neurons fired 3 times, 2 spikes were counted");
}

}  // namespace run_checks_test
}  // namespace riftjit::sim
