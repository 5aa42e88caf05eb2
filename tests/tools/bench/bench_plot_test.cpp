#include "tools/bench/bench_plot.h"

#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace bench_plot_test {

BenchResult result_of(const std::string& model, uint32_t threads, uint32_t prompt, uint32_t generate,
                      double tokens_per_second, uint32_t ubatch = 512) {
    BenchResult result{};
    result.test = {{model, threads, 2048, ubatch, DType::F16, DType::F16}, prompt, generate, 0};
    result.model = {"models/" + model, "llama q8_0", 1, 1};
    result.processor = "a processor";
    result.isa = "avx2";
    const double ns = 1e9 * (prompt + generate) / tokens_per_second;
    result.samples_ns = {uint64_t(ns * 0.9), uint64_t(ns), uint64_t(ns * 1.1)};
    return result;
}

TEST(BenchPlot, HasALineForEachModelTestAndSetup) {
    const std::vector<BenchResult> results = {
        result_of("a.gguf", 4, 512, 0, 900), result_of("a.gguf", 4, 0, 128, 80),
        result_of("a.gguf", 1, 512, 0, 250), result_of("a.gguf", 1, 0, 128, 50),
        result_of("b.gguf", 1, 0, 128, 9),   result_of("a.gguf", 2, 512, 0, 500, 64),
    };
    const auto lines = thread_lines(results);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0].label, "a: pp512");
    EXPECT_EQ(lines[1].label, "a: tg128");
    EXPECT_EQ(lines[2].label, "b: tg128");
    EXPECT_EQ(lines[3].label, "a: pp512, -ub 64");
    ASSERT_EQ(lines[0].points.size(), 2u);
    EXPECT_EQ(lines[0].points[0].threads, 1u) << "by threads, whatever order they ran in";
    EXPECT_EQ(lines[0].points[1].threads, 4u);
    EXPECT_NEAR(lines[0].points[1].rate, 900 * (1 / 0.9 + 1 + 1 / 1.1) / 3, 0.1);
    EXPECT_GT(lines[0].points[1].deviation, 50);
    EXPECT_EQ(lines[2].points.size(), 1u);
}

TEST(BenchPlot, IsDrawnOfAnyResults) {
    const Program program;
    const std::string path = program.folder() / "speed.svg";
    std::vector<BenchResult> results;
    for (const uint32_t threads : {1U, 2U, 16U, 64U})
        for (int model = 0; model < 10; ++model)
            results.push_back(result_of("model-" + std::to_string(model), threads, 512, 0, 30.0 * threads + model));
    for (const size_t count : {results.size(), size_t(1), size_t(11)}) {
        const auto written = write_thread_plot(path, std::span(results).first(count));
        ASSERT_TRUE(written) << written.error().message;
        const std::string svg = read_whole(path);
        EXPECT_TRUE(svg.ends_with("</svg>\n")) << count;
        EXPECT_EQ(svg.find("nan"), std::string::npos) << count;
        EXPECT_EQ(svg.find("inf"), std::string::npos) << count;
    }
    EXPECT_FALSE(write_thread_plot(path, {}));
    EXPECT_FALSE(write_thread_plot(program.folder() / "no-folder/speed.svg", results));
}

}  // namespace bench_plot_test
}  // namespace riftjit::tools
