#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace bench_command_test {

const std::string kStoryteller = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-q8_0.gguf";

TEST(BenchCommand, MeasuresEveryCombinationWithEqualHashesAtAnyThreadCount) {
    Program program;
    const Outcome outcome =
        program.run({"bench", "-m", kStoryteller, "-p", "9", "-n", "3", "-t", "1,2", "-r", "2", "-o", "json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto records = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(records.size(), 4u);
    for (const auto& record : records) {
        EXPECT_EQ(record["samples_ns"].size(), 2u);
        EXPECT_GT(record["avg_ts"], 0);
        EXPECT_EQ(record["model_size"], 9495552);  // bytes of its tensors
    }
    EXPECT_EQ(records[0]["logits_hash"], records[2]["logits_hash"]) << "pp9, one and two threads";
    EXPECT_EQ(records[1]["logits_hash"], records[3]["logits_hash"]) << "tg3";
    EXPECT_NE(records[0]["logits_hash"], records[1]["logits_hash"]);
    EXPECT_GT(records[0]["cache_misses"], 0) << "the first session compiles";
    EXPECT_EQ(records[2]["cache_misses"], 0) << "the second finds the kernels on disk";
}

// Reading in pieces (-ub), and from a cache that was filled before (-d), computes the same.
TEST(BenchCommand, DepthAndBatchesDoNotChangeLogits) {
    Program program;
    const Outcome whole = program.run({"bench", "-m", kStoryteller, "-p", "48", "-n", "0", "-r", "1", "-o", "jsonl"});
    const Outcome pieces = program.run({"bench", "-m", kStoryteller, "-p", "16", "-d", "32", "-n", "0", "-r", "2",
                                        "-ub", "7", "-b", "20", "-o", "jsonl"});
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    ASSERT_EQ(pieces.exit_code, 0) << pieces.err;
    EXPECT_EQ(nlohmann::json::parse(whole.out)["logits_hash"], nlohmann::json::parse(pieces.out)["logits_hash"]);
}

// At every depth, whatever the cache's size is rounded to: the weights, and each position's keys and values.
TEST(BenchCommand, CountsTheBytesThatATokenReads) {
    constexpr double kLayers = 8, kHeads = 2, kHeadDim = 128, kHalf = 2;
    constexpr double kPerPosition = kLayers * kHeads * kHeadDim * 2 * kHalf;
    Program program;
    const Outcome outcome =
        program.run({"bench", "-m", kStoryteller, "-p", "0", "-n", "1", "-d", "0,9,300", "-r", "1", "-o", "json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto records = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(records.size(), 3u);
    const double first = records[0]["bytes_per_token"];
    EXPECT_EQ(records[1]["bytes_per_token"].get<double>() - first, 9 * kPerPosition);
    EXPECT_EQ(records[2]["bytes_per_token"].get<double>() - first, 300 * kPerPosition);
}

// One launch of every step a run of the plan; the hash is that of a test without times, and so is the next test's.
TEST(BenchCommand, TellsWhereTheTimeOfATestGoes) {
    Program program;
    const std::vector<std::string> test = {"bench", "-m", kStoryteller, "-p", "40", "-n", "3", "-t", "2", "-r", "1"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), test.begin(), test.end());
        return program.run(more);
    };
    const Outcome plain = with({"-o", "json"}), timed = with({"--profile", "-o", "json"});
    ASSERT_EQ(timed.exit_code, 0) << timed.err;
    const auto expected = nlohmann::json::parse(plain.out), records = nlohmann::json::parse(timed.out);
    ASSERT_EQ(records.size(), 2u);
    for (size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i]["logits_hash"], expected[i]["logits_hash"]);
        EXPECT_FALSE(expected[i].contains("profile"));
        double before = INFINITY, seconds = 0;
        std::set<std::string> ops;
        for (const auto& kernel : records[i]["profile"]) {
            const auto threads = kernel["thread_seconds"].get<std::vector<double>>();
            ASSERT_EQ(threads.size(), 2u);
            EXPECT_LE(threads[0] + threads[1], before) << "the longest first";
            before = threads[0] + threads[1];
            seconds += before + kernel["waiting_seconds"].get<double>();
            EXPECT_TRUE(ops.insert(kernel["op"]).second);
        }
        EXPECT_TRUE(std::ranges::any_of(ops, [](const std::string& op) { return op.starts_with("matmul q8_0"); }));
        // No more than what two threads have while the run lasts, which is another run than the timed one.
        EXPECT_GT(seconds, 0);
        EXPECT_LT(seconds, 100 * 2e-9 * records[i]["avg_ns"].get<double>());
    }
    const Outcome table = with({"--profile"});
    EXPECT_NE(table.out.find("\npp40, one more run: "), std::string::npos) << table.out;
    EXPECT_NE(table.out.find("\n| matmul q8_0 "), std::string::npos) << table.out;
}

