// Prompts and templates that are far too long, models that promise too much, and settings that nobody knows: told in a
// line, before memory and time are spent.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/models/gguf/gguf_builder.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace hostile_prompts_test {

using Words = std::vector<std::string>;
using namespace models::test;

class HostilePrompts : public testing::Test {
protected:
    std::string path(const std::string& name) const { return program.folder() / name; }
    std::string write(const std::string& name, std::string_view text) const {
        std::ofstream(path(name), std::ios::binary) << text;
        return path(name);
    }
    // The shipped model with another context length, of which nothing else changes.
    std::string model_of_context(uint32_t length) const {
        const std::filesystem::path shipped =
            std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller/storyteller-9m-q8_0.gguf";
        std::string bytes = read_whole(shipped);
        const std::string key = "context_length";
        const size_t at = bytes.find(key) + key.size() + sizeof(uint32_t);  // behind the type
        std::memcpy(bytes.data() + at, &length, sizeof length);
        return write("m.gguf", bytes);
    }
    // In an address space that holds the program and the model, and no more than the limits promise beside them.
    Outcome run_small(const Words& words, const std::string& input = "") {
        if (kSanitizerSlowdown > 1) return program.run(words, input);
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        const rlimit limit{500'000'000, before.rlim_max};
        setrlimit(RLIMIT_AS, &limit);
        Outcome outcome = program.run(words, input);
        setrlimit(RLIMIT_AS, &before);
        return outcome;
    }
    Program program;
};

std::string repeated(std::string_view text, size_t count) {
    std::string all;
    while (count-- > 0) all += text;
    return all;
}

TEST_F(HostilePrompts, OfTemplatesEndAtWhatTheContextHolds) {
    for (const std::string source :
         {"{{ '\u2060' * 10000000 }}", "{% for i in range(90000) %}{{ 'abcdefghij' * 10 }}{% endfor %}",
          "{{ (['ab'] * 1000000) | join('cd') }}", "{% set x = 'a' * 2000000 %}{{ x }}{{ x }}",
          "{% macro f(n) %}{{ 'a' * 1000 }}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(10) }}",
          "{% for a in range(300) %}{% for b in range(300) %}{{ 'x' * 100 }}{% endfor %}{% endfor %}"}) {
        const Outcome outcome = run_small({"run", "-p", "hi", "-n", "1", "--chat-template", source});
        EXPECT_EQ(outcome.exit_code, 1) << source;
        EXPECT_TRUE(outcome.err.contains(" bytes by now, more than the 1048576 that fit")) << source << outcome.err;
        EXPECT_LT(outcome.cpu_seconds, 2 * kSanitizerSlowdown) << source;
    }
}

TEST_F(HostilePrompts, AreMeasuredBeforeTheyAreRead) {
    const std::string marks = write("marks", "e" + repeated("\u0301", 15'000'000));
    for (const Words& how : {Words{"-f", marks}, {"-no-cnv", "-f", marks}, {"-p", "hi", "-sysf", marks}}) {
        Words words = {"run", "-n", "1"};
        words.insert(words.end(), how.begin(), how.end());
        const Outcome outcome = run_small(words);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_TRUE(
            outcome.err.contains("error: the prompt has 30000001 bytes, the 2048 tokens of the context (-c) hold "
                                 "1048576 at most; context_length_exceeded\n") ||
            outcome.err.contains("error: the prompt has 30000003 bytes"))
            << outcome.err;
        EXPECT_LT(outcome.cpu_seconds, 2 * kSanitizerSlowdown);
    }
    const Outcome piped = run_small({"run", "-no-cnv", "-n", "1"}, repeated("a", 2'000'000));
    EXPECT_TRUE(piped.err.contains("the prompt has 2000000 bytes")) << piped.err;
}

TEST_F(HostilePrompts, OfOneWordAreMergedUpToALimit) {
    const Outcome outcome = run_small({"tokenize", "--stdin", "--show-count"}, repeated("a", 5'000'000));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error: the text has a word of 5000000 bytes, more than the 4194304 that are merged\n");
    EXPECT_EQ(run_small({"tokenize", "--stdin", "--ids"}, repeated("word ", 1'000'000)).exit_code, 0);
}

TEST_F(HostilePrompts, ForAContextThatNoMachineHolds) {
    const std::string model = model_of_context(2147483647);
    for (const Words& context : {Words{}, {"-c", "0"}}) {
        Words words = {"run", "-m", model, "-p", "hi", "-n", "1"};
        words.insert(words.end(), context.begin(), context.end());
        const Outcome outcome = run_small(words);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_TRUE(outcome.err.contains("2147483647 positions")) << outcome.err;
        EXPECT_TRUE(outcome.err.contains("context_length")) << outcome.err;
        EXPECT_TRUE(outcome.err.contains("-c")) << outcome.err;
        EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    }
    EXPECT_EQ(program.run({"run", "-m", model, "-p", "hi", "-n", "1", "-c", "256"}).exit_code, 0);
}

