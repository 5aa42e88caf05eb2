// Models with running states: which layers have what, and keys and tensors that do not fit.
#include <gtest/gtest.h>

#include "models/model.h"
#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace running_layers_test {

using namespace test;

constexpr uint32_t kInner = 64, kStates = 16, kSsmHeads = 4, kGroups = 2, kTaps = 4;
constexpr uint32_t kConvolved = kInner + 2 * kGroups * kStates;

// The tiny llama with Mamba 2 in its first layer.
GgufBuilder tiny_hybrid() {
    GgufBuilder builder = tiny_model("granitehybrid");
    builder.set("granitehybrid.attention.head_count_kv", i32_array({0, int32_t(kTinyKvHeads)}))
        .set("granitehybrid.ssm.conv_kernel", u32(kTaps))
        .set("granitehybrid.ssm.inner_size", u32(kInner))
        .set("granitehybrid.ssm.state_size", u32(kStates))
        .set("granitehybrid.ssm.time_step_rank", u32(kSsmHeads))
        .set("granitehybrid.ssm.group_count", u32(kGroups));
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"})
        builder.erase_tensor(std::string("blk.0.") + name + ".weight");
    const auto add = [&](const std::string& name, std::vector<uint64_t> ne) {
        uint64_t count = 1;
        for (const uint64_t extent : ne) count *= extent;
        builder.add_f32("blk.0." + name, std::move(ne), std::vector<float>(count, 0.25f));
    };
    add("ssm_in.weight", {kTinyWidth, kInner + kConvolved + kSsmHeads});
    add("ssm_conv1d.weight", {kTaps, kConvolved});
    add("ssm_conv1d.bias", {kConvolved});
    add("ssm_dt.bias", {kSsmHeads});
    add("ssm_a", {1, kSsmHeads});
    add("ssm_d", {1, kSsmHeads});
    add("ssm_norm.weight", {kInner / kGroups, kGroups});
    add("ssm_out.weight", {kInner, kTinyWidth});
    return builder;
}

std::string with(std::string_view suffix, const Value& value) {
    GgufBuilder builder = tiny_hybrid();
    builder.set("granitehybrid." + std::string(suffix), value);
    return load_message(builder);
}

TEST(RunningLayers, TheModelThatTheCasesStartFromLoads) { EXPECT_EQ(load_message(tiny_hybrid()), ""); }

TEST(RunningLayers, RefuseSizesThatDoNotFit) {
    GgufBuilder without = tiny_hybrid();
    without.erase("granitehybrid.ssm.state_size");
    EXPECT_TRUE(says(load_message(without), {"granitehybrid.ssm.state_size"}));
    EXPECT_TRUE(
        says(with("ssm.conv_kernel", u32(1)), {"'granitehybrid.ssm.conv_kernel'", "is 1; allowed are 2 to 64"}));
    EXPECT_TRUE(says(with("ssm.time_step_rank", u32(0)), {"is 0; allowed are 1 to 64"}));
    EXPECT_TRUE(says(with("ssm.group_count", u32(5)), {"is 5; allowed are 1 to 4"}));
    EXPECT_TRUE(
        says(with("ssm.time_step_rank", u32(3)), {"64 channels, 3 heads and 2 groups do not divide each other"}));
    EXPECT_TRUE(says(with("ssm.state_size", u32(8)), {"tensor 'blk.0.ssm_in.weight' has wrong shape"}));
    GgufBuilder wide = tiny_hybrid();
    for (const char* suffix : {"inner_size", "time_step_rank", "group_count"})
        wide.set(std::string("granitehybrid.ssm.") + suffix, u32(1u << 20));
    wide.set("granitehybrid.ssm.state_size", u32(4096));
    EXPECT_TRUE(says(load_message(wide), {"1048576 groups of 4096 states are more than 1048576"}));
}

TEST(RunningLayers, RefuseTensorsThatDoNotFit) {
    for (const char* name : {"ssm_conv1d.weight", "ssm_a", "ssm_norm.weight", "ssm_dt.bias"}) {
        GgufBuilder without = tiny_hybrid();
        without.erase_tensor(std::string("blk.0.") + name);
        EXPECT_TRUE(says(load_message(without), {std::string("missing tensor 'blk.0.") + name})) << name;
    }
    GgufBuilder turned = tiny_hybrid();
    turned.tensor("blk.0.ssm_conv1d.weight").ne = {kConvolved, kTaps};
    EXPECT_TRUE(says(load_message(turned), {"tensor 'blk.0.ssm_conv1d.weight' has wrong shape; expected [4, 128], got "
                                            "[128, 4]"}));
}

TEST(RunningLayers, RefuseWhatOtherArchitecturesDoNotHave) {
    GgufBuilder llama = tiny_model();
    llama.add_f32("blk.0.ssm_a", {1, 4}, std::vector<float>(4, -1.0f));
    EXPECT_TRUE(says(load_message(llama), {"blk.0.ssm_a", "unsupported for architecture llama"}));
}

}  // namespace running_layers_test
}  // namespace riftjit::models
