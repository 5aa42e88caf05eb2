// Ids of the published Qwen3 tokenizer and of the storyteller's, as Hugging Face's tokenizers computes them.
#include <gtest/gtest.h>

#include <ctime>

#include "models/tokenizer/tokenizer.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace tokenizer_published_test {

using namespace test;

std::vector<std::pair<int32_t, size_t>> runs_of(const std::vector<int32_t>& ids) {
    std::vector<std::pair<int32_t, size_t>> runs;
    for (const int32_t id : ids) {
        if (runs.empty() || runs.back().first != id) runs.push_back({id, 0});
        ++runs.back().second;
    }
    return runs;
}

void expect_published_ids(const Tokenizer& tokenizer, const nlohmann::json& expected) {
    for (const auto& probe : expected["cases"]) {
        const auto text = probe["text"].get<std::string>();
        EXPECT_EQ(ids_of(tokenizer, text), probe["special"].get<std::vector<int32_t>>()) << probe["text"];
        EXPECT_EQ(ids_of(tokenizer, text, ParseSpecial::no), probe["plain"].get<std::vector<int32_t>>())
            << probe["text"];
    }
}

// One unit repeated: a megabyte each. The bound holds on a busy machine and with sanitizers; a quadratic merge loop
// would need an hour.
void expect_published_runs(const Tokenizer& tokenizer, const nlohmann::json& expected) {
    for (const auto& probe : expected["long"]) {
        std::string text;
        for (size_t i = 0; i < probe["count"].get<size_t>(); ++i) text += probe["unit"].get<std::string>();
        const std::clock_t start = std::clock();
        const std::vector<int32_t> ids = ids_of(tokenizer, text);
        EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10.0) << probe["unit"];
        EXPECT_EQ(runs_of(ids), (probe["runs"].get<std::vector<std::pair<int32_t, size_t>>>())) << probe["unit"];
    }
}

TEST(PublishedTokenizer, Qwen3) {
    const Tokenizer tokenizer = tokenizer_of(qwen3_vocabulary());
    const nlohmann::json expected = read_json("tests/data/tokenizers/probes.json")["qwen3"];
    ASSERT_GT(expected["cases"].size(), 450u);
    ASSERT_GE(expected["long"].size(), 6u);
    expect_published_ids(tokenizer, expected);
    expect_published_runs(tokenizer, expected);
    EXPECT_EQ(tokenizer.size(), 151669u);
    // <|endoftext|>, <|im_end|>, <|fim_pad|>, <|repo_name|>, <|file_sep|>; and </s>, which is a piece of HTML here.
    const std::vector<int32_t> end(tokenizer.end_of_generation().begin(), tokenizer.end_of_generation().end());
    EXPECT_EQ(end, (std::vector<int32_t>{128247, 151643, 151645, 151662, 151663, 151664}));
    EXPECT_FALSE(tokenizer.is_control(*tokenizer.find("<think>")));
    EXPECT_TRUE(tokenizer.is_control(*tokenizer.find("<|im_start|>")));
    EXPECT_TRUE(tokenizer.warnings().empty());
}

TEST(PublishedTokenizer, Storyteller) {
    const nlohmann::json expected = read_json("tests/data/tokenizers/probes.json")["storyteller"];
    ASSERT_GT(expected["cases"].size(), 450u);
    ASSERT_GE(expected["long"].size(), 6u);
    const auto file = Gguf::open(source_path("share/models/storyteller/storyteller-9m-q8_0.gguf"));
    ASSERT_TRUE(file.has_value()) << file.error().message;
    const auto shipped = Tokenizer::from_gguf(*file);
    ASSERT_TRUE(shipped.has_value()) << shipped.error().message;
    for (const Tokenizer& tokenizer : {*shipped, tokenizer_of(storyteller_vocabulary())}) {
        expect_published_ids(tokenizer, expected);
        expect_published_runs(tokenizer, expected);
    }
}

}  // namespace tokenizer_published_test
}  // namespace riftjit::models
