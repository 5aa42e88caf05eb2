// Folders as transformers saves them against what llama.cpp's converter makes of them: every key and every tensor.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "models/folder/families.h"
#include "models/folder/model_file.h"
#include "models/folder/tensors.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/models/expect_message.h"

namespace riftjit::models::test {
namespace folder_families_test {

std::filesystem::path folders() { return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/folders"; }

std::vector<std::string> folder_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folders()))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

// FNV-1a, as make_folder_files.py has it.
std::string hash_of(std::span<const std::byte> bytes) {
    uint64_t value = 0xcbf29ce484222325;
    for (const std::byte byte : bytes) value = (value ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    return fmt::format("{:016x}", value);
}

nlohmann::json value_of(const GgufEntry& entry) {
    if (const auto* array = std::get_if<GgufArray>(&entry.value)) return hash_of(array->bytes);
    if (const auto* number = std::get_if<uint64_t>(&entry.value)) return *number;
    if (const auto* number = std::get_if<int64_t>(&entry.value)) return *number;
    if (const auto* flag = std::get_if<bool>(&entry.value)) return *flag;
    if (const auto* text = std::get_if<std::string_view>(&entry.value)) return *text;
    return std::get<double>(entry.value);
}

// Keys that the converter does not write, and why they are there.
bool is_ours_alone(const std::string& folder, std::string_view key) {
    if (key == "general.name") return true;                  // it guesses names, which make no difference
    if (key == "tokenizer.ggml.eos_token_ids") return true;  // of generation_config.json: all that end a text
    if (folder == "glm4" && key == "tokenizer.ggml.unknown_token_id") return true;  // a GLM's set of special tokens
    return folder == "mistral" && key == "llama.attention.sliding_window";          // transformers has the window
}

class FolderFamilies : public testing::TestWithParam<std::string> {
protected:
    FolderFamilies() {
        std::ifstream file(folders() / GetParam() / "expected.json");
        expected_ = nlohmann::json::parse(file);
    }
    nlohmann::json expected_;
    const Result<Gguf> file_ = open_model_file(folders() / GetParam());
};

TEST_P(FolderFamilies, HaveTheMetadataOfTheConverter) {
    ASSERT_TRUE(file_) << file_.error().message;
    const nlohmann::json& expected = expected_.at("metadata");
    for (const auto& [key, value] : expected.items()) {
        const GgufEntry* const entry = file_->find(key);
        ASSERT_NE(entry, nullptr) << key;
        const nlohmann::json found = value_of(*entry);
        if (found.is_number_float())  // of a float, which the converter computed in double
            EXPECT_FLOAT_EQ(found.get<float>(), value[1].get<float>()) << key;
        else
            EXPECT_EQ(found, value[1]) << key;
    }
    for (const GgufEntry& entry : file_->entries())
        EXPECT_TRUE(expected.contains(std::string(entry.key)) || is_ours_alone(GetParam(), entry.key)) << entry.key;
}

TEST_P(FolderFamilies, HaveTheTensorsOfTheConverter) {
    ASSERT_TRUE(file_) << file_.error().message;
    const nlohmann::json& expected = expected_.at("tensors");
    EXPECT_EQ(file_->tensors().size(), expected.size());
    for (const auto& [name, value] : expected.items()) {
        const GgufTensor* const tensor = file_->find_tensor(name);
        ASSERT_NE(tensor, nullptr) << name;
        std::string type(riftjit::name(tensor->type));
        std::ranges::transform(type, type.begin(), [](char c) { return std::toupper(c); });
        EXPECT_EQ(type, value[0].get<std::string>()) << name;
        EXPECT_EQ(tensor->ne, value[1].get<std::vector<uint64_t>>()) << name;
        EXPECT_EQ(hash_of(tensor->data), value[2].get<std::string>()) << name;
    }
}

TEST_P(FolderFamilies, AreLoadedWithATokenizer) {
    const auto model = load_model(folders() / GetParam());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_TRUE(model->ignored_tensors.empty());
    const auto tokenizer = Tokenizer::from_gguf(model->file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const bool is_encoder = model->hyperparameters.is_encoder;  // whose vocabulary is BERT's
    const std::string end = is_encoder ? "[SEP]" : "<|im_end|>";
    const auto ids = tokenizer->encode("the fox" + end, ParseSpecial::yes, AddBos::no);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, (std::vector<int32_t>{tokenizer->encode("the", ParseSpecial::no, AddBos::no)->front(),
                                          tokenizer->encode(" fox", ParseSpecial::no, AddBos::no)->front(),
                                          is_encoder ? 3 : 285}));
    if (is_encoder) return;  // nothing ends what it does not begin
    EXPECT_TRUE(std::ranges::equal(tokenizer->end_of_generation(), std::vector<int32_t>{285, 286}));
}

INSTANTIATE_TEST_SUITE_P(Folders, FolderFamilies, testing::ValuesIn(folder_names()),
                         [](const auto& info) { return info.param; });

// Every architecture that has a translation has a folder that shows it.
TEST(FolderFamilies, AllHaveAFolder) {
    std::set<std::string> shown;
    for (const std::string& name : folder_names()) {
        const auto file = open_model_file(folders() / name);
        ASSERT_TRUE(file) << file.error().message;
        shown.insert(std::string(*file->require_string("general.architecture")));
    }
    for (const folder::Family& family : folder::families())
        EXPECT_TRUE(shown.contains(std::string(family.architecture))) << family.architecture;
}

}  // namespace folder_families_test
}  // namespace riftjit::models::test
