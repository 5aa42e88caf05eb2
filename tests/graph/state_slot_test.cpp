#include "graph/state_slot.h"

#include <gtest/gtest.h>

namespace riftjit::graph {
namespace state_slot_test {

TEST(StateSlot, RunningStatesHaveASizeOfTheirOwn) {
    EXPECT_EQ(running_bytes({"kv", KvSlot{8, 128}}), 0u);
    EXPECT_EQ(running_bytes({"ssm", RunningSlot{24 * 64, 128}}), 24u * 64 * 128 * 4);
    EXPECT_EQ(running_bytes({"wide", RunningSlot{1u << 20, 1u << 14}}), uint64_t(1) << 36);
    EXPECT_EQ(running_bytes({"conv", RunningSlot{1001, 3}}), 3u * 1008 * 4) << "whole blocks of 16 channels";
}

}  // namespace state_slot_test
}  // namespace riftjit::graph
