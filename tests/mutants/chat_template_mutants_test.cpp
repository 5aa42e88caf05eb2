// Chat templates, with pieces of the language put in: parsed and rendered.
#include "models/template/chat_template.h"
#include "models/template/named_templates.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace chat_template_mutants_test {

using Json = nlohmann::ordered_json;

const models::ChatTemplate::Inputs& conversation() {
    static const models::ChatTemplate::Inputs inputs = [] {
        models::ChatTemplate::Inputs made;
        made.messages = Json::parse(R"([{"role":"system","content":"be kind"},{"role":"user","content":"a <b> ' \" \n"},
            {"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,null]}}}]},
            {"role":"tool","content":"4"}])");
        made.bos_token = "<s>";
        made.now = std::chrono::system_clock::time_point{};
        return made;
    }();
    return inputs;
}

Outcome read(const std::string& source) {
    const auto parsed = models::ChatTemplate::parse(source, "mutant");
    const auto rendered = parsed ? parsed->render(conversation()) : std::unexpected(parsed.error());
    if (!rendered) check(rendered.error().message.starts_with("mutant:"), "every refusal says where");
    return {rendered ? "" : rendered.error().message};
}

// A changed byte seldom leaves a program, so half of them are pieces in the shipped one.
void mend(std::string& source, const std::string& seed, Random& random) {
    if (below(random, 2) == 0) source = seed;
    static constexpr std::string_view kPieces[] = {"{% for x in range(99999) %}",
                                                   "{% endfor %}",
                                                   "{{ 'ab' * 9000000 }}",
                                                   " * 1000000000",
                                                   "{% for m in messages %}",
                                                   "{{ messages | tojson(indent=99) }}",
                                                   "|join('x' * 100000)",
                                                   "|replace('', 'y' * 1000)",
                                                   "{% set x = x ~ x %}",
                                                   "{% set x = messages * 100000 %}",
                                                   "|list|sort|unique",
                                                   "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
                                                   "{{ x }}",
                                                   "{% if x %}",
                                                   "{% endif %}",
                                                   "[::-1]",
                                                   "~",
                                                   "|string|upper",
                                                   "{{ '%9999d' % 1 }}",
                                                   "(((("};
    for (size_t edits = below(random, 4); edits > 0; --edits)
        source.insert(below(random, source.size() + 1), kPieces[below(random, std::size(kPieces))]);
}

TEST(ChatTemplateMutants, AreRefusedOrRendered) {
    std::vector<std::string> seeds;
    for (const std::string& name : models::template_names()) seeds.push_back(*models::named_template(name));
    Campaign("chat-template", std::move(seeds), read, mend).run();
}

}  // namespace chat_template_mutants_test
}  // namespace riftjit::mutants
