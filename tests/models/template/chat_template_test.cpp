// Renderings against those of jinja2 itself, kept in tests/data/templates/goldens.json by make_goldens.py.
#include "models/template/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/host/oracle.h"

namespace riftjit::models {
namespace chat_template_test {

using Json = nlohmann::ordered_json;

const std::filesystem::path kData = std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data";

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

const Json& goldens() {
    static const Json loaded = Json::parse(read(kData / "templates/goldens.json"));
    return loaded;
}

std::string own_template(const std::string& name) {
    const auto of_config = [](const std::filesystem::path& path) {
        return Json::parse(read(path))["chat_template"].get<std::string>();
    };
    if (name == "storyteller") {
        return of_config(std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller/tokenizer_config.json");
    }
    if (name == "qwen3") return of_config(kData / "tokenizers/qwen3/tokenizer_config.json");
    return read(kData / "templates" / (name + ".jinja"));
}

Result<std::string> render(const std::string& source, const ChatTemplate::Inputs& inputs) {
    const auto parsed = ChatTemplate::parse(source);
    if (!parsed) return std::unexpected(parsed.error());
    return parsed->render_text(inputs);
}

ChatTemplate::Inputs inputs_at_golden_time() {
    ChatTemplate::Inputs inputs;
    inputs.bos_token = "<s>";
    inputs.eos_token = "</s>";
    inputs.now = std::chrono::system_clock::from_time_t(goldens()["now"].get<int64_t>());
    return inputs;
}

ChatTemplate::Inputs scenario_inputs(const Json& scenario) {
    ChatTemplate::Inputs inputs = inputs_at_golden_time();
    inputs.messages = scenario["messages"];
    if (scenario.contains("tools")) inputs.tools = scenario["tools"];
    if (scenario.contains("extra")) inputs.extra = scenario["extra"];
    inputs.add_generation_prompt = scenario.value("add_generation_prompt", true);
    inputs.continue_final_message = scenario.value("continue_final_message", false);
    return inputs;
}

// Else a begin token that the template writes would not stand first, and get a second one in front.
TEST(ChatTemplate, HasNoByteOrderMark) {
    EXPECT_EQ(render("\ufeff{{ bos_token }}x", inputs_at_golden_time()).value_or(""), "<s>x");
    EXPECT_EQ(render("\ufeff\ufeffx", inputs_at_golden_time()).value_or(""), "\ufeffx");
}

TEST(ChatTemplate, RendersEveryConstructAsJinja2Does) {
    ChatTemplate::Inputs inputs = inputs_at_golden_time();
    inputs.extra = goldens()["variables"];
    ASSERT_GT(goldens()["language"].size(), 200u);
    for (const Json& example : goldens()["language"]) {
        const auto rendered = render(example["template"].get<std::string>(), inputs);
        const Json& expected = example["rendered"];
        if (expected.is_string()) {
            EXPECT_TRUE(rendered) << example["template"] << "\n" << rendered.error().message;
            EXPECT_EQ(rendered.value_or(""), expected.get<std::string>()) << example["template"];
        } else {
            EXPECT_FALSE(rendered) << example["template"] << " should be refused, jinja2 says " << expected;
        }
    }
}

TEST(ChatTemplate, RendersConversationsAsTransformersDoes) {
    for (const auto& [name, renderings] : goldens()["renderings"].items()) {
        const auto parsed = ChatTemplate::parse(own_template(name), name);
        ASSERT_TRUE(parsed) << parsed.error().message;
        for (const auto& [key, expected] : renderings.items()) {
            const auto rendered = parsed->render_text(scenario_inputs(goldens()["scenarios"][key]));
            if (expected.is_string()) {
                ASSERT_TRUE(rendered) << name << " " << key << "\n" << rendered.error().message;
                EXPECT_EQ(*rendered, expected.get<std::string>()) << name << " " << key;
            } else {
                EXPECT_FALSE(rendered) << name << " " << key << " should be refused: " << expected;
            }
        }
    }
}

uint64_t fnv1a(std::string_view text) {
    uint64_t value = 0xcbf29ce484222325;
    for (const char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return value;
}

// Templates whose licence forbids copying: their renderings are known by length and hash.
TEST(ChatTemplate, RendersPublishedTemplatesAsTransformersDoes) {
    const char* folder = std::getenv("RIFTJIT_PEER_TEMPLATES");
    if (!folder) return lack_oracle("RIFTJIT_PEER_TEMPLATES, the folder of llama.cpp's templates: tests/peer/fetch.sh");
    for (const auto& [file, digests] : goldens()["foreign"].items()) {
        const auto parsed = ChatTemplate::parse(read(std::filesystem::path(folder) / file), file);
        ASSERT_TRUE(parsed) << parsed.error().message;
        for (const auto& [key, digest] : digests.items()) {
            const auto rendered = parsed->render_text(scenario_inputs(goldens()["scenarios"][key]));
            const std::string found =
                rendered ? fmt::format("{} {:016x}", rendered->size(), fnv1a(*rendered)) : "error";
            EXPECT_EQ(found, digest.get<std::string>()) << file << " " << key << "\n"
                                                        << (rendered ? *rendered : rendered.error().message);
        }
    }
}

}  // namespace chat_template_test
}  // namespace riftjit::models
