#include "tools/bench/bench_record.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/bench/bench_printer.h"

namespace riftjit::tools {
namespace bench_record_test {

BenchResult some_result() {
    BenchResult result{};
    result.test = {{"m.gguf", 2, 2048, 512, DType::F16, DType::Q8_0}, 100, 0, 0};
    result.model = {"m, \"x\".gguf", "llama 'x'", 3ull << 20, 1'500'000};
    result.processor = "a processor";
    result.isa = result.prompt_isa = "avx2";
    result.build = "01234567";
    result.build_number = 100;
    result.samples_ns = {1'000'000'000, 2'000'000'000, 4'000'000'000};
    result.logits_hash = "0123456789abcdef0123456789abcdef";
    result.bytes_per_token = 1e6;
    result.flops_per_token = 2e9;
    result.peak_read_bytes_per_second = 1e9;
    return result;
}

std::string print(BenchFormat format, const BenchOptions& options, int count) {
    char* text = nullptr;
    size_t size = 0;
    FILE* const file = open_memstream(&text, &size);
    const auto printer = make_printer(format, options, file);
    for (int i = 0; i < count; ++i) printer->print(some_result());
    printer->finish();
    std::fclose(file);
    const std::string printed(text, size);
    std::free(text);
    return printed;
}

TEST(BenchStatistics, AreThoseOfASample) {
    const Statistics odd = statistics({5, 1, 3});
    EXPECT_DOUBLE_EQ(odd.mean, 3);
    EXPECT_DOUBLE_EQ(odd.deviation, 2);  // sqrt((4 + 4 + 0) / 2)
    EXPECT_DOUBLE_EQ(odd.median, 3);
    EXPECT_DOUBLE_EQ(odd.least, 1);
    const Statistics even = statistics({4, 1, 2, 10});
    EXPECT_DOUBLE_EQ(even.median, 3);
    EXPECT_DOUBLE_EQ(statistics({7}).deviation, 0);
}

// The names that llama-bench writes (2026-10), in its order, then ours: readers look them up by name.
TEST(BenchRecord, HasEveryKeyOfLlamaBenchThenItsOwn) {
    const std::vector<std::string> theirs = {"build_commit",   "build_number",
                                             "cpu_info",       "gpu_info",
                                             "backends",       "model_filename",
                                             "model_type",     "model_size",
                                             "model_n_params", "n_batch",
                                             "n_ubatch",       "n_threads",
                                             "cpu_mask",       "cpu_strict",
                                             "poll",           "type_k",
                                             "type_v",         "n_gpu_layers",
                                             "n_cpu_moe",      "split_mode",
                                             "main_gpu",       "no_kv_offload",
                                             "flash_attn",     "devices",
                                             "tensor_split",   "tensor_buft_overrides",
                                             "load_mode",      "lazy_mode",
                                             "embeddings",     "no_op_offload",
                                             "no_host",        "repack",
                                             "fit_target",     "fit_min_ctx",
                                             "n_prompt",       "n_gen",
                                             "n_depth",        "test_time",
                                             "avg_ns",         "stddev_ns",
                                             "avg_ts",         "stddev_ts"};
    const nlohmann::ordered_json object = to_json(some_result());
    std::vector<std::string> keys;
    for (const auto& item : object.items()) keys.push_back(item.key());
    ASSERT_GT(keys.size(), theirs.size());
    EXPECT_EQ(std::vector<std::string>(keys.begin(), keys.begin() + theirs.size()), theirs);
    for (const char* ours :
         {"jit_compile_ns", "cache_hits", "cache_misses", "isa", "bytes_per_token", "pct_membw", "gflops", "median_ns",
          "min_ns", "logits_hash", "peak_rss_bytes", "ic_resident", "samples_ns", "samples_ts"})
        EXPECT_TRUE(object.contains(ours)) << ours;
}

TEST(BenchRecord, FiguresFollowFromTheSamples) {
    const nlohmann::ordered_json object = to_json(some_result());
    EXPECT_EQ(object["avg_ns"], 2'333'333'333u);
    EXPECT_EQ(object["median_ns"], 2'000'000'000u);
    EXPECT_EQ(object["min_ns"], 1'000'000'000u);
    EXPECT_DOUBLE_EQ(object["avg_ts"], (100.0 + 50 + 25) / 3);
    EXPECT_DOUBLE_EQ(object["pct_membw"], 5);  // 50 tokens/s of 1 MB each, of 1 GB/s
    EXPECT_DOUBLE_EQ(object["gflops"], 100);
}

TEST(BenchPrinter, MarkdownShowsWhatDiffersFromTheDefaultsAndAligns) {
    BenchOptions options;
    options.value_types = {DType::Q8_0};
    const std::string table = print(BenchFormat::md, options, 1);
    std::vector<std::string> lines;
    for (size_t begin = 0; begin < table.size(); begin = table.find('\n', begin) + 1)
        lines.push_back(table.substr(begin, table.find('\n', begin) - begin));
    ASSERT_EQ(lines.size(), 5u) << table;
    EXPECT_NE(lines[0].find("| type_v |"), std::string::npos);
    EXPECT_EQ(lines[0].find("type_k"), std::string::npos);
    EXPECT_EQ(lines[0].size(), lines[1].size());
    EXPECT_EQ(lines[2].size(), lines[0].size() + 1) << "the plus-minus sign has one byte more";
    EXPECT_NE(lines[2].find("58.33 ± 38.19 |"), std::string::npos) << lines[2];
    EXPECT_NE(lines[2].find("|   3.00 MiB |"), std::string::npos) << lines[2];
    EXPECT_NE(lines[2].find("|     1.50 M |"), std::string::npos) << lines[2];
    EXPECT_NE(lines[2].find("|           pp100 |"), std::string::npos) << lines[2];
    EXPECT_NE(lines[2].find("| 01234567 |"), std::string::npos) << lines[2];
    EXPECT_EQ(lines[4], "build: 01234567 (100), level avx2");
}

TEST(BenchPrinter, CsvQuotesAndHasOneHeader) {
    const std::string text = print(BenchFormat::csv, {}, 2);
    EXPECT_TRUE(text.starts_with("build_commit,build_number,")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
    EXPECT_NE(text.find("\"m, \"\"x\"\".gguf\""), std::string::npos) << text;
    EXPECT_EQ(text.find("samples"), std::string::npos);
}

TEST(BenchPrinter, SqlDoublesQuotes) {
    const std::string text = print(BenchFormat::sql, {}, 1);
    EXPECT_TRUE(text.starts_with("CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT,\n")) << text;
    EXPECT_NE(text.find("avg_ts REAL"), std::string::npos);
    EXPECT_NE(text.find("INSERT INTO llama_bench (build_commit, "), std::string::npos);
    EXPECT_NE(text.find("'llama ''x'''"), std::string::npos) << text;
}

TEST(BenchPrinter, JsonIsAnArrayOfAnyLength) {
    for (int count : {0, 1, 3}) {
        const auto array = nlohmann::json::parse(print(BenchFormat::json, {}, count));
        ASSERT_TRUE(array.is_array());
        EXPECT_EQ(array.size(), size_t(count));
    }
    const std::string lines = print(BenchFormat::jsonl, {}, 2);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
    EXPECT_EQ(nlohmann::json::parse(lines.substr(0, lines.find('\n')))["n_prompt"], 100);
}

}  // namespace bench_record_test
}  // namespace riftjit::tools
