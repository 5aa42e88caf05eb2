#include "tools/bench/bench_work.h"

#include <gtest/gtest.h>

#include "jit/x86/backend.h"

namespace riftjit::tools {
namespace bench_work_test {

BenchTest test_of(uint32_t prompt, uint32_t generate, uint32_t depth, uint32_t batch, uint32_t ubatch) {
    return {{"a.gguf", 1, batch, ubatch, DType::F16, DType::F16}, prompt, generate, depth};
}

Work work(const KernelSpec& spec, const PlanRun& run, graph::StepRows rows = graph::StepRows::batch) {
    return work_of({"a step", spec, {}, rows}, run, x86::backend(Isa::avx2));
}

// A call takes -b tokens and a step -ub of them; logits are wanted of a call's last token.
TEST(BenchWork, RunsOfATestAreItsSteps) {
    const auto runs = plan_runs(test_of(25, 2, 100, 20, 8));
    const std::vector<PlanRun> expected = {{8, 100, false}, {8, 108, false}, {4, 116, true},
                                           {5, 120, true},  {1, 125, true},  {1, 126, true}};
    ASSERT_EQ(runs.size(), expected.size());
    for (size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(runs[i].rows, expected[i].rows) << i;
        EXPECT_EQ(runs[i].position, expected[i].position) << i;
        EXPECT_EQ(runs[i].has_output, expected[i].has_output) << i;
    }
}

TEST(BenchWork, MatmulsReadTheirWeightsOncePerLaunch) {
    MatmulSpec spec{};
    spec.weight = DType::F32, spec.rows = 32, spec.width = 64, spec.out_stride = 32, spec.bias = Presence::absent,
    spec.form = MatmulForm::tile;
    const double weights = 32 * 64 * 4, row = 64 * 4;
    const Work one = work(spec, {1, 0, true}), many = work(spec, {10, 0, true});
    EXPECT_EQ(one.operations, 2 * 32 * 64);
    EXPECT_EQ(one.bytes, weights + row);
    EXPECT_EQ(many.operations, 10 * one.operations);
    EXPECT_EQ(many.bytes, weights + 10 * row);
    spec.epilogue = Epilogue::accumulate;
    EXPECT_EQ(work(spec, {10, 0, true}).bytes, weights + 10 * (row + 32 * 4)) << "what it adds to is read too";
}

TEST(BenchWork, StepsBehindAGatheringRunOnRowsWithLogits) {
    MatmulSpec spec{};
    spec.weight = DType::F32, spec.rows = 32, spec.width = 64, spec.out_stride = 32, spec.bias = Presence::absent;
    using enum graph::StepRows;
    EXPECT_EQ(work(spec, {10, 0, true}, outputs).operations, 2 * 32 * 64);
    EXPECT_EQ(work(spec, {10, 0, true}, one_output).operations, 2 * 32 * 64);
    EXPECT_EQ(work(spec, {10, 0, true}, many_outputs).bytes, 0);
    EXPECT_EQ(work(spec, {10, 0, false}, one_output).bytes, 0);
}

// Rows 100 to 108: eight are a tile, and the ninth is left to the vector form.
TEST(BenchWork, AttentionReadsWhatItsRowsSee) {
    AttentionSpec spec{};
    spec.heads = 4, spec.kv_heads = 2, spec.head_dim = 64, spec.q_stride = 256, spec.out_stride = 256;
    spec.key_type = spec.value_type = DType::F16;
    const PlanRun run{9, 100, true};
    const double flops = 4 * 4 * 64, position = 2 * 2 * 64 * 2, row = 4 * 64 * 4;
    spec.form = MatmulForm::tile;
    const Work tiles = work(spec, run);
    EXPECT_EQ(tiles.operations, flops * (101 + 102 + 103 + 104 + 105 + 106 + 107 + 108));
    EXPECT_EQ(tiles.bytes, 108 * position + 8 * row);
    spec.form = MatmulForm::vector;
    const Work single = work(spec, run);
    EXPECT_EQ(single.operations, flops * 109);
    EXPECT_EQ(single.bytes, 109 * position + row);
    EXPECT_EQ(work(spec, {8, 100, true}).bytes, 0);
    EXPECT_EQ(work(spec, {1, 108, true}).operations, single.operations) << "a step of one row";
}

TEST(BenchWork, LookupsReadARowOfWeightsPerToken) {
    EmbedSpec spec{};
    spec.weight = DType::Q8_0, spec.width = 64;
    EXPECT_EQ(work(spec, {10, 0, true}).bytes, 10 * 2 * 34);
    EXPECT_EQ(work(spec, {10, 0, true}).operations, 0);
}

}  // namespace bench_work_test
}  // namespace riftjit::tools