TEST(BenchCommand, RefusesFlagsThatDoNothingTogether) {
    Program program;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--json"}, "--json goes with --peaks; tests are printed as JSON by -o json"},
        {{"--peaks", "--profile"}, "--peaks measures the processor and --profile a model; give one"},
        {{"--peaks", "-m", "x.gguf"}, "--peaks measures the processor: it reads no model, and -m does not go with it"},
        {{"--profile", "-o", "csv"}, "--profile is printed by -o md, json and jsonl; csv and sql have no place for it"},
        {{"--profile", "-o", "none", "--output-err", "sql"},
         "--profile is printed by -o md, json and jsonl; csv and sql have no place for it"},
        {{"--force"}, "--force: neither --plot nor --roofline names a file to draw"},
        {{"--plot", "p.svg", "--peaks"}, "--plot draws tests, and --peaks runs none; give one"},
        {{"--plot", "p.svg", "-t", "2,2"}, "--plot draws speed over threads: -t with two numbers or more"},
        {{"--plot", "p.svg", "-t", "1,2", "-p", "0", "-n", "0"}, "--plot: -p and -n of 0 leave no test to draw"},
        {{"--plot", "p.gif", "-t", "1,2"}, "p.gif: its ending names no kind of picture; .png and .svg do"},
        {{"--plot", "/no-folder/p.svg", "-t", "1,2"}, "--plot: there is no folder /no-folder"},
        {{"--plot", ""}, "expected a name, got \"\""},
        {{"--roofline", "r.svg", "--peaks"}, "--roofline draws tests, and --peaks runs none; give one"},
        {{"--roofline", "r.svg", "--plot", "p.svg", "-t", "1,2"},
         "--plot draws several numbers of threads and --roofline one; give one"},
        {{"--roofline", "r.svg", "-t", "1,2"}, "--roofline draws one setup: give one model, and one value of each"},
        {{"--roofline", "r.svg", "-m", "a.gguf,b.gguf"}, "--roofline draws one setup: give one model"},
        {{"--roofline", "r.svg", "-p", "0", "-n", "0"}, "--roofline: -p and -n of 0 leave no test to draw"},
        {{"--roofline", "r.pdf"}, "r.pdf: its ending names no kind of picture; .png and .svg do"},
        {{"--roofline", "/no-folder/r.svg"}, "--roofline: there is no folder /no-folder"},
    };
    for (const auto& [flags, message] : cases) {
        std::vector<std::string> arguments = {"bench"};
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << message;
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
}

TEST(BenchCommand, DrawsSpeedOverThreads) {
    Program program;
    const std::string picture = program.folder() / "speed.svg";
    const std::vector<std::string> arguments = {"bench", "-m",  kStoryteller, "-p", "5",      "-n",   "2",
                                                "-t",    "1,2", "-r",         "1",  "--plot", picture};
    const Outcome outcome = program.run(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 8) << "the table as ever: " << outcome.out;
    const std::string svg = read_whole(picture);
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    const Outcome refused = program.run(arguments);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: --plot: " + picture + " exists; --force overwrites it\n");
    EXPECT_EQ(read_whole(picture), svg);
    std::vector<std::string> forced = arguments;
    forced.push_back("--force");
    EXPECT_EQ(program.run(forced).exit_code, 0);
}

