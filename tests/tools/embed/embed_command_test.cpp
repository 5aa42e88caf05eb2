// `riftjit embed`, as llama-embedding prints it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/program.h"
#include "tools/embed/embedding_output.h"

namespace riftjit::tools {
namespace embed_command_test {

using models::Pooling;
using testing::HasSubstr;
using testing::StartsWith;

std::string encoder(const std::string& name) {
    return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/encoders/" + name + ".gguf";
}

std::vector<std::vector<double>> numbers(const std::string& lines) {
    std::vector<std::vector<double>> rows;
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        rows.emplace_back(std::istream_iterator<double>(words), std::istream_iterator<double>());
    }
    return rows;
}

class EmbedCommand : public testing::Test {
protected:
    Outcome run(std::vector<std::string> more, const std::string& name = "bert_mean") {
        std::vector<std::string> words = {"embed", "-m", encoder(name), "-t", "1"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = program_.run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome;
    }
    Program program_;
};

TEST_F(EmbedCommand, PrintsTheSameVectorsInEveryForm) {
    const auto raw = numbers(run({"-p", "the city\\nmachine learning", "--embd-output-format", "raw"}).out);
    ASSERT_EQ(raw.size(), 2u);
    for (const auto& row : raw) {
        ASSERT_EQ(row.size(), 64u);
        double squares = 0;
        for (const double value : row) squares += value * value;
        EXPECT_NEAR(squares, 1, 1e-5);
    }
    const auto parsed = [&](const char* format) {
        return nlohmann::json::parse(run({"-p", "the city\\nmachine learning", "--embd-output-format", format}).out);
    };
    EXPECT_EQ(parsed("array").get<std::vector<std::vector<double>>>(), raw);
    const nlohmann::json object = parsed("json"), with_matrix = parsed("json+");
    EXPECT_EQ(object.at("object"), "list");
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(object.at("data")[i].at("index"), i);
        EXPECT_EQ(object.at("data")[i].at("embedding").get<std::vector<double>>(), raw[i]);
    }
    EXPECT_FALSE(object.contains("cosineSimilarity"));
    double cosine = 0;
    for (size_t d = 0; d < 64; ++d) cosine += raw[0][d] * raw[1][d];
    const nlohmann::json& matrix = with_matrix.at("cosineSimilarity");
    EXPECT_EQ(matrix[0][0], 1.0);
    EXPECT_NEAR(matrix[0][1].get<double>(), cosine, 0.0051);
    EXPECT_EQ(matrix[0][1], matrix[1][0]);
}

TEST_F(EmbedCommand, PrintsForReadingWhereNoFormIsNamed) {
    const std::string one = run({"-p", "the city"}).out;
    EXPECT_THAT(one, StartsWith("embedding 0: "));
    EXPECT_EQ(numbers(one.substr(13))[0].size(), 64u);
    const std::string two = run({"-p", "the city|word", "--embd-separator", "|"}).out;
    EXPECT_THAT(two, HasSubstr("\nembedding 1: "));
    EXPECT_THAT(two, HasSubstr("\ncosine similarity matrix:\n\nthe ci   word \n  1.00 "));
    const std::string tokens = run({"-p", "the city", "--pooling", "none"}).out;
    EXPECT_THAT(tokens, HasSubstr("embedding 3: "));  // of [CLS], two words and [SEP]
    EXPECT_THAT(tokens, HasSubstr(" ... "));
}

TEST_F(EmbedCommand, ReadsAFilesLinesAndScalesAsItIsTold) {
    const std::string file = testing::TempDir() + "riftjit-embed-texts-" + std::to_string(getpid());
    std::ofstream(file) << "the city\nword\n";
    const auto rows = numbers(run({"-f", file, "--embd-output-format", "raw", "--embd-normalize", "0"}).out);
    ASSERT_EQ(rows.size(), 2u);
    for (const auto& row : rows) {
        double largest = 0;
        for (const double value : row) {
            EXPECT_EQ(value, std::round(value));
            largest = std::max(largest, std::fabs(value));
        }
        EXPECT_EQ(largest, 32760);
    }
}

TEST_F(EmbedCommand, RanksADocumentBehindATab) {
    const std::string out = run({"-p", "which city\\tparis\\nwhich city\\tthe water"}, "xlm_roberta_rank").out;
    EXPECT_THAT(out,
                testing::MatchesRegex("rerank score 0: +-?[0-9]+\\.[0-9]{3}\nrerank score 1: +-?[0-9]+\\.[0-9]{3}\n"));
    const Outcome refused = program_.run({"embed", "-m", encoder("xlm_roberta_rank"), "-p", "a\\tb\\tc"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: text 1: 3 parts (--cls-separator), where a query and a document are expected\n");
}

TEST_F(EmbedCommand, SaysThatAnEncoderWritesNoText) {
    const Outcome outcome = program_.run({"run", "-m", encoder("bert"), "-p", "the"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error: " + encoder("bert") +
                               ": architecture bert is an encoder and writes no text; it makes vectors of texts "
                               "(riftjit embed)\n");
}

TEST_F(EmbedCommand, SaysThatGpusHaveNoKernelForEncoders) {
    const Outcome outcome = program_.run({"embed", "-m", encoder("bert"), "-p", "the", "--device", "emulate:gfx1100"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error: gfx1100: attention: no kernel for queries that see what follows them\n");
}

TEST(EmbeddingText, NamesTheScoresThatHaveNames) {
    const std::vector<engine::Embedding> scores = {{{0.25f, -3.0f}, 1, 5}};
    EmbeddingOutput output{
        .pooling = Pooling::rank, .texts = {"x"}, .labels = {"yes", "no"}, .embeddings = scores, .width = 2};
    EXPECT_EQ(embedding_text(output), "rerank score 0:    0.250 [yes]\nrerank score 0:   -3.000 [no]\n");
    output.labels.clear();
    EXPECT_EQ(embedding_text(output), "rerank score 0:    0.250 [0]\nrerank score 0:   -3.000 [1]\n");
}

}  // namespace embed_command_test
}  // namespace riftjit::tools
