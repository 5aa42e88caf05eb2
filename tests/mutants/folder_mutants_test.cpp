// Folders as transformers saves them: each of their files changed, as bytes and as JSON.
#include <nlohmann/json.hpp>

#include "models/folder/model_file.h"
#include "models/gguf/gguf_data_check.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/models/gguf/gguf_builder.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace folder_mutants_test {

using Json = nlohmann::json;

std::filesystem::path seed_folder(const std::string& name) {
    return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/folders" / name;
}
std::string whole_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Json interesting_value(Random& random) {
    static const std::vector<Json> kValues = {nullptr,
                                              true,
                                              false,
                                              0,
                                              1,
                                              -1,
                                              3,
                                              1e300,
                                              -0.5,
                                              0.0,
                                              4294967295u,
                                              4294967296ull,
                                              ~0ull,
                                              INT64_MIN,
                                              "",
                                              "x",
                                              "llama3",
                                              "yarn",
                                              "longrope",
                                              Json::array(),
                                              Json::object(),
                                              {1, 2},
                                              {{"a", 1}},
                                              std::string(70000, 'a'),
                                              "\xF0\x9F\xA6\x8A"};
    return kValues[below(random, kValues.size())];
}

// One value somewhere in the tree becomes another, goes, or comes twice.
void change_value(Json& json, Random& random) {
    Json* node = &json;
    while (node->is_structured() && !node->empty()) {
        auto child = node->begin();
        std::advance(child, below(random, node->size()));
        if (child->is_structured() && !child->empty() && below(random, 4) != 0) {
            node = &*child;
            continue;
        }
        switch (below(random, 4)) {
            case 0:
                node->erase(child);
                return;
            case 1:
                if (node->is_array()) {
                    node->push_back(Json(*child));
                } else {
                    (*node)[child.key() + "x"] = Json(*child);
                }
                return;
            case 2:
                if (child->is_number_integer()) {
                    *child = child->get<int64_t>() + static_cast<int64_t>(below(random, 7)) - 3;
                    return;
                }
                [[fallthrough]];
            default:
                *child = interesting_value(random);
                return;
        }
    }
}

// Most mutants are JSON still.
void mend_json(std::string& file, const std::string& seed, Random& random) {
    if (below(random, 4) == 0) return;
    Json json = Json::parse(seed);
    for (size_t edits = 1 + below(random, 3); edits > 0; --edits) change_value(json, random);
    file = json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The header as JSON, its length made right again.
void mend_header(std::string& file, const std::string& seed, Random& random) {
    if (below(random, 3) == 0) return;
    uint64_t length = 0;
    std::memcpy(&length, seed.data(), sizeof length);
    const std::string data = seed.substr(sizeof length + length);
    std::string header = seed.substr(sizeof length, length);
    mend_json(header, std::string(header), random);
    length = header.size();
    file = std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

class FolderCampaign {
public:
    FolderCampaign(const std::string& folder, std::string file) : file_(std::move(file)) {
        for (const auto& entry : std::filesystem::directory_iterator(seed_folder(folder)))
            directory_.write(entry.path().filename(), whole_file(entry.path()));
    }

    void run(const Campaign::Mend& mend) {
        Campaign(
            "folder-" + file_, {whole_file(directory_.path() / file_)},
            [&](const std::string& bytes) { return read(bytes); }, mend)
            .run();
    }

private:
    Outcome read(const std::string& bytes) const {
        directory_.write(file_, bytes);
        const auto model = models::load_model(directory_.path());
        if (!model) return is_refused(model.error());
        models::check_tensors(model->file);
        const auto tokenizer = models::Tokenizer::from_gguf(model->file);
        if (!tokenizer) return is_refused(tokenizer.error());
        const auto ids = tokenizer->encode("a fox, <|im_end|> e\u0301", models::ParseSpecial::yes, models::AddBos::yes);
        if (ids) tokenizer->decode(*ids);
        check(model->build().has_value(), "the graph of a loaded model can be built");
        return {};
    }
    static Outcome is_refused(const Error& error) {
        check(!error.message.empty() && !error.message.contains('\n') && error.message.size() < 4096,
              "what is refused is said in one line");
        return {error.message, error.kind == ErrorKind::OutOfMemory};
    }

    models::test::TemporaryDirectory directory_;
    std::string file_;
};

TEST(FolderMutants, OfTheConfigurationAreRefusedOrRead) { FolderCampaign("gemma3", "config.json").run(mend_json); }
TEST(FolderMutants, OfTheTokenizerAreRefusedOrRead) { FolderCampaign("qwen3", "tokenizer.json").run(mend_json); }
TEST(FolderMutants, OfItsSettingsAreRefusedOrRead) { FolderCampaign("qwen3", "tokenizer_config.json").run(mend_json); }
TEST(FolderMutants, OfTheWeightsAreRefusedOrRead) { FolderCampaign("llama", "model.safetensors").run(mend_header); }
// Families whose tensors are made anew: experts in stacks and in blocks, halves, factors, heads in another order.
TEST(FolderMutants, OfWhatIsRewrittenAreRefusedOrRead) {
    for (const char* folder : {"gptoss_mxfp4", "gptoss", "deepseek_v3", "granitehybrid_moe", "falcon_h1", "qwen3next",
                               "mamba2", "lfm2moe"}) {
        SCOPED_TRACE(folder);
        FolderCampaign(folder, "config.json").run(mend_json);
        FolderCampaign(folder, "model.safetensors").run(mend_header);
    }
}

}  // namespace folder_mutants_test
}  // namespace riftjit::mutants