// Peaks of this processor are measured if none are kept; those of other threads than the kept ones stay unkept.
TEST(BenchCommand, DrawsKernelsBelowTheRoofs) {
    Program program;
    const std::string picture = program.folder() / "roof.svg";
    const std::filesystem::path peaks = program.folder() / "cache" / "peaks.json";
    const auto run = [&](std::vector<std::string> more) {
        const std::vector<std::string> test = {"bench", "-m", kStoryteller, "-p",         "9",    "-n",
                                               "2",     "-r", "1",          "--roofline", picture};
        more.insert(more.begin(), test.begin(), test.end());
        return program.run(more);
    };
    const Outcome unkept = run({"-t", "1", "--cache-mode", "ro"});
    ASSERT_EQ(unkept.exit_code, 0) << unkept.err;
    EXPECT_FALSE(std::filesystem::exists(peaks)) << "a cache that may only be read";
    const Outcome refused = run({"-t", "2"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: --roofline: " + picture + " exists; --force overwrites it\n");
    const Outcome outcome = run({"-t", "2", "--force"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 6) << "the table as ever: " << outcome.out;
    EXPECT_TRUE(read_whole(picture).ends_with("</svg>\n"));
    const std::string kept = read_whole(peaks);
    EXPECT_EQ(nlohmann::json::parse(kept)["threads"], 2);
    EXPECT_EQ(run({"-t", "1", "--force", "-o", "none"}).exit_code, 0);
    EXPECT_EQ(read_whole(peaks), kept);
    std::ofstream(peaks) << R"({"isa": 1, "threads": {}, "processor": ["x"], "read_gb_per_s": 3})";
    EXPECT_EQ(run({"-t", "2", "--force", "-o", "none"}).exit_code, 0);
    EXPECT_EQ(nlohmann::json::parse(read_whole(peaks))["threads"], 2) << "what is no measurement is replaced";
}

TEST(BenchCommand, OneFailedModelDoesNotStopTheOthers) {
    Program program;
    const Outcome outcome = program.run(
        {"bench", "-m", "/nonexistent.gguf", "-m", kStoryteller, "-p", "4", "-n", "0", "-r", "1", "-o", "json"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("error: pp4: /nonexistent.gguf"), std::string::npos) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out).size(), 1u);
}

TEST(BenchCommand, BadOptionsAreRefusedBeforeAnythingIsPrinted) {
    Program program;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"bench", "-p", "abc"}, "expected an integer, got \"abc\""},
        {{"bench", "-m", "a.gguf,"}, "expected a name, got \"\""},
        {{"bench", "-r", "0"}, "0 is out of range, expected an integer from 1 to 10000"},
        {{"bench", "-t", "0"}, "0 is out of range"},
        {{"bench", "-pg", "4"}, "expected P,N, got \"4\""},
        {{"bench", "-ctk", "q4_k"},
         "\"q4_k\" is not known, expected one of f16, f32, q8_0, bf16, q4_0, q4_1, q5_0, q5_1, iq4_nl, rq4"},
        {{"bench", "-o", "xml"}, "\"xml\" is not known, expected md, csv, json, jsonl, sql or none"},
        {{"bench", "--max-isa", "sse9"}, "\"sse9\" is not known, expected one of avx2"},
        {{"bench", "-fa", "0"}, "\"0\": only on, 1 and auto: attention is always fused"},
    };
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << arguments[1];
        EXPECT_EQ(outcome.out, "") << arguments[1];
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
}

TEST(BenchCommand, PeaksAreMeasuredPrintedAndKept) {
    Program program;
    const Outcome outcome = program.run({"bench", "--peaks", "--json", "-t", "1", "--max-isa", "avx2"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto printed = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(printed["isa"], "avx2");
    EXPECT_EQ(printed["threads"], 1);
    for (const char* peak : {"read_gb_per_s", "f32_fma_gflops", "i16_dot_gops", "i8_dot_gops"})
        EXPECT_GT(printed[peak]["one_thread"], 0) << peak;
    EXPECT_EQ(nlohmann::json::parse(read_whole(program.folder() / "cache" / "peaks.json")), printed);
}

}  // namespace bench_command_test
}  // namespace riftjit::tools
