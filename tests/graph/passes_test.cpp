// Every pass, alone and with the others, keeps what the graph computes (in double, by the reference interpreter).
#include <gtest/gtest.h>

#include <cmath>

#include "graph/plan.h"
#include "graph/reference.h"
#include "tests/graph/tiny_graph.h"

namespace riftjit::graph {
namespace passes_test {

std::vector<double> logits_of(const Graph& graph) {
    Reference reference(graph);
    const int32_t first[] = {3, 1, 4, 1, 5}, second[] = {9, 2};
    EXPECT_TRUE(reference.run(first));  // fills the cache
    auto logits = reference.run(second);
    EXPECT_TRUE(logits) << (logits ? "" : logits.error().message);
    return *logits;
}

class EachPass : public testing::TestWithParam<std::string> {};

TEST_P(EachPass, RewritesTheGraphAndKeepsWhatItComputes) {
    bool rewrites = false;
    for (const bool head_norm : {false, true}) {
        const auto model = test::make_tiny({.head_norm = head_norm, .chain = true});
        const std::vector<double> expected = logits_of(model.graph);
        const Graph rewritten = apply_passes(model.graph, parse_passes(GetParam()).value());
        rewrites |= to_text(rewritten) != to_text(model.graph);
        const std::vector<double> actual = logits_of(rewritten);
        ASSERT_EQ(actual.size(), expected.size());
        // The same operations in double, in another association at most: 1e-12 of values of order 30.
        for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-10);
    }
    EXPECT_TRUE(rewrites) << "the graph was compared with itself";
}

std::vector<std::string> selections() {
    std::vector<std::string> names = {"all"};
    for (const Pass& pass : passes()) {
        // Not alone: those that act in make_plan, and the one that this graph, where all is read, gives nothing to do.
        if (pass.run != nullptr && pass.name != "remove-unused") names.push_back(std::string(pass.name));
        names.push_back("-" + std::string(pass.name));
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, EachPass, testing::ValuesIn(selections()));

TEST(Passes, LeaveTheGraphAloneWhenNoneIsChosen) {
    const auto model = test::make_tiny({.chain = true});
    EXPECT_EQ(to_text(apply_passes(model.graph, parse_passes("none").value())), to_text(model.graph));
}

TEST(Passes, RemoveWhatNobodyReads) {
    const auto model = test::make_tiny();
    Graph graph = model.graph;
    ASSERT_TRUE(graph.scale("unread", graph.logits, 2.0f));
    EXPECT_EQ(to_text(apply_passes(graph, {"remove-unused"})), to_text(model.graph));
}

TEST(Passes, RewriteTheGraphTheyAreMeantFor) {
    const auto model = test::make_tiny();
    const auto count = [](const Graph& graph, const char* op) {
        return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                             [&](const Node& node) { return std::string_view(op_name(node.op)) == op; });
    };
    EXPECT_EQ(count(apply_passes(model.graph, {"fuse-residual-matmul"}), "add"), 0);
    EXPECT_EQ(count(apply_passes(model.graph, {"fuse-residual-norm"}), "add"), 1);  // the last is read by gather_rows
    EXPECT_EQ(count(apply_passes(model.graph, {"fuse-head-norm-rope"}), "rms_norm"),
              5);  // two per layer, one at the end
    const Graph chained = apply_passes(test::make_tiny({.chain = true}).graph, {"fuse-elementwise"});
    EXPECT_EQ(count(chained, "scale"), 0);
    EXPECT_EQ(count(chained, "elementwise"), 1);
}

}  // namespace passes_test
}  // namespace riftjit::graph
