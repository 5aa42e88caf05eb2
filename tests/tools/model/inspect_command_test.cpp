#include "tools/model/inspect_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/gguf/gguf_builder.h"
#include "tests/tools/command_in_process.h"

namespace riftjit::tools {
namespace inspect_command_test {

using namespace models::test;

// `riftjit inspect ...` in this process.
CommandOutcome inspect_command(const std::vector<std::string>& arguments) {
    return run_in_process(add_inspect_command, "inspect", arguments);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kStoryteller = RIFTJIT_SOURCE_DIR "/share/models/storyteller/storyteller-9m-q4_k_m.gguf";

TEST(InspectCommand, ShowsHyperparametersMetadataTensorsAndTotals) {
    const CommandOutcome outcome = inspect_command({kStoryteller});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    for (const char* line :
         {"90 tensors, 8919296 parameters", "\n  layers           8\n", "\n  head_dim         128\n",
          "tokenizer.ggml.tokens                      array   4096 x string: \"!\" \"\"\" \"#\" ",
          "token_embd.weight                    q6_k     [256, 4096]                860160 bytes\n",
          "norm_epsilon     1e-06\n", "\n  kind              BPE\n", "\n  pretokenizer      qwen2\n"})
        EXPECT_TRUE(has(outcome.output, line)) << line << " is not in\n" << outcome.output.substr(0, 4000);
}

TEST(InspectCommand, PrintsTheSameAsJson) {
    const CommandOutcome outcome = inspect_command({"--json", "-m", kStoryteller});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(json["file"], kStoryteller);
    EXPECT_EQ(json["version"], 3);
    EXPECT_EQ(json["bytes"], std::filesystem::file_size(kStoryteller));
    EXPECT_EQ(json["hyperparameters"]["architecture"], "qwen3");
    EXPECT_EQ(json["hyperparameters"]["kv_heads"], 2);
    EXPECT_EQ(json["tokenizer"]["kind"], "BPE");
    EXPECT_EQ(json["tokenizer"]["tokens"], 4096);
    EXPECT_EQ(json["tokenizer"]["adds_begin"], false);
    EXPECT_EQ(json["metadata"].size(), 29u);
    EXPECT_EQ(json["tensors"].size(), 90u);
    uint64_t bytes = 0, of_types = 0;
    for (const auto& tensor : json["tensors"]) bytes += tensor["bytes"].get<uint64_t>();
    for (const auto& type : json["types"]) of_types += type["bytes"].get<uint64_t>();
    EXPECT_EQ(bytes, of_types);
    EXPECT_FALSE(json.contains("findings"));  // nobody asked for them
}

TEST(InspectCommand, RefusesABadFileOnStderrOnly) {
    GgufBuilder builder = tiny_model();
    builder.set("llama.attention.head_count", u32(0));
    const MemoryFile file(builder.bytes());
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--json"}, {"--check-tensors"}}) {
        std::vector<std::string> arguments = options;
        arguments.push_back(file.path());
        const CommandOutcome outcome = inspect_command(arguments);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.output, "");
        EXPECT_TRUE(has(outcome.errors, "error: /proc/self/fd/")) << outcome.errors;
        EXPECT_TRUE(has(outcome.errors, "key 'llama.attention.head_count' (at byte")) << outcome.errors;
        EXPECT_EQ(std::ranges::count(outcome.errors, '\n'), 1);
    }
}

TEST(InspectCommand, LooksAtVocabulariesToo) {
    GgufBuilder builder = tiny_model();
    builder.set("tokenizer.ggml.eos_token_id", u32(64));
    const MemoryFile file(builder.bytes());
    const CommandOutcome outcome = inspect_command({file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(has(outcome.errors, "tokenizer.ggml.eos_token_id")) << outcome.errors;
}

TEST(InspectCommand, ShowsTheFileOfAnUnknownArchitectureOnRequest) {
    GgufBuilder builder = tiny_model();
    builder.set("general.architecture", string("qwen99"));
    const MemoryFile file(builder.bytes());
    const CommandOutcome refused = inspect_command({file.path()});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has(refused.errors, "unknown model architecture: 'qwen99'")) << refused.errors;
    const CommandOutcome shown = inspect_command({"--file-only", file.path()});
    EXPECT_EQ(shown.exit_code, 0) << shown.errors;
    EXPECT_TRUE(has(shown.output, "qwen99"));
    EXPECT_TRUE(has(shown.output, "blk.1.ffn_down.weight"));
}

TEST(InspectCommand, CheckTensorsFailsOnNanAndNamesTheBlock) {
    GgufBuilder builder = tiny_model();
    Bytes& data = builder.tensor("blk.1.ffn_up.weight").data;
    data.replace(34 * 5, 2, raw(uint16_t{0x7e00}));  // the scale of block 5
    const MemoryFile file(builder.bytes());
    EXPECT_EQ(inspect_command({file.path()}).exit_code, 0);
    const CommandOutcome outcome = inspect_command({"--check-tensors", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.output, "");
    EXPECT_TRUE(has(outcome.errors, "tensor 'blk.1.ffn_up.weight'")) << outcome.errors;
    EXPECT_TRUE(has(outcome.errors, "block 5 (at byte")) << outcome.errors;
    const CommandOutcome json = inspect_command({"--check-tensors", "--json", file.path()});
    EXPECT_EQ(json.exit_code, 1);
    const auto findings = nlohmann::json::parse(json.output)["findings"];
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0]["level"], "error");
    EXPECT_EQ(findings[0]["tensor"], "blk.1.ffn_up.weight");
}

TEST(InspectCommand, CheckTensorsWarnsOfHoles) {
    GgufBuilder builder = tiny_model();
    std::ranges::fill(builder.tensor("blk.0.attn_k.weight").data, '\0');
    const MemoryFile file(builder.bytes());
    const CommandOutcome outcome = inspect_command({"--check-tensors", file.path()});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(has(outcome.output, "warning: " + file.path().string() + ": tensor 'blk.0.attn_k.weight'"))
        << outcome.output;
}

TEST(InspectCommand, WarnsOnStderr) {
    GgufBuilder builder = tiny_model();
    builder.set("llama.mystery", u32(1)).add_f32("mystery.weight", {1}, {1});
    const MemoryFile file(builder.bytes());
    const CommandOutcome outcome = inspect_command({file.path()});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(has(outcome.errors, "warn: ")) << outcome.errors;
    EXPECT_TRUE(has(outcome.errors, "key 'llama.mystery'")) << outcome.errors;
    EXPECT_TRUE(has(outcome.output, "\nIgnored tensors (1)\n  mystery.weight\n")) << outcome.output;
}

TEST(InspectCommand, PrintsStringsThatAreNotUtf8) {
    GgufBuilder builder = tiny_model();
    builder.set("general.name", string("a\xff\n\x1b[31m"));
    const MemoryFile file(builder.bytes());
    EXPECT_TRUE(has(inspect_command({file.path()}).output, "a\\xff\\x0a\\x1b[31m"));
    EXPECT_TRUE(nlohmann::json::accept(inspect_command({"--json", file.path()}).output));
}

TEST(InspectCommand, SaysTheKindOfOtherVocabularies) {
    GgufBuilder builder = tiny_model();
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    while (tokens.size() < 64) {
        tokens.push_back(fmt::format("t{}", tokens.size()));
        types.push_back(1);
    }
    builder.set("tokenizer.ggml.model", string("llama"))
        .set("tokenizer.ggml.tokens", string_array(tokens))
        .set("tokenizer.ggml.token_type", i32_array(types))
        .set("tokenizer.ggml.scores", i32_array(std::vector<int32_t>(64, -1)))
        .set("tokenizer.ggml.bos_token_id", u32(1))
        .set("tokenizer.ggml.add_bos_token", boolean(1))
        .set("tokenizer.ggml.unknown_token_id", u32(0));
    const MemoryFile file(builder.bytes());
    const CommandOutcome outcome = inspect_command({file.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    for (const char* line : {"\n  kind              SPM\n", "\n  algorithm         SentencePiece BPE by scores\n",
                             "\n  adds_begin        true\n"})
        EXPECT_TRUE(has(outcome.output, line)) << line << " is not in\n" << outcome.output.substr(0, 2000);
    EXPECT_FALSE(has(outcome.output, "pretokenizer"));
}

// From the tables that the program looks things up in: what is listed opens, and the other way round.
TEST(InspectCommand, ListsWhatIsSupported) {
    const CommandOutcome text = inspect_command({"--supported"});
    EXPECT_EQ(text.exit_code, 0) << text.errors;
    const auto json = nlohmann::json::parse(inspect_command({"--supported", "--json"}).output);
    EXPECT_GE(json["architectures"].size(), 3u);
    EXPECT_EQ(json["tensor_types"].size(), 28u);
    EXPECT_EQ(json["tokenizers"].size(), 8u);
    EXPECT_EQ(json["tokenizers"][0]["model"], "gpt2");
    EXPECT_EQ(json["tokenizers"][0]["pretokenizers"].size(), 91u);
    EXPECT_EQ(json["cache_types"].size(), 10u);
    for (const char* type : {"f32", "f16", "q8_0", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "rq4"})
        EXPECT_EQ(std::ranges::count(json["cache_types"], nlohmann::json(type)), 1) << type;
    for (const auto& list :
         {json["architectures"], json["tensor_types"], json["cache_types"], json["tokenizers"][0]["pretokenizers"]})
        for (const auto& name : list)
            EXPECT_TRUE(has(text.output, name.get<std::string>())) << name << " is not in\n" << text.output;
    for (const auto& tokenizer : json["tokenizers"])
        EXPECT_TRUE(has(text.output, tokenizer["algorithm"].get<std::string>())) << tokenizer;
    EXPECT_NE(inspect_command({"--supported", kStoryteller}).exit_code, 0);
}

}  // namespace inspect_command_test
}  // namespace riftjit::tools
