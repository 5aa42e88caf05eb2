#include "graph/graph.h"

#include <gtest/gtest.h>

#include "tests/graph/tiny_graph.h"

namespace riftjit::graph {
namespace graph_test {

TEST(Graph, RefusesAnInputOfTheWrongWidthNamingBoth) {
    Graph g;
    const TensorId table = g.add_weight("token_embd", DType::F32, 8, 4, nullptr);
    const TensorId x = g.embed("embed", g.add_input("ids"), table).value();
    const auto product = g.matmul("q", x, g.add_weight("q.weight", DType::F32, 8, 5, nullptr));
    ASSERT_FALSE(product);
    EXPECT_EQ(product.error().message, "q: input 'embed' has width 4, expected 5");
}

TEST(Graph, RefusesABiasOfTheWrongLength) {
    Graph g;
    const TensorId x = g.embed("embed", g.add_input("ids"), g.add_weight("t", DType::F32, 8, 4, nullptr)).value();
    const auto product = g.matmul("q", x, g.add_weight("q.weight", DType::F32, 8, 4, nullptr),
                                  g.add_weight("q.bias", DType::F32, 1, 7, nullptr));
    ASSERT_FALSE(product);
    EXPECT_EQ(product.error().message, "q: bias 'q.bias' has shape [1, 7], expected [1, 8]");
}

TEST(Graph, RefusesHeadsThatDoNotShareKeysEvenly) {
    Graph g;
    const TensorId x = g.embed("embed", g.add_input("ids"), g.add_weight("t", DType::F32, 8, 12, nullptr)).value();
    const auto attention = g.attention("attn", x, x, x, g.add_slot({"kv", KvSlot{2, 4}}), 3, 1.0f);
    ASSERT_FALSE(attention);
    EXPECT_EQ(attention.error().message, "attn: 3 query heads are not a multiple of 2 key/value heads");
}

TEST(Graph, RefusesAttentionOverASlotWithoutKeysAndValues) {
    Graph g;
    const TensorId x = g.embed("embed", g.add_input("ids"), g.add_weight("t", DType::F32, 8, 12, nullptr)).value();
    const SlotId running = g.add_slot({"ssm", RunningSlot{3, 4}});
    EXPECT_EQ(g.attention("attn", x, x, x, running, 3, 1.0f).error().message,
              "attn: slot 0 is none of keys and values");
    EXPECT_EQ(g.attention("attn", x, x, x, 1, 3, 1.0f).error().message, "attn: slot 1 is none of keys and values");
}

TEST(Graph, RefusesRunningStatesThatDoNotFit) {
    Graph g;
    const auto rows = [&](const char* name, uint32_t width) {
        return g.embed(name, g.add_input("ids"), g.add_weight("t", DType::F32, 8, width, nullptr)).value();
    };
    const auto vector = [&](uint32_t width) { return g.add_weight("v", DType::F32, 1, width, nullptr); };
    const TensorId x = rows("x", 32), time = rows("time", 2), b = rows("b", 8);
    const SlotId kv = g.add_slot({"kv", KvSlot{2, 4}}), running = g.add_slot({"run", RunningSlot{32, 8}});
    EXPECT_EQ(g.convolution("conv", x, vector(64), kNoTensor, kv, std::nullopt, false).error().message,
              "conv: slot 0 is none of a running state");
    EXPECT_EQ(g.convolution("conv", b, vector(64), kNoTensor, running, std::nullopt, false).error().message,
              "conv: slot 'run' keeps 32 channels, expected 8");
    EXPECT_EQ(g.convolution("conv", x, vector(64), kNoTensor, running, std::nullopt, false).error().message,
              "conv: weights 'v' has shape [1, 64], expected [1, 288]");
    EXPECT_EQ(g.convolution("conv", x, vector(288), kNoTensor, running, Graph::Gates{x, b}, false).error().message,
              "conv: gate of what goes out 'b' has width 8, expected 32");
    const Graph::ScanInputs inputs{x, time, b, b, vector(2), vector(2), vector(2)};
    EXPECT_TRUE(g.scan("scan", inputs, running, 1));
    EXPECT_EQ(g.scan("scan", inputs, running, 2).error().message, "scan: b 'b' has width 8, expected 16");
    EXPECT_EQ(
        g.delta_net("net", {b, b, x, time, time, vector(2), vector(2)}, running, {1, 2, 4, 16, HeadOrder::tiled, 1e-6f})
            .error()
            .message,
        "net: slot 'run' keeps 8 numbers of each channel, expected 4");
    const SlotId square = g.add_slot({"square", RunningSlot{32, 16}});
    const WkvSpec wkv{2, 16, WkvRule::v6, Presence::absent};
    EXPECT_TRUE(g.wkv("wkv", {x, x, x, x, vector(32)}, square, wkv));
    EXPECT_EQ(g.wkv("wkv", {x, x, x, b, vector(32)}, square, wkv).error().message,
              "wkv: value 'b' has width 8, expected 32");
    EXPECT_EQ(g.wkv("wkv", {x, x, x, x, vector(32), x}, square, wkv).error().message,
              "wkv: rates are v7's alone, which has them");
    EXPECT_EQ(g.wkv("wkv", {x, x, x, x, vector(32)}, running, wkv).error().message,
              "wkv: slot 'run' keeps 8 numbers of each channel, expected 16");
}

TEST(Graph, RefusesANormOfHeadsThatDoNotFillTheRow) {
    Graph g;
    const TensorId x = g.embed("embed", g.add_input("ids"), g.add_weight("t", DType::F32, 8, 12, nullptr)).value();
    EXPECT_FALSE(g.rms_norm("norm", x, kNoTensor, 1e-6f, 5));
    EXPECT_FALSE(g.rope("rope", x, 4, RopePairing::half, {6, 1e4f}));
    EXPECT_FALSE(g.rope("rope", x, 4, RopePairing::half, {3, 1e4f}));
    EXPECT_FALSE(g.add("add", x, g.matmul("m", x, g.add_weight("w", DType::F32, 3, 12, nullptr)).value()));
    EXPECT_FALSE(g.embed("embed", x, x));
}

TEST(Graph, ListsTheTensorsOfEveryOp) {
    const auto model = test::make_tiny({.chain = true});
    std::vector<bool> written(model.graph.tensors.size());
    for (const Node& node : model.graph.nodes) {
        for (TensorId id : inputs(node.op)) {
            const bool is_activation = model.graph.tensor(id).kind == TensorKind::activation;
            EXPECT_TRUE(!is_activation || written[id]) << node.name << " reads what no earlier node wrote";
        }
        ASSERT_EQ(outputs(node.op).size(), 1u) << node.name;
        for (TensorId id : outputs(node.op)) written[id] = true;
    }
    EXPECT_TRUE(written[model.graph.logits]);
    EXPECT_NE(to_text(model.graph).find("blk.1.ffn_down"), std::string::npos);
}

}  // namespace graph_test
}  // namespace riftjit::graph
