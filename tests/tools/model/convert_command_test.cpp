// `riftjit convert` as a user calls it: what it writes, what it refuses, and that llama.cpp's converter writes the
// same.
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/folder/model_file.h"
#include "models/gguf/gguf.h"
#include "tests/host/scratch.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace convert_command_test {

using models::Gguf;
using models::GgufTensor;

std::string folder(const std::string& name) { return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/folders/" + name; }

class ConvertCommand : public testing::Test {
protected:
    Outcome convert(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "convert");
        return program_.run(arguments);
    }
    std::string out(const std::string& name = "out.gguf") const { return (program_.folder() / name).string(); }
    Program program_;
};

TEST_F(ConvertCommand, WritesWhatTheFolderPresents) {
    for (const std::string name : {"qwen3", "llama", "gemma3", "bloom"}) {
        const bool is_f32 = name == "llama" || name == "bloom";
        const Outcome outcome = convert({folder(name), out(name), "--outtype", is_f32 ? "f32" : "auto"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        const auto presented = models::open_model_file(folder(name));
        const auto written = Gguf::open(out(name));
        ASSERT_TRUE(written) << written.error().message;
        ASSERT_EQ(written->tensors().size(), presented->tensors().size());
        for (const GgufTensor& tensor : presented->tensors()) {
            const GgufTensor* const other = written->find_tensor(tensor.name);
            ASSERT_NE(other, nullptr) << tensor.name;
            EXPECT_EQ(other->type, tensor.type) << tensor.name;
            EXPECT_TRUE(std::ranges::equal(other->data, tensor.data)) << tensor.name;
        }
        for (const models::GgufEntry& entry : presented->entries())
            EXPECT_NE(written->find(entry.key), nullptr) << entry.key;
        EXPECT_EQ(*written->require_integer("general.file_type", 0, 99), is_f32 ? 0u : name == "gemma3" ? 32u : 1u);
        EXPECT_EQ(std::filesystem::file_size(out(name)) % 32, 0u);
    }
}

TEST_F(ConvertCommand, GivesTheSameLogits) {
    const std::string storyteller = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller";
    ASSERT_EQ(convert({storyteller, out()}).exit_code, 0);
    const auto hash = [&](const std::string& model) {
        const Outcome outcome = program_.run({"bench", "-m", model, "-p", "16", "-n", "4", "-r", "1", "-o", "json"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        std::string hashes;
        for (const auto& test : nlohmann::json::parse(outcome.out)) hashes += test.at("logits_hash").get<std::string>();
        return hashes;
    };
    EXPECT_EQ(hash(storyteller), hash(out()));
}

TEST_F(ConvertCommand, RoundsOnlyWhatItIsToldTo) {
    const Outcome outcome = convert({folder("llama"), out()});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(has_text(outcome.err, "matrices are rounded to f16; --outtype f32 keeps all digits"));
    const Outcome told = convert({folder("llama"), out("told.gguf"), "--outtype", "bf16", "--json"});
    EXPECT_EQ(told.err, "");
    const auto json = nlohmann::json::parse(told.out);
    EXPECT_EQ(json.at("type"), "bf16");
    EXPECT_EQ(json.at("bytes"), std::filesystem::file_size(out("told.gguf")));
}

TEST_F(ConvertCommand, RefusesToOverwrite) {
    std::ofstream(out()) << "precious";
    const Outcome refused = convert({folder("qwen3"), out()});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has_text(refused.err, "exists; --force overwrites it"));
    EXPECT_EQ(read_whole(out()), "precious");
    EXPECT_EQ(convert({folder("qwen3"), out(), "--force"}).exit_code, 0);
    EXPECT_TRUE(Gguf::open(out()));
    EXPECT_EQ(convert({folder("nix"), out("x.gguf")}).exit_code, 1);
    EXPECT_EQ(convert({out(), out("x.gguf")}).exit_code, 1);
    EXPECT_EQ(convert({folder("qwen3"), out("no/x.gguf")}).exit_code, 1);
    EXPECT_FALSE(std::filesystem::exists(out("x.gguf")));
    for (const auto& entry : std::filesystem::directory_iterator(program_.folder()))
        EXPECT_FALSE(entry.path().native().ends_with(".tmp")) << entry.path();
}

TEST_F(ConvertCommand, RefusesValuesThatDoNotFit) {
    const std::filesystem::path copy = program_.folder() / "large";
    std::filesystem::copy(folder("llama"), copy);
    std::string weights = read_whole(copy / "model.safetensors");
    const float large = 70000.0f;
    std::memcpy(weights.data() + weights.size() - sizeof large, &large, sizeof large);
    // The last tensor may be a gain, which stays f32; so the first is changed, too.
    uint64_t header = 0;
    std::memcpy(&header, weights.data(), sizeof header);
    std::memcpy(weights.data() + 8 + header, &large, sizeof large);
    std::filesystem::permissions(copy / "model.safetensors", std::filesystem::perms::owner_all);
    std::ofstream(copy / "model.safetensors", std::ios::binary) << weights;
    const Outcome refused = convert({copy.string(), out(), "--outtype", "f16"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has_text(refused.err, "is 70000, too large for f16"));
    EXPECT_FALSE(std::filesystem::exists(out()));
    EXPECT_EQ(convert({copy.string(), out(), "--outtype", "bf16"}).exit_code, 0);
}

}  // namespace convert_command_test
}  // namespace riftjit::tools
