// tokenizer.json, tokenizer.model and what stands beside them: ids are those of the published programs.
#include "models/folder/tokenizer.h"
#include "tests/models/folder/tiny_folder.h"

namespace riftjit::models::test {
namespace folder_tokenizer_test {

using Json = TinyFolder::Json;

std::string tokenizer_message(const std::function<void(Json&)>& change) {
    return TinyFolder().edit("tokenizer.json", change).message();
}

// The vocabulary of tests/data/tokenizers/sentencepiece from some of its files.
class SentencepieceFolder {
public:
    explicit SentencepieceFolder(std::initializer_list<const char*> files) {
        for (const char* file : files) directory_.write(file, whole_file(source(file)));
    }
    static std::filesystem::path source(const std::string& file) {
        return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/tokenizers/sentencepiece" / file;
    }
    const TemporaryDirectory& directory() const { return directory_; }

    Result<Tokenizer> open() const {
        constexpr uint64_t kSize = 600;
        const folder::Config config("config.json", folder::Json{{"vocab_size", kSize}});
        GgufWriter writer;
        GgufPresentation presentation;
        presentation.path = directory_.path();
        presentation.format = "safetensors";
        RIFTJIT_TRY_VOID(folder::tell_tokenizer(directory_.path(), config, *folder::find_family("LlamaForCausalLM"),
                                                kSize, writer, presentation));
        presentation.index = writer.finish();
        RIFTJIT_TRY(file, Gguf::present(std::move(presentation)));
        return Tokenizer::from_gguf(file);
    }

private:
    TemporaryDirectory directory_;
};

void expect_published_ids(const SentencepieceFolder& folder) {
    const auto tokenizer = folder.open();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->kind(), "SPM");
    EXPECT_EQ(tokenizer->bos(), 1);
    EXPECT_EQ(tokenizer->eos(), 2);
    EXPECT_TRUE(tokenizer->adds_bos());
    const auto cases = Json::parse(whole_file(SentencepieceFolder::source("ids.json")));
    for (const auto& each : cases) {
        const auto text = each[0].get<std::string>();
        const auto ids = tokenizer->encode(text, ParseSpecial::yes, AddBos::no);
        ASSERT_TRUE(ids) << ids.error().message;
        EXPECT_EQ(*ids, each[1].get<std::vector<int32_t>>()) << text;
    }
}

TEST(FolderTokenizer, ScoresAreDerivedFromMerges) {
    expect_published_ids(SentencepieceFolder({"tokenizer.json", "tokenizer_config.json"}));
}

TEST(FolderTokenizer, ScoresOfTheSentencepieceModelAreTaken) {
    expect_published_ids(SentencepieceFolder({"tokenizer.json", "tokenizer.model", "tokenizer_config.json"}));
}

TEST(FolderTokenizer, DamagedSentencepieceModelsAreRefused) {
    const std::string whole = whole_file(SentencepieceFolder::source("tokenizer.model"));
    for (const size_t length : {size_t{0}, size_t{1}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
        const SentencepieceFolder folder({"tokenizer.json", "tokenizer_config.json"});
        folder.directory().write("tokenizer.model", whole.substr(0, length));
        const auto tokenizer = folder.open();
        ASSERT_FALSE(tokenizer) << length;
        EXPECT_TRUE(says(tokenizer.error().message, {"tokenizer.model"})) << length;
    }
}

TEST(FolderTokenizer, MergesThatNoScoresExpressAreRefused) {
    const SentencepieceFolder folder({"tokenizer.json", "tokenizer_config.json"});
    Json json = Json::parse(whole_file(SentencepieceFolder::source("tokenizer.json")));
    const Json merges = json["model"]["merges"];
    json["model"]["merges"].erase(0);
    folder.directory().write("tokenizer.json", json.dump());
    EXPECT_TRUE(says(folder.open().error().message, {"tokenizer.json: token", "could be cut in"}));
    json["model"]["merges"] = merges;
    json["model"]["merges"].push_back(merges[0]);
    folder.directory().write("tokenizer.json", json.dump());
    EXPECT_TRUE(says(folder.open().error().message, {"again, with others in between"}));
    json["model"]["merges"] = merges;
    json["normalizer"] = {{"type", "NFKC"}};
    folder.directory().write("tokenizer.json", json.dump());
    EXPECT_TRUE(says(folder.open().error().message, {"normalizer \"NFKC\" is unknown"}));
}

// ---- pre-tokenizers ----

Json split(const std::string& expression) {
    return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}
Json byte_level(bool uses_regex) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", uses_regex}};
}
Json sequence(Json steps) { return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; }

std::string name_of(const Json& pre, const Json& normalizer = nullptr, bool ignores_merges = false) {
    const Json tokenizer = {
        {"normalizer", normalizer}, {"pre_tokenizer", pre}, {"model", {{"ignore_merges", ignores_merges}}}};
    const auto name = folder::pretokenizer_name("tokenizer.json", folder::Json::parse(tokenizer.dump()));
    return name ? *name : name.error().message;
}

TEST(FolderTokenizer, PretokenizersAreKnownByTheirExpressions) {
    const std::string llama3 =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
        R"(|\s+(?!\S)|\s+)";
    const Json nfc = {{"type", "NFC"}}, digits = {{"type", "Digits"}, {"individual_digits", true}};
    EXPECT_EQ(name_of(sequence({split(llama3), byte_level(false)}), nullptr, true), "llama-bpe");
    EXPECT_EQ(name_of(sequence({split(llama3), byte_level(false)})), "dbrx");
    EXPECT_EQ(name_of(byte_level(true)), "gpt-2");
    EXPECT_EQ(name_of(byte_level(true), nfc), "olmo");
    EXPECT_EQ(name_of(sequence({digits, byte_level(true)})), "smollm");
    EXPECT_EQ(name_of(sequence({digits, byte_level(true)}), nfc), "command-r");
    EXPECT_EQ(name_of(sequence({split(" ?[^(\\s|[.,!?…。，、।۔،])]+"), byte_level(false)})), "bloom");
    EXPECT_TRUE(says(name_of(sequence({split("[a-z]+"), byte_level(false)})),
                     {"tokenizer.json: unknown pre-tokenizer: split [a-z]+;bytes;"}));
    EXPECT_TRUE(says(name_of(sequence({split(llama3), byte_level(false)}), nfc), {"unknown pre-tokenizer", "NFC"}));
    EXPECT_TRUE(says(name_of(nullptr), {"unknown pre-tokenizer: none"}));
    EXPECT_TRUE(says(name_of(byte_level(true), {{"type", "Lowercase"}}), {"normalizer \"Lowercase\" is unknown"}));
}

// Every name that is given is one that the tokenizer knows, and cuts as the expressions do.
TEST(FolderTokenizer, TheNameOfThePublishedQwenIsItsOwn) {
    const auto file = open_model_file(std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file->require_string("tokenizer.ggml.pre"), "qwen2");
    const auto converted =
        Gguf::open(std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller/storyteller-9m-q8_0.gguf");
    const auto ours = Tokenizer::from_gguf(*file), theirs = Tokenizer::from_gguf(*converted);
    ASSERT_TRUE(ours && theirs);
    for (const std::string text : {"A fox, a lamp.\n\n  12 e\u0301", "<|im_start|>user\nHi<|im_end|>\n", "Zürich 東京"})
        EXPECT_EQ(*ours->encode(text, ParseSpecial::yes, AddBos::yes),
                  *theirs->encode(text, ParseSpecial::yes, AddBos::yes));
    EXPECT_TRUE(std::ranges::equal(ours->end_of_generation(), theirs->end_of_generation()));
}

// ---- vocabularies ----

TEST(FolderTokenizer, VocabulariesThatTellWrong) {
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["type"] = "Unigram"; }), {"of type 'Unigram'", "BPE"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t.erase("model"); }), {"tokenizer.json: key 'model' is absent"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["vocab"] = Json::array(); }), {"'vocab' is an array"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["vocab"]["!"] = 288; }), {"token '!' has id 288"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["vocab"]["!"] = -1; }), {"token '!' has id -1"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["vocab"]["!"] = 3; }), {"both have id 3"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["merges"] = "x"; }), {"'merges' is \"x\""}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["merges"][3] = "x"; }), {"merge 3 is \"x\""}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["merges"][3] = {"x", 1}; }), {"merge 3 is an array"}));
    EXPECT_TRUE(
        says(tokenizer_message([](Json& t) { t["model"]["merges"][3] = {"q", "qq"}; }), {"merge 3", "no token"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["model"]["end_of_word_suffix"] = "</w>"; }), {"'</w>'"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["added_tokens"][0]["id"] = 400; }), {"with id 400"}));
    EXPECT_TRUE(says(tokenizer_message([](Json& t) { t["added_tokens"] = 1; }), {"'added_tokens' is 1"}));
    EXPECT_TRUE(says(TinyFolder().set("generation_config.json", R"({"eos_token_id": 300})").message(),
                     {"generation_config.json: key 'eos_token_id' has 300"}));
    EXPECT_TRUE(says(TinyFolder().edit("tokenizer_config.json", [](Json& t) { t["chat_template"] = 3; }).message(),
                     {"tokenizer_config.json: key 'chat_template' is 3"}));
}

TEST(FolderTokenizer, TemplatesLieInAFileOfTheirOwnToo) {
    TinyFolder folder;
    folder.edit("tokenizer_config.json", [](Json& t) { t.erase("chat_template"); });
    folder.set("chat_template.jinja", "{{ messages[0].content }}");
    EXPECT_EQ(*open_model_file(folder.path())->string("tokenizer.chat_template"), "{{ messages[0].content }}");
    TinyFolder several;
    several.edit("tokenizer_config.json", [](Json& t) {
        t["chat_template"] = {{{"name", "default"}, {"template", "a"}}, {{"name", "tools"}, {"template", "b"}}};
    });
    const auto file = open_model_file(several.path());
    EXPECT_EQ(*file->string("tokenizer.chat_template"), "a");
    EXPECT_EQ(*file->string("tokenizer.chat_template.tools"), "b");
}

}  // namespace folder_tokenizer_test
}  // namespace riftjit::models::test
