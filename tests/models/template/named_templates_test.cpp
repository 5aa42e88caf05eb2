// Named templates against llama.cpp's own renderer: tests/data/templates/make_named_goldens.py.
#include "models/template/named_templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "models/template/chat_template.h"

namespace riftjit::models {
namespace named_templates_test {

using Json = nlohmann::ordered_json;

TEST(NamedTemplates, RenderWhatLlamaCppRendersForEachOfItsNames) {
    std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/data/templates/named_goldens.json");
    const Json goldens = Json::parse(file);
    std::vector<std::string> names;
    for (const auto& [name, renderings] : goldens["names"].items()) {
        names.push_back(name);
        const auto source = named_template(name);
        ASSERT_TRUE(source) << name;
        const auto parsed = ChatTemplate::parse(*source, name);
        ASSERT_TRUE(parsed) << parsed.error().message;
        for (size_t i = 0; i < renderings.size(); ++i) {
            const Json& conversation = goldens["conversations"][i];
            ChatTemplate::Inputs inputs;
            for (const Json& message : conversation["messages"])
                inputs.messages.push_back({{"role", message[0]}, {"content", message[1]}});
            inputs.add_generation_prompt = conversation["generation"];
            const auto rendered = parsed->render_text(inputs);
            ASSERT_TRUE(rendered) << rendered.error().message;
            EXPECT_EQ(*rendered, renderings[i].get<std::string>()) << name << " " << i;
        }
    }
    EXPECT_GE(names.size(), 54u);
    EXPECT_TRUE(std::ranges::equal(template_names(), names));  // both ascending: none is missing, none is ours alone
}

TEST(NamedTemplates, AreFoundByTheirWholeNameAlone) {
    for (const char* name : {"", "ChatML", "chatml ", "chat", "llama2-", "\n"})
        EXPECT_FALSE(named_template(name)) << name;
}

}  // namespace named_templates_test
}  // namespace riftjit::models
