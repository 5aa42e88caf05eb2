#include "tools/bench/bench_options.h"

#include <gtest/gtest.h>

namespace riftjit::tools {
namespace bench_options_test {

std::vector<uint32_t> list(const std::string& text) { return parse_list("-p", text, 0, 100'000); }

std::string refusal(const std::string& text, uint32_t low = 0) {
    try {
        parse_list("-p", text, low, 100'000);
    } catch (const CLI::ValidationError& error) {
        return error.what();
    }
    return "";
}

BenchOptions parse(std::vector<std::string> arguments) {
    CLI::App app;
    BenchOptions options;
    add_bench_options(app, options);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return options;
}

std::vector<std::string> names(const BenchOptions& options) {
    std::vector<std::string> names;
    for (const BenchTest& test : combinations(options)) names.push_back(test_name(test));
    return names;
}

TEST(BenchOptions, ListsMixNumbersAndRanges) {
    EXPECT_EQ(list("5"), std::vector<uint32_t>{5});
    EXPECT_EQ(list("1,2,4"), (std::vector<uint32_t>{1, 2, 4}));
    EXPECT_EQ(list("1-4"), (std::vector<uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(list("10-50+20"), (std::vector<uint32_t>{10, 30, 50}));
    EXPECT_EQ(list("128-1000*2"), (std::vector<uint32_t>{128, 256, 512}));
    EXPECT_EQ(list("7,8-9,100-200*2"), (std::vector<uint32_t>{7, 8, 9, 100, 200}));
}

TEST(BenchOptions, ListsThatAreNoneAreRefused) {
    EXPECT_EQ(refusal("abc"), "error while handling argument \"-p\": expected an integer, got \"abc\"");
    EXPECT_EQ(refusal(""), "error while handling argument \"-p\": expected an integer, got \"\"");
    EXPECT_EQ(refusal("1,,2"), "error while handling argument \"-p\": expected an integer, got \"\"");
    EXPECT_EQ(refusal("1-"), "error while handling argument \"-p\": expected an integer, got \"\"");
    EXPECT_EQ(refusal("-1"),
              "error while handling argument \"-p\": -1 is out of range, expected an integer from 0 to 100000");
    EXPECT_EQ(refusal("9-3"), "error while handling argument \"-p\": 9-3: the range ends before it begins");
    EXPECT_EQ(refusal("0-8*2"), "error while handling argument \"-p\": 0-8*2: a product from 0 never grows");
    EXPECT_NE(refusal("1-8*1"), "");
    EXPECT_NE(refusal("1-8+0"), "");
    EXPECT_NE(refusal("0", 1), "");
    EXPECT_NE(refusal("200000"), "");
}

TEST(BenchOptions, DefaultsAreThoseOfLlamaBench) {
    EXPECT_EQ(names({}), (std::vector<std::string>{"pp512", "tg128"}));
    const BenchTest test = combinations({}).front();
    EXPECT_EQ(test.setup.batch, 2048u);
    EXPECT_EQ(test.setup.ubatch, 512u);
    EXPECT_EQ(test.setup.type_k, DType::F16);
    EXPECT_EQ(BenchOptions{}.repetitions, 5u);
}

TEST(BenchOptions, EveryCombinationRunsGroupedBySetup) {
    const BenchOptions options = parse(
        {"-p", "16,0", "-n", "8", "--prompt-generate", "4,2", "-d", "0,64", "-t", "1,2", "--cache-type-k", "f32"});
    const std::vector<std::string> one = {"pp16", "tg8", "pp4+tg2", "pp16 @ d64", "tg8 @ d64", "pp4+tg2 @ d64"};
    std::vector<std::string> expected = one;
    expected.insert(expected.end(), one.begin(), one.end());
    EXPECT_EQ(names(options), expected);
    const auto tests = combinations(options);
    EXPECT_EQ(tests[0].setup.threads, 1u);
    EXPECT_EQ(tests[6].setup.threads, 2u);
    EXPECT_EQ(tests[0].setup.type_k, DType::F32);
    EXPECT_EQ(tests[0].setup, tests[5].setup);
}

TEST(BenchOptions, RepeatedListsAppendAndTheFirstReplacesTheDefault) {
    const BenchOptions options = parse({"-p", "1", "-p", "2,3", "-m", "a.gguf", "-m", "b.gguf,c.gguf"});
    EXPECT_EQ(options.prompts, (std::vector<uint32_t>{1, 2, 3}));
    EXPECT_EQ(options.models, (std::vector<std::string>{"a.gguf", "b.gguf", "c.gguf"}));
}

}  // namespace bench_options_test
}  // namespace riftjit::tools
