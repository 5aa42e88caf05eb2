// llama.cpp's own test vocabularies of every kind: ids that Hugging Face's tokenizers computed (.out) for some fifty
// texts (.inp) each. Fetched by tests/peer/fetch.sh, not ours to ship.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/tokenizer_nfc.h"
#include "tests/host/oracle.h"
#include "tests/models/tokenizer/tokenizer_files.h"

namespace riftjit::models {
namespace tokenizer_peers_test {

using namespace test;
using Ids = std::vector<int32_t>;
namespace fs = std::filesystem;

constexpr const char* kWanted =
    "RIFTJIT_PEER_VOCABS, the folder of ggml-vocab-*.gguf with .inp and .out files: tests/peer/fetch.sh";

// Where ours differ, and why. The ids must then be those of `same_as`.
struct Difference {
    std::string_view file, text, same_as;
};
// qwen35's file holds llama.cpp's own ids, which are of the text as it stands. Qwen3.5's published tokenizer brings
// text into form C first.
const std::vector<Difference>& known_differences() {
    static const std::string long_decomposed = [] {
        std::string text;
        for (int i = 0; i < 200; ++i) text += "a\u0300";
        return text;
    }();
    static const std::string long_composed = [] {
        std::string text;
        for (int i = 0; i < 200; ++i) text += "\u00e0";
        return text;
    }();
    static const std::vector<Difference> differences = {
        {"ggml-vocab-qwen35.gguf", "e\u0301", "\u00e9"},
        {"ggml-vocab-qwen35.gguf", "re\u0301sume\u0301", "r\u00e9sum\u00e9"},
        {"ggml-vocab-qwen35.gguf", long_decomposed, long_composed},
    };
    return differences;
}

const Difference* find_difference(std::string_view file, std::string_view text) {
    for (const Difference& difference : known_differences())
        if (difference.file == file && difference.text == text) return &difference;
    return nullptr;
}

struct Case {
    std::string text;
    Ids ids;
};

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Case> read_cases(const fs::path& vocabulary) {
    constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
    const std::string texts = read_file(vocabulary.string() + ".inp");
    std::istringstream lines(read_file(vocabulary.string() + ".out"));
    std::vector<Case> cases;
    size_t begin = 0;
    for (std::string line; std::getline(lines, line);) {
        const size_t end = std::min(texts.find(kSeparator, begin), texts.size());
        Case next{texts.substr(begin, end - begin), {}};
        std::istringstream numbers(line);
        for (int32_t id = 0; numbers >> id;) next.ids.push_back(id);
        cases.push_back(std::move(next));
        begin = std::min(end + kSeparator.size(), texts.size());
    }
    return cases;
}

std::vector<fs::path> peer_vocabularies() {
    std::vector<fs::path> paths;
    const char* folder = std::getenv("RIFTJIT_PEER_VOCABS");
    if (folder == nullptr) return paths;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().starts_with("ggml-vocab-") && entry.path().extension() == ".gguf")
            paths.push_back(entry.path());
    std::ranges::sort(paths);
    return paths;
}

Gguf open_vocabulary(const fs::path& path) {
    auto file = Gguf::open(path);
    check(file.has_value(), file ? "" : file.error().message);
    return *file;
}

// Two files of byte-level BPE say nothing about their words.
bool lacks_pretokenizer(const Gguf& file) {
    return file.string("tokenizer.ggml.model")->value_or("") == "gpt2" && file.find("tokenizer.ggml.pre") == nullptr;
}

TEST(PeerVocabularies, GiveTheIdsThatTheirFilesExpect) {
    if (std::getenv("RIFTJIT_PEER_VOCABS") == nullptr) return lack_oracle(kWanted);
    int compared = 0, differences_seen = 0;
    for (const fs::path& path : peer_vocabularies()) {
        const Gguf file = open_vocabulary(path);
        const std::vector<Case> cases = read_cases(path);
        if (cases.empty()) continue;
        const auto tokenizer = Tokenizer::from_gguf(file);
        ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
        size_t equal = 0;
        for (const Case& probe : cases) {
            const Ids ids = ids_of(*tokenizer, probe.text, ParseSpecial::no);
            equal += ids == probe.ids;
            if (const Difference* difference = find_difference(path.filename().string(), probe.text)) {
                EXPECT_NE(ids, probe.ids) << path << ": '" << probe.text << "' differs no more";
                EXPECT_EQ(ids, ids_of(*tokenizer, difference->same_as, ParseSpecial::no)) << path << probe.text;
                ++differences_seen;
            } else {
                EXPECT_EQ(ids, probe.ids) << path << ": '" << probe.text << "'";
            }
        }
        std::printf("%s: %zu of %zu texts equal\n", path.filename().c_str(), equal, cases.size());
        ++compared;
    }
    EXPECT_GE(compared, 15);
    EXPECT_EQ(differences_seen, static_cast<int>(known_differences().size()));
}

// bench/compare-tokenizers asks for more, and wrote these.
TEST(PeerVocabularies, GiveThePublishedIdsOfTextsWithControlBytes) {
    const char* vocabularies = std::getenv("RIFTJIT_PEER_VOCABS");
    const char* smollm2 = std::getenv("RIFTJIT_SMOLLM2");
    if (vocabularies == nullptr || smollm2 == nullptr) return lack_oracle("RIFTJIT_PEER_VOCABS and RIFTJIT_SMOLLM2");
    const nlohmann::json samples = read_json("tests/data/tokenizers/control_bytes.json");
    EXPECT_EQ(samples.size(), 7u);
    for (const auto& [name, sample] : samples.items()) {
        const fs::path path = name == "smollm2" ? smollm2 : fs::path(vocabularies) / ("ggml-vocab-" + name + ".gguf");
        const auto tokenizer = Tokenizer::from_gguf(open_vocabulary(path));
        ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
        EXPECT_GE(sample["texts"].size(), 200u);
        for (size_t i = 0; i < sample["texts"].size(); ++i) {
            const auto text = sample["texts"][i].get<std::string>();
            EXPECT_EQ(ids_of(*tokenizer, text), sample["special"][i].get<Ids>()) << name << " " << sample["texts"][i];
            EXPECT_EQ(ids_of(*tokenizer, text, ParseSpecial::no), sample["plain"][i].get<Ids>())
                << name << " " << sample["texts"][i];
        }
    }
}

TEST(PeerVocabularies, GiveBackTheirTexts) {
    if (std::getenv("RIFTJIT_PEER_VOCABS") == nullptr) return lack_oracle(kWanted);
    for (const fs::path& path : peer_vocabularies()) {
        const Gguf file = open_vocabulary(path);
        if (lacks_pretokenizer(file)) continue;
        const auto tokenizer = Tokenizer::from_gguf(file);
        ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
        if (tokenizer->kind() == "WPM") continue;  // which keeps words only
        for (const Case& probe : read_cases(path)) {
            const std::string decoded = tokenizer->decode(ids_of(*tokenizer, probe.text, ParseSpecial::no));
            std::string storage;
            const bool is_composed = find_difference(path.filename().string(), probe.text) != nullptr;
            EXPECT_EQ(decoded, is_composed ? to_nfc(probe.text, storage) : probe.text) << path;
        }
    }
}

TEST(PeerVocabularies, AreRefusedByNameWhereTheyNameNoPretokenizer) {
    if (std::getenv("RIFTJIT_PEER_VOCABS") == nullptr) return lack_oracle(kWanted);
    int refused = 0;
    for (const fs::path& path : peer_vocabularies()) {
        const Gguf file = open_vocabulary(path);
        if (!lacks_pretokenizer(file)) continue;
        const auto tokenizer = Tokenizer::from_gguf(file);
        ASSERT_FALSE(tokenizer.has_value()) << path;
        EXPECT_TRUE(says(tokenizer.error().message, {"missing key tokenizer.ggml.pre", "--pre"}));
        EXPECT_TRUE(Tokenizer::from_gguf(file, "gpt-2").has_value()) << path;
        ++refused;
    }
    EXPECT_EQ(refused, 2);
}

// By sentencepiece and Hugging Face's tokenizers: bench/compare-tokenizers asks for more, and wrote these.
TEST(PeerVocabularies, GiveThePublishedIdsOfRandomTexts) {
    const char* vocabularies = std::getenv("RIFTJIT_PEER_VOCABS");
    if (vocabularies == nullptr) return lack_oracle(kWanted);
    const nlohmann::json samples = read_json("tests/data/tokenizers/published_ids.json");
    EXPECT_EQ(samples.size(), 7u);
    for (const auto& [name, sample] : samples.items()) {
        const char* gemma3 = std::getenv("RIFTJIT_GEMMA3");
        if (name == "gemma-3" && gemma3 == nullptr) {
            lack_oracle("RIFTJIT_GEMMA3: tests/peer/fetch.sh");
            continue;
        }
        const fs::path path = name == "gemma-3" ? gemma3 : fs::path(vocabularies) / ("ggml-vocab-" + name + ".gguf");
        const auto tokenizer = Tokenizer::from_gguf(open_vocabulary(path));
        ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
        EXPECT_GE(sample["texts"].size(), 200u);
        for (size_t i = 0; i < sample["texts"].size(); ++i) {
            const auto text = sample["texts"][i].get<std::string>();
            EXPECT_EQ(ids_of(*tokenizer, text), sample["special"][i].get<Ids>()) << name << " " << sample["texts"][i];
            EXPECT_EQ(ids_of(*tokenizer, text, ParseSpecial::no), sample["plain"][i].get<Ids>())
                << name << " " << sample["texts"][i];
        }
    }
}

}  // namespace tokenizer_peers_test
}  // namespace riftjit::models