TEST_F(HostilePrompts, CannotAskForACacheThatIsNotKnown) {
    const auto with = [&](const char* mode, const Words& words) {
        setenv("RIFTJIT_CACHE", mode, 1);
        Outcome outcome = program.run(words);
        unsetenv("RIFTJIT_CACHE");
        return outcome;
    };
    const Words run = {"run", "--prompt-ids", "1", "-n", "1", "--json"};
    const auto hits = [](const Outcome& outcome) {
        return nlohmann::json::parse(outcome.out)["cache"]["hits"].get<int>();
    };
    EXPECT_EQ(with("require", run).exit_code, 4);
    EXPECT_EQ(with("off", run).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("cache")));
    EXPECT_EQ(with("ro", run).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("cache")));
    EXPECT_EQ(hits(with("rw", run)), 0);
    EXPECT_GT(hits(with("", run)), 0);
    EXPECT_GT(hits(with("require", run)), 0);
    EXPECT_EQ(hits(with("off", run)), 0);
    Words overruled = run;
    overruled.insert(overruled.end(), {"--cache-mode", "ro"});
    EXPECT_GT(hits(with("off", overruled)), 0);
    for (const Words& words : {run, {"bench", "-p", "1", "-n", "0"}, {"sim", "--neurons", "1000"}, {"warm"}}) {
        const Outcome outcome = with("sometimes", words);
        EXPECT_EQ(outcome.exit_code, 1) << words[0];
        EXPECT_EQ(outcome.err,
                  "error: RIFTJIT_CACHE: \"sometimes\" is not known, expected one of rw, ro, off, require\n");
    }
    EXPECT_EQ(with("off", {"warm"}).err, "error: RIFTJIT_CACHE=off: warm fills the cache, which takes rw\n");
    EXPECT_EQ(with("sometimes", {"targets"}).exit_code, 0);  // has no cache
}

TEST_F(HostilePrompts, ArePlannedAsJsonWhereThatIsAsked) {
    for (const Words& more : {Words{}, {"--target", "gfx1100"}}) {
        Words words = {"run", "--print-plan", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        const auto plans = nlohmann::json::parse(program.run(words).out);
        for (const char* plan : {"decode", "prompt"}) {
            const auto& first = plans[plan]["launches"].at(0);
            EXPECT_EQ(first["name"], "token_embd");
            EXPECT_TRUE(first["kernel"].get<std::string>().starts_with("embed q8_0"));
            EXPECT_EQ(first["arguments"].size(), 3u);
        }
    }
    EXPECT_EQ(program.run({"run", "--dump-isa", "swiglu", "--json"}).err, "error: --json: --dump-isa prints text\n");
    EXPECT_TRUE(nlohmann::json::accept(program.run({"run", "--list-devices", "--json"}).out));
}

TEST_F(HostilePrompts, ForModelsThatLackSomethingOrHaveTooMuch) {
    GgufBuilder model = tiny_model("llama");
    model.add_f32("extra.weight", {32}, std::vector<float>(32, 1.0F));
    const std::string file = write("extra.gguf", model.bytes());
    const Outcome extra = program.run({"run", "-m", file, "--prompt-ids", "1", "-n", "1", "--no-perf"});
    EXPECT_EQ(extra.exit_code, 0) << extra.err;
    EXPECT_TRUE(extra.err.contains("note: a tensor of the file is not used: extra.weight\n")) << extra.err;
    EXPECT_TRUE(program.run({"inspect", file}).out.contains("Ignored tensors (1)\n  extra.weight\n"));
    model.erase("tokenizer.ggml.bos_token_id").erase("tokenizer.ggml.add_bos_token");
    const std::string other = write("no-bos.gguf", model.bytes());
    const Outcome inspected = program.run({"inspect", other});
    EXPECT_TRUE(inspected.out.contains("  bos: none\n")) << inspected.out << inspected.err;
    EXPECT_TRUE(nlohmann::json::parse(program.run({"inspect", other, "--json"}).out)["bos"].is_null());
    const std::string bytes = model.bytes();
    const Outcome cut = program.run({"inspect", write("cut.gguf", bytes.substr(0, bytes.size() - 100))});
    EXPECT_TRUE(cut.err.contains(std::to_string(bytes.size() - 100) + " of the " + std::to_string(bytes.size()) +
                                 " bytes that its index tells of; if it was cut off, download it again"))
        << cut.err;
    EXPECT_TRUE(program.run({"inspect", write("head.gguf", bytes.substr(0, 1000))}).err.contains("download it again"));
}

}  // namespace hostile_prompts_test
}  // namespace riftjit::tools
