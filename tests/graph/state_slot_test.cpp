#include "graph/state_slot.h"

#include <gtest/gtest.h>

namespace riftjit::graph {
namespace state_slot_test {

TEST(StateSlot, RunningStatesHaveASizeOfTheirOwn) {
    EXPECT_EQ(running_bytes({"kv", KvSlot{8, 128}}), 0u);
    EXPECT_EQ(running_bytes({"ssm", RecurrentSlot{{24, 64, 128}}}), 24u * 64 * 128 * 4);
    EXPECT_EQ(running_bytes({"wide", RecurrentSlot{{65536, 65536, 4}}}), uint64_t(1) << 36);
    EXPECT_EQ(running_bytes({"conv", ConvolutionSlot{1024, 4}}), 3u * 1024 * 4);
    EXPECT_EQ(running_bytes({"conv", ConvolutionSlot{1024, 1}}), 0u);
}

}  // namespace state_slot_test
}  // namespace riftjit::graph
