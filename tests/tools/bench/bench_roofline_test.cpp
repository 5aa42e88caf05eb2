#include "tools/bench/bench_roofline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace bench_roofline_test {

const nlohmann::ordered_json kAvx2Peaks = {{"isa", "avx2"},
                                           {"threads", 2},
                                           {"processor", "a processor"},
                                           {"read_gb_per_s", {{"one_thread", 10.0}, {"all_threads", 16.0}}},
                                           {"f32_fma_gflops", {{"one_thread", 90.0}, {"all_threads", 170.0}}},
                                           {"i16_dot_gops", {{"one_thread", 80.0}, {"all_threads", 150.0}}},
                                           {"i8_dot_gops", {{"one_thread", 300.0}, {"all_threads", 600.0}}}};

BenchResult result_of(uint32_t prompt, uint32_t generate, std::vector<KernelWork> kernels) {
    BenchResult result{};
    result.test = {{"a.gguf", 2, 2048, 512, DType::F16, DType::F16}, prompt, generate, 0};
    result.model = {"models/a.gguf", "llama q8_0", 1, 1};
    result.processor = "a processor";
    result.isa = "avx2";
    result.work = {{prompt == 0, std::move(kernels)}};
    return result;
}

TEST(BenchRoofline, HasTheRoofsThatKernelsCanReach) {
    const Roofs roofs = roofs_of(kAvx2Peaks);
    EXPECT_EQ(roofs.read, 16);
    EXPECT_EQ(roofs.read_label, "memory 16.0 GB/s");
    ASSERT_EQ(roofs.arithmetic.size(), 2u) << "no kernel is made of byte dot products outside tiles";
    EXPECT_EQ(roofs.arithmetic[0].label, "i16 dot 150 GOP/s");
    EXPECT_EQ(roofs.arithmetic[1].label, "f32 FMA 170 GOP/s");
    nlohmann::ordered_json tiles = kAvx2Peaks;
    tiles["bf16_tile_gflops"] = {{"all_threads", 1000.0}};
    tiles["i8_tile_gops"] = {{"all_threads", 2000.0}};
    EXPECT_EQ(roofs_of(tiles).arithmetic.back().label, "i8 tile 2000 GOP/s");
}

TEST(BenchRoofline, IsDrawnOfAnyKernels) {
    const Program program;
    const std::string path = program.folder() / "roof.svg";
    std::vector<KernelWork> many;
    for (int i = 0; i < 40; ++i) many.push_back({"matmul q8_0 8x" + std::to_string(i), 1e9, 5e8 + i, 0.01, 0.025});
    for (int i = 0; i < 20; ++i) many.push_back({"matmul q4_0 8x" + std::to_string(i), 1e9, 5e8 + i, 0.01, 0.05});
    const std::vector<std::vector<BenchResult>> pictures = {
        {result_of(512, 0, many), result_of(0, 128, many)},
        {result_of(0, 1, {{"matmul q8_0 8x8", 128, 64, 1e-9, 1}})},
        {result_of(0, 1, {{"embed", 0, 64, 1e-3, 0.5}, {"swiglu", 1e12, 1, 1e-9, 0}, {"rope", 1, 1e12, 9, 0.5}})},
    };
    for (const auto& results : pictures) {
        const auto written = write_roofline(path, roofs_of(kAvx2Peaks), results);
        ASSERT_TRUE(written) << written.error().message;
        const std::string svg = read_whole(path);
        EXPECT_TRUE(svg.ends_with("</svg>\n"));
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
    }
    EXPECT_FALSE(write_roofline(path, roofs_of(kAvx2Peaks), {})) << "no result";
    const std::vector<BenchResult> nothing = {result_of(0, 1, {{"embed", 0, 64, 1e-3, 1}})};
    EXPECT_FALSE(write_roofline(path, roofs_of(kAvx2Peaks), nothing)) << "no arithmetic";
}

}  // namespace bench_roofline_test
}  // namespace riftjit::tools
