// Grammars and JSON schemas, with pieces of their languages put in: compiled, and followed for some tokens.
#include <nlohmann/json.hpp>

#include "engine/grammar/constraint.h"
#include "host/json_text.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace grammar_mutants_test {

std::shared_ptr<const engine::TokenTree> letters() {
    static const auto tree = [] {
        std::vector<engine::TokenTree::Token> tokens;
        for (int byte = 0; byte < 256; ++byte)
            tokens.push_back({std::string(1, static_cast<char>(byte)), engine::TokenTree::Kind::text});
        for (const char* text : {"{\"", "\":", "\",", "aaa", "aaaaaaaaaaaaaaaa", "null", "12", "é"})
            tokens.push_back({text, engine::TokenTree::Kind::text});
        tokens.push_back({"", engine::TokenTree::Kind::end});
        return std::make_shared<const engine::TokenTree>(std::move(tokens));
    }();
    return tree;
}

// The first that are allowed, in turns.
Outcome follow(const Result<std::shared_ptr<const engine::Grammar>>& grammar) {
    if (!grammar) return {grammar.error().message};
    auto masks = engine::TokenMasks::create(*grammar, letters());
    if (!masks) return {masks.error().message};
    engine::GrammarConstraint constraint(*masks);
    for (size_t step = 0; step < 60; ++step) {
        const auto allowed = constraint.allowed();
        if (!allowed) return {allowed.error().message};
        std::vector<int32_t> ids;
        for (uint32_t id = 0; id < letters()->size(); ++id)
            if ((*allowed)[id / 64] >> (id % 64) & 1) ids.push_back(static_cast<int32_t>(id));
        if (ids.empty()) break;
        const int32_t id = ids[step * 7 % ids.size()];
        const auto accepted = constraint.accept(id);
        check(accepted || accepted.error().kind == ErrorKind::Unsupported, "what is allowed is accepted");
        if (!accepted || letters()->kind(id) == engine::TokenTree::Kind::end) break;
    }
    return {};
}

void put_in(std::string& text, std::span<const std::string_view> pieces, Random& random) {
    for (size_t edits = below(random, 4); edits > 0; --edits)
        text.insert(below(random, text.size() + 1), pieces[below(random, pieces.size())]);
}

TEST(GbnfMutants, AreRefusedOrFollowed) {
    const std::vector<std::string> seeds{
        "root ::= object\nvalue ::= object | \"[\" (value (\",\" value)*)? \"]\" | string | [0-9]{1,9} | \"true\"\n"
        "object ::= \"{\" (string \":\" value (\",\" string \":\" value)*)? \"}\"\n"
        "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}))* \"\\\"\"\n",
        "root ::= (expr \"=\" term \"\\n\")+\nexpr ::= term ([-+*/] term)*\nterm ::= [a-z]+ | \"(\" expr \")\" # a "
        "comment\n",
        "root ::= a{2,70} | b{3,} | (a b?){0,5000}\na ::= [a-zé-ü]\nb ::= \"xy\" root? \"z\"\n",
    };
    static constexpr std::string_view kPieces[] = {"(",
                                                   ")",
                                                   "|",
                                                   "*",
                                                   "+",
                                                   "?",
                                                   "{0,99999}",
                                                   "{3}",
                                                   "{2147483648,}",
                                                   " root ",
                                                   "a ::= a a | \"\"\n",
                                                   "[^a]",
                                                   ".",
                                                   "\"\"",
                                                   "<[1]>",
                                                   "!<x>",
                                                   "((((((",
                                                   "))))))",
                                                   "\n",
                                                   "#",
                                                   "::=",
                                                   "\\UFFFFFFFF",
                                                   "\\x"};
    Campaign(
        "gbnf", seeds, [](const std::string& text) { return follow(engine::Grammar::from_gbnf(text)); },
        [](std::string& text, const std::string& seed, Random& random) {
            if (below(random, 2) == 0) text = seed;
            put_in(text, kPieces, random);
        })
        .run();
}

TEST(JsonSchemaMutants, AreRefusedOrFollowed) {
    const std::vector<std::string> seeds{
        R"({"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer","minimum":-5,"maximum":700},
            "next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v"]}},"$ref":"#/$defs/n"})",
        R"({"type":"array","items":{"type":"string","pattern":"^(a|b[^c]){2,9}\\d+$"},"minItems":2,"maxItems":2000})",
        R"({"allOf":[{"properties":{"a":{"enum":[1,"x",{}]}},"required":["a"]},{"additionalProperties":{"type":"number"}}],
            "oneOf":[{"type":"object","minProperties":1},{"properties":{"b":{"format":"date-time","minLength":3}}}]})",
    };
    static constexpr std::string_view kPieces[] = {"{\"allOf\":[",
                                                   "{\"anyOf\":[",
                                                   "{\"items\":",
                                                   "{\"properties\":{\"a\":",
                                                   "]}",
                                                   "}}",
                                                   "\"$ref\":\"#\",",
                                                   "\"$ref\":\"#/$defs/n\",",
                                                   "\"minItems\":99999999,",
                                                   "\"maxLength\":1e300,",
                                                   "\"pattern\":\"((a*)*)*{9}\",",
                                                   "true",
                                                   "null",
                                                   "\"additionalProperties\":true,",
                                                   "\"type\":[\"object\",\"array\"],",
                                                   "-1e308",
                                                   "1e-300"};
    const auto read = [](const std::string& text) -> Outcome {
        const auto schema = parse_json<nlohmann::ordered_json>(text);
        if (schema.is_discarded()) return {"no JSON"};
        return follow(engine::Grammar::from_json_schema(schema));
    };
    Campaign("json-schema", seeds, read, [](std::string& text, const std::string& seed, Random& random) {
        text = below(random, 2) == 0 ? seed : changed_text(seed, random);
        put_in(text, kPieces, random);
    }).run();
    // Whole schemas, one of whose keywords another schema has.
    Campaign(
        "json-schema",
        [&](uint64_t number, Random& random) {
            auto schema = nlohmann::ordered_json::parse(seeds[number % seeds.size()]);
            for (size_t edits = 1 + below(random, 3); edits > 0; --edits) {
                const auto flat = schema.flatten();
                auto at = flat.begin();
                std::advance(at, below(random, flat.size()));
                nlohmann::ordered_json::json_pointer place(at.key());
                for (size_t up = below(random, 3); up > 0 && !place.empty(); --up) place.pop_back();
                const auto other = nlohmann::ordered_json::parse(seeds[below(random, seeds.size())]);
                const auto flat_other = other.flatten();
                auto from = flat_other.begin();
                std::advance(from, below(random, flat_other.size()));
                nlohmann::ordered_json::json_pointer source(from.key());
                for (size_t up = below(random, 4); up > 0 && !source.empty(); --up) source.pop_back();
                schema[place] = nlohmann::ordered_json(other[source]);
            }
            return schema.dump();
        },
        read)
        .run();
}

}  // namespace grammar_mutants_test
}  // namespace riftjit::mutants
