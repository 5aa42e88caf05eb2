// `riftjit imatrix` as a user calls it; what it sums is tested in tests/engine/importance_collector_test.cpp.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/quantize/importance.h"
#include "tests/host/scratch.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace imatrix_command_test {

using models::ImportanceMatrix;

const std::string kData = RIFTJIT_SOURCE_DIR "/tests/data/";
const std::string kText = kData + "perplexity/stories.txt";

class ImatrixCommand : public testing::Test {
protected:
    Outcome imatrix(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "imatrix");
        return program_.run(arguments);
    }
    std::string path(const std::string& name) const { return (program_.folder() / name).string(); }
    Program program_;
};

// The sums are of the same rows but for the noise of activations, of which llama.cpp's have 8 bits.
void expect_alike(const ImportanceMatrix& ours, const ImportanceMatrix& peers) {
    ASSERT_EQ(ours.entries.size(), peers.entries.size());
    for (const auto& [name, entry] : peers.entries) {
        ASSERT_TRUE(ours.entries.contains(name)) << name;
        const models::ImportanceEntry& mine = ours.entries.at(name);
        ASSERT_EQ(mine.sums.size(), entry.sums.size()) << name;
        ASSERT_EQ(mine.counts.size(), entry.counts.size()) << name;
        double products = 0, squares = 0, peer_squares = 0;
        for (size_t i = 0; i < entry.sums.size(); ++i) {
            products += double(mine.sums[i]) * double(entry.sums[i]);
            squares += double(mine.sums[i]) * double(mine.sums[i]);
            peer_squares += double(entry.sums[i]) * double(entry.sums[i]);
        }
        EXPECT_GT(products / std::sqrt(squares * peer_squares), 0.999) << name;
        EXPECT_NEAR(std::sqrt(squares / peer_squares), 1, 0.02) << name;
    }
}

TEST_F(ImatrixCommand, MeasuresWhatThePeerMeasures) {
    const Outcome outcome = imatrix({"-f", kText, "-c", "128", "--chunks", "3", "-o", path("st.gguf")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(matches(outcome.out,
                        "^\\[1\\][0-9.]+,\\[2\\][0-9.]+,\\[3\\][0-9.]+,\nFinal estimate: PPL = [0-9.]+ \\+/- "
                        "[0-9.]+\n.*st.gguf: 56 matrices, 3 chunks\n$"));
    const auto ours = ImportanceMatrix::open(path("st.gguf")),
               peers = ImportanceMatrix::open(kData + "quantize/storyteller.imatrix.gguf");
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(peers) << peers.error().message;
    expect_alike(*ours, *peers);
    for (const auto& [name, entry] : peers->entries) EXPECT_EQ(ours->entries.at(name).counts, entry.counts) << name;
    EXPECT_EQ(ours->chunk_count, peers->chunk_count);
    EXPECT_EQ(ours->chunk_size, peers->chunk_size);
    EXPECT_EQ(ours->datasets, std::vector<std::string>{kText});
}

TEST_F(ImatrixCommand, MeasuresExpertsAsThePeerDoes) {
    const std::string model = kData + "families/qwen3moe.gguf";
    ASSERT_EQ(
        imatrix({"-m", model, "-f", kText, "-c", "64", "--chunks", "4", "-o", path("moe.gguf"), "--no-ppl"}).exit_code,
        0);
    const auto ours = ImportanceMatrix::open(path("moe.gguf")),
               peers = ImportanceMatrix::open(kData + "quantize/qwen3moe.imatrix.gguf");
    ASSERT_TRUE(ours && peers);
    expect_alike(*ours, *peers);
    for (const auto& [name, entry] : peers->entries) {
        float rows = 0, peer_rows = 0;
        const std::vector<float>& counts = ours->entries.at(name).counts;
        for (size_t i = 0; i < counts.size(); ++i) {
            rows += counts[i];
            peer_rows += entry.counts[i];
            EXPECT_NEAR(counts[i], entry.counts[i], 3) << name;  // a choice between equals may fall otherwise
        }
        EXPECT_EQ(rows, peer_rows) << name;
    }
}

TEST_F(ImatrixCommand, AddsEarlierFiles) {
    const std::vector<std::string> common = {"-m", kData + "nano/nano-q8_0.gguf", "-f", kText, "-c", "64", "--no-ppl"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        return imatrix(more).exit_code;
    };
    ASSERT_EQ(with({"--chunks", "2", "-o", path("a.gguf")}), 0);
    ASSERT_EQ(with({"--chunks", "3", "--from-chunk", "2", "-o", path("b.gguf"), "--output-frequency", "1"}), 0);
    ASSERT_EQ(with({"--chunks", "5", "-o", path("all.gguf")}), 0);
    ASSERT_EQ(imatrix({"--in-file", path("a.gguf"), "--in-file", path("b.gguf"), "-o", path("sum.gguf")}).exit_code, 0);
    ASSERT_EQ(with({"--chunks", "3", "--from-chunk", "2", "-o", path("on.gguf"), "--in-file", path("a.gguf")}), 0);
    const auto all = ImportanceMatrix::open(path("all.gguf"));
    ASSERT_TRUE(all);
    for (const char* name : {"sum.gguf", "on.gguf"}) {
        const auto sum = ImportanceMatrix::open(path(name));
        ASSERT_TRUE(sum);
        EXPECT_EQ(sum->chunk_count, 5u);
        EXPECT_EQ(sum->datasets.size(), 2u);
        for (const auto& [matrix, entry] : all->entries) {
            EXPECT_EQ(sum->entries.at(matrix).counts, entry.counts) << matrix;
            for (size_t i = 0; i < entry.sums.size(); ++i)
                ASSERT_NEAR(sum->entries.at(matrix).sums[i], entry.sums[i], 1e-5 * entry.sums[i]) << matrix;
        }
    }
    // And quantize takes it.
    EXPECT_EQ(
        program_
            .run({"quantize", kData + "nano/nano-f32.gguf", path("q.gguf"), "Q4_K_M", "--imatrix", path("sum.gguf")})
            .exit_code,
        0);
}

TEST_F(ImatrixCommand, CountsTheOutputWhenTold) {
    const std::vector<std::string> common = {
        "-m", kData + "families/mixtral.gguf", "-f", kText, "-c", "64", "--chunks", "2", "--json"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        const Outcome outcome = imatrix(more);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    };
    const auto without = with({"-o", path("a.gguf")}), all = with({"-o", path("b.gguf"), "--process-output"});
    EXPECT_EQ(all["matrices"], without["matrices"].get<int>() + 1);
    EXPECT_EQ(all["ppl"], without["ppl"]);
    EXPECT_EQ(ImportanceMatrix::open(path("b.gguf"))->entries.at("output.weight").counts, std::vector<float>{128});
}

TEST_F(ImatrixCommand, RefusesWhatCannotBe) {
    std::ofstream(path("there.gguf")) << "precious";
    std::ofstream(path("short.txt")) << "Too short.";
    struct Refused {
        std::vector<std::string> arguments;
        std::string message;
    };
    const std::vector<Refused> cases = {
        {{}, "no text: give -f FILE, or --in-file"},
        {{"-f", kText, "-o", path("there.gguf")}, "exists; --force overwrites it"},
        {{"-f", path("short.txt")}, "at least 1024 are needed for windows of 512 (-c)"},
        {{"-f", path("absent.txt")}, "No such file or directory"},
        {{"-f", kText, "--from-chunk", "100"}, "--from-chunk 100: the text has 1495 tokens, 2 chunks"},
        {{"--in-file", path("there.gguf")}, "there.gguf"},
        {{"--in-file", kData + "nano/nano-f32.gguf"}, "is no importance matrix"},
        {{"--in-file", kData + "quantize/qwen3moe.imatrix.gguf", "--in-file",
          kData + "quantize/storyteller.imatrix.gguf"},
         "values of 1 matrices, expected"},
    };
    for (auto [arguments, message] : cases) {
        if (std::ranges::find(arguments, "-o") == arguments.end())
            arguments.insert(arguments.end(), {"-o", path("out.gguf")});
        const Outcome outcome = imatrix(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << message;
        EXPECT_EQ(outcome.out, "") << message;
        EXPECT_TRUE(has_text(outcome.err, message)) << message << ": " << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(path("out.gguf"))) << message;
    }
}

}  // namespace imatrix_command_test
}  // namespace riftjit::tools
