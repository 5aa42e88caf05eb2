// Documents that grammars of schemas have, and what Python's jsonschema says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/grammar/constraint.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/machine.h"
#include "tests/host/oracle.h"

namespace riftjit::engine {
namespace json_schema_test {

using Json = nlohmann::ordered_json;

std::shared_ptr<const Grammar> compiled(const Json& schema) {
    auto grammar = Grammar::from_json_schema(schema);
    if (!grammar) ADD_FAILURE() << grammar.error().message << "\n" << schema.dump();
    return grammar ? *grammar : nullptr;
}

std::string refusal(std::string_view schema) {
    const auto grammar = Grammar::from_json_schema(Json::parse(schema));
    return grammar ? "" : grammar.error().message;
}

bool has(const Grammar& grammar, std::string_view text) {
    GrammarMachine machine(grammar.automaton());
    GrammarMachine::Set set = machine.start();
    for (const char byte : text) set = machine.step(set, static_cast<uint8_t>(byte));
    return machine.may_end(set);
}

struct Case {
    std::string schema;
    std::vector<std::string> valid, invalid;
};

void expect(const std::vector<Case>& cases) {
    for (const auto& [schema, valid, invalid] : cases) {
        SCOPED_TRACE(schema);
        const auto grammar = compiled(Json::parse(schema));
        if (!grammar) continue;
        EXPECT_TRUE(grammar->warnings().empty()) << grammar->warnings()[0];
        for (const std::string& text : valid) EXPECT_TRUE(has(*grammar, text)) << text;
        for (const std::string& text : invalid) EXPECT_FALSE(has(*grammar, text)) << text;
    }
}

TEST(JsonSchema, ObjectsHaveTheirPropertiesInOrder) {
    expect({
        {R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"required":["b"]})",
         {R"({"b":null})", R"({"a":null,"b":null})", R"({ "b" : null, "c": null })", R"({"a":null,"b":null,"c":null})",
          "{\n  \"b\":null}"},
         {"{}", R"({"b":null,"a":null})", R"({"a":null})", R"({"b":null,})", R"({,"b":null})", R"({"b":null,"d":null})",
          R"({"b":null "c":null})"}},
        {R"({"type":"object"})", {"{}", R"({"x":[1,{"y":"z"}]})"}, {"[]", "{1:2}"}},
        {R"({"properties":{}, "additionalProperties":false, "type":"object"})", {"{}", "{ }"}, {R"({"a":1})"}},
        {R"({"type":"object","properties":{"a":{"type":"null"}}})", {"{}", R"({"a":null})"}, {R"({"b":null})"}},
        {R"({"type":"object","properties":{"and":{"type":"null"},"a":{"type":"null"}},"additionalProperties":{"type":"integer"}})",
         {"{}", R"({"and":null})", R"({"x":1})", R"({"an":1})", R"({"andy":1,"":2})", R"({"a":null,"b":3,"c":4})"},
         {R"({"and":1})", R"({"a":1})", R"({"an":null})", R"({"x":1,"a":null})"}},
        {R"({"type":"object","additionalProperties":{"type":"boolean"},"minProperties":1,"maxProperties":2})",
         {R"({"q":true})", R"({"q":true,"r":false})"},
         {"{}", R"({"q":1})", R"({"q":true,"r":true,"s":true})"}},
        {R"({"type":"object","required":["k"]})", {R"({"k":[]})"}, {"{}", R"({"l":1})"}},
        {R"({"type":"object","properties":{"a":false,"b":true}})", {"{}", R"({"b":1})"}, {R"({"a":1})"}},
        {R"({"type":"object","properties":{"a\"b\né":{"const":1}}})", {R"({"a\"b\né":1})"}, {R"({"a":1})"}},
    });
}

TEST(JsonSchema, ValuesAreOfTheirTypes) {
    expect({
        {"true",
         {"1", "[]", "{}", "null", R"("x")", "-0.5e-3", "[1,[2, {}]]"},
         {"", "01", "nul", "1.", ".5", "+1", "'x'"}},
        {"{}", {"1", R"({"a":true})"}, {"x"}},
        {R"({"type":["integer","null"]})", {"0", "-12", "null"}, {"1.5", "true", "1e3"}},
        {R"({"type":"string"})",
         {R"("")", R"("a\nb")", R"("é😀")", R"("\u00e9\\\"")", R"("\/")"},
         {"\"\n\"", R"("\x")", R"("\ud800")", R"("a)", "\"\x7F\"", "\"\xFF\""}},
        {R"({"enum":["a",1,null,{"b":[true]},"ü"]})",
         {R"("a")", "1", "null", R"({"b":[true]})", R"("ü")"},
         {R"("b")", "2"}},
        {R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
        {R"({"const":{"x":1.5}})", {R"({"x":1.5})"}, {R"({"x":1})"}},
        {R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("éß😀")", R"("\u00e9\n")"},
         {R"("a")", R"("abcd")", R"("\n")"}},
    });
}

TEST(JsonSchema, ArraysHaveTheirItems) {
    expect({
        {R"({"type":"array","items":{"type":"null"}})",
         {"[]", "[null]", "[ null, null ]"},
         {"[1]", "[null,]", "[,null]"}},
        {R"({"type":"array","items":{"type":"null"},"minItems":2,"maxItems":3})",
         {"[null,null]", "[null,null,null]"},
         {"[]", "[null]", "[null,null,null,null]"}},
        {R"({"type":"array","items":{"type":"null"},"minItems":0,"maxItems":0})", {"[]"}, {"[null]"}},
        {R"({"type":"array","prefixItems":[{"const":1},{"const":2}]})",
         {"[1,2]", "[1, 2]"},
         {"[1]", "[1,2,3]", "[2,1]"}},
        {R"({"type":"array","prefixItems":[{"const":1}],"items":{"const":2},"minItems":2,"maxItems":3})",
         {"[1,2]", "[1,2,2]"},
         {"[1]", "[1,2,2,2]"}},
        {R"({"items":[{"const":1}],"additionalItems":{"const":2}})", {"[1]", "[1,2,2]"}, {"[]", "[2]"}},
        {R"({"type":"array","minItems":1})", {"[1]", "[1,\"a\"]"}, {"[]"}},
        {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
        {R"({"type":"array","items":{"type":"array","items":{"type":"integer"}}})", {"[[1,2],[]]"}, {"[1]"}},
    });
}

TEST(JsonSchema, SchemasOfSchemasAreJoined) {
    expect({
        {R"({"anyOf":[{"type":"null"},{"const":1}]})", {"null", "1"}, {"2"}},
        {R"({"oneOf":[{"type":"null"},{"type":"boolean"}]})", {"null", "true"}, {"2"}},
        {R"({"oneOf":[{"type":"object","properties":{"t":{"const":"a"},"x":{"type":"null"}},"required":["t"]},
                      {"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]})",
         {R"({"t":"a","x":null})", R"({"t":"b"})"},
         {R"({"t":"b","x":null})", R"({"t":"c"})"}},
        {R"({"allOf":[{"properties":{"a":{"type":"null"}},"required":["a"]},{"properties":{"b":{"type":"null"}}}]})",
         {R"({"a":null})", R"({"a":null,"b":null})"},
         {R"({"b":null})"}},
        {R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5}]})", {"3", "5"}, {"2", "6"}},
        {R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]}]})", {"2", "3"}, {"1", "4"}},
        {R"({"type":"object","properties":{"a":{"type":"null"}},"required":["a"],
             "anyOf":[{"properties":{"b":{"type":"null"}},"required":["b"]},{"properties":{"c":{"type":"null"}}}]})",
         {R"({"a":null,"b":null})", R"({"a":null})", R"({"a":null,"c":null})"},
         {R"({"b":null})"}},
        {R"({"$defs":{"n":{"type":"object","properties":{"v":{"const":1},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},
             "required":["v"]}},"$ref":"#/$defs/n"})",
         {R"({"v":1})", R"({"v":1,"next":null})", R"({"v":1,"next":{"v":1,"next":{"v":1}}})"},
         {R"({"next":null})"}},
        {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
        {R"({"definitions":{"a/b~c":{"const":1}},"items":{"$ref":"#/definitions/a~1b~0c"},"type":"array"})",
         {"[1,1]"},
         {"[2]"}},
        {R"({"$defs":{"s":{"type":"string"}},"type":"object","properties":{"x":{"$ref":"#/$defs/s","maxLength":1}}})",
         {R"({"x":"a"})"},
         {R"({"x":"ab"})"}},
        {R"({"$defs":{"t":{"type":"object","properties":{"k":{"type":"array","items":{"allOf":[{"$ref":"#/$defs/t"},
             {"required":["k"]}]}}}}},"$ref":"#/$defs/t"})",
         {"{}", R"({"k":[{"k":[]}]})"},
         {R"({"k":[{}]})"}},
    });
}

TEST(JsonSchema, NumbersLieBetweenTheirBounds) {
    std::mt19937 random(11);
    const auto below = [&](uint32_t bound) { return int64_t(random() % bound); };
    for (int round = 0; round < 300; ++round) {
        Json schema;
        const bool is_integer = round % 2 == 0;
        schema["type"] = is_integer ? "integer" : "number";
        const auto bound = [&]() -> double {
            const double whole = double(below(3) == 0 ? below(20) - 10 : below(3000) - 1500);
            return is_integer && below(4) > 0 ? whole : whole + double(below(400)) / (below(2) == 0 ? 4 : 100);
        };
        double low = bound(), high = bound();
        if (low > high) std::swap(low, high);
        const int64_t kind = below(5);
        if (kind != 1) schema[kind == 2 ? "exclusiveMinimum" : "minimum"] = low;
        if (kind != 0) schema[kind == 3 ? "exclusiveMaximum" : "maximum"] = high;
        const auto grammar = Grammar::from_json_schema(schema);
        const auto is_valid = [&](double value) {
            if (kind != 1 && (kind == 2 ? value <= low : value < low)) return false;
            return kind == 0 || (kind == 3 ? value < high : value <= high);
        };
        if (!grammar) {  // no integer lies there
            EXPECT_TRUE(std::ceil(low) >= std::floor(high)) << schema.dump() << grammar.error().message;
            continue;
        }
        for (int tries = 0; tries < 200; ++tries) {
            std::string text;
            const int64_t whole = below(2) == 0 ? int64_t(low) + below(9) - 4 : int64_t(high) + below(9) - 4;
            if (is_integer)
                text = std::to_string(whole);
            else
                text = fmt::format("{}.{:02}", whole, below(100));
            const double value = std::strtod(text.c_str(), nullptr);
            ASSERT_EQ(has(**grammar, text), is_valid(value)) << schema.dump() << " " << text;
        }
    }
    expect({{R"({"type":"integer"})", {"0", "-7", "1234567890123456"}, {"00", "1.0", "-"}},
            {R"({"type":"integer","minimum":0})", {"0", "10"}, {"-1", "-0"}},
            {R"({"type":"integer","minimum":-9007199254740993,"maximum":9007199254740993})",
             {"-9007199254740992"},
             {"9107199254740993"}},
            {R"({"type":"number","minimum":0.1,"maximum":0.3})",
             {"0.1", "0.10000", "0.2999999", "0.3"},
             {"0.09", "0.31", "0", "1e-1"}},
            {R"({"type":"number","exclusiveMinimum":0})", {"0.0001", "5", "5.0"}, {"0", "0.0", "-1"}},
            {R"({"type":"number","maximum":-1.5})", {"-1.5", "-1.51", "-100"}, {"-1.4", "1.5", "-0.1"}}});
}

TEST(JsonSchema, StringsMatchTheirPatterns) {
    expect({
        {R"({"type":"string","pattern":"^a+b?$"})", {R"("a")", R"("aab")"}, {R"("b")", R"("abb")", R"("xa")"}},
        {R"({"type":"string","pattern":"b"})", {R"("b")", R"("abc")", R"("\nb")"}, {R"("a")"}},
        {R"({"type":"string","pattern":"^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$"})",
         {R"("555-1212")", R"("(888)555-1212")"},
         {R"("5551212")"}},
        {R"({"type":"string","pattern":"^[^\"\\\\]\\\"\\\\$"})", {R"("a\"\\")"}, {R"("a"\")", R"("\"\"\\")"}},
        {R"({"type":"string","pattern":"^\\w+@\\w+\\.com$"})", {R"("a@b.com")"}, {R"("a@bxcom")"}},
        {R"({"type":"string","pattern":"^(?:ab|(c|(?<n>d)){2})$"})", {R"("ab")", R"("cd")", R"("dd")"}, {R"("c")"}},
        {R"({"type":"string","pattern":"^a|b$"})", {R"("ax")", R"("xb")"}, {R"("xa")"}},
        {R"({"type":"string","pattern":"^.{2,3}$"})", {R"("é😀")", R"("\\\\")"}, {R"("a")", R"("a\nb")"}},
        {R"({"type":"string","pattern":"^[\\u00e0-\\u00ff\\x41]\\t$"})", {R"("é\t")", R"("A\t")"}, {R"("B\t")"}},
        {R"({"type":"string","format":"date"})",
         {R"("2024-02-29")", R"("2023-12-31")", R"("2000-02-29")"},
         {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("0000-01-01")", R"("2023-13-01")"}},
        {R"({"type":"string","format":"time"})",
         {R"("23:59:59Z")", R"("00:00:00.123+02:00")"},
         {R"("24:00:00Z")", R"("23:59")"}},
        {R"({"type":"string","format":"date-time"})", {R"("2024-02-29T01:02:03Z")"}, {R"("2024-02-29 01:02:03Z")"}},
        {R"({"type":"string","format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
    });
}

TEST(JsonSchema, SaysWhatItDoesNotEnforce) {
    const auto warnings = [](std::string_view schema) {
        const auto grammar = compiled(Json::parse(schema));
        return grammar ? fmt::format("{}", fmt::join(grammar->warnings(), " | ")) : "";
    };
    EXPECT_EQ(warnings(R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})"),
              "#/properties/a: uniqueItems is not enforced");
    EXPECT_EQ(warnings(R"({"type":"string","pattern":"^(?=a)b$"})"),
              R"(#: pattern "^(?=a)b$" is not enforced: a group that begins with '(?=' is not implemented)");
    EXPECT_EQ(warnings(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})"),
              "#: oneOf is taken for anyOf: one value may fit several of its alternatives");
    EXPECT_EQ(warnings(R"({"type":"string","format":"color"})"), "#: format \"color\" is not enforced");
    EXPECT_EQ(warnings(R"({"not":{"type":"null"},"type":"integer","multipleOf":3})"),
              "#: not is not enforced | #: multipleOf is not enforced");
}

TEST(JsonSchema, ErrorsBeginWithAPointer) {
    EXPECT_EQ(refusal("3"), "#: a schema is an object, true or false, not 3");
    EXPECT_EQ(refusal(R"({"properties":{"a":{"type":"strin"}}})"),
              "#/properties/a: type \"strin\" is none of object, array, string, integer, number, boolean, null");
    EXPECT_EQ(refusal(R"({"$ref":"#/$defs/x"})"), "#: $ref \"#/$defs/x\" leads nowhere: there is no \"$defs\"");
    EXPECT_EQ(refusal(R"({"$ref":"https://example.org/x"})"),
              "#: $ref \"https://example.org/x\" leads out of the schema: only \"#\" and \"#/...\" are followed");
    EXPECT_EQ(refusal(R"({"$ref":"#"})"), "#: no document is valid, or none that ends");
    EXPECT_EQ(refusal(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})"),
              "#: a $ref leads back to it before a value begins");
    EXPECT_EQ(refusal(R"({"type":"array","items":{"$ref":"#"},"minItems":1})"),
              "#: no document is valid, or none that ends");
    EXPECT_TRUE(refusal(R"({"allOf":[{"$ref":"#"}]})").starts_with("#: schemas lead to each other more than 128 deep"));
    EXPECT_EQ(refusal(R"({"type":"string","minLength":-1})"), "#: minLength -1 is no count");
    EXPECT_EQ(refusal(R"({"type":"array","minItems":3,"maxItems":2})"), "#: no document is valid, or none that ends");
    EXPECT_EQ(refusal(R"({"type":"integer","minimum":5,"maximum":4})"), "#: no document is valid, or none that ends");
}

TEST(JsonSchema, TakesLittleTimeForAnything) {
    std::string deep = "{\"type\":\"null\"}", wide = "{\"type\":\"object\",\"properties\":{\"a\":{}", chain;
    for (int i = 0; i < 60; ++i) deep = "{\"type\":\"array\",\"items\":" + deep + "}";
    for (int i = 0; i < 500; ++i)
        wide +=
            fmt::format(",\"property{}\":{{\"type\":\"object\",\"properties\":{{\"x\":{{\"type\":\"string\"}}}}}}", i);
    wide += "},\"additionalProperties\":true}";
    chain = "{\"$defs\":{\"d0\":{\"type\":\"null\"}";
    for (int i = 1; i < 60; ++i)
        chain += fmt::format(
            ",\"d{}\":{{\"type\":\"object\",\"properties\":{{\"a\":{{\"$ref\":\"#/$defs/d{}\"}},"
            "\"b\":{{\"$ref\":\"#/$defs/d{}\"}}}}}}",
            i, i - 1, i - 1);
    chain += "},\"$ref\":\"#/$defs/d59\"}";
    std::string products = "{\"allOf\":[";
    for (int i = 0; i < 30; ++i)
        products += fmt::format("{}{{\"anyOf\":[{{\"minimum\":{}}},{{\"maxLength\":{}}}]}}", i > 0 ? "," : "", i, i);
    products += "]}";
    for (const std::string& text :
         {deep, wide, chain, products, std::string(R"({"type":"string","maxLength":2000})"),
          std::string(R"({"type":"array","items":{"type":"string","minLength":2147483648},"minItems":2147483648})"),
          std::string(R"({"type":"string","pattern":"^(((a{0,1000}){0,1000}){0,1000}){0,1000}$"})")}) {
        SCOPED_TRACE(text.substr(0, 80));
        const Json schema = Json::parse(text);
        const std::clock_t start = std::clock();
        const auto grammar = Grammar::from_json_schema(schema);
        EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 1);
        EXPECT_EQ(grammar.has_value(), text != products);
    }
}

// ---- random documents of random schemas -----------------------------------------------------------------------------

class RandomSchemas {
public:
    explicit RandomSchemas(uint32_t seed) : random_(seed) {}

    Json make() {
        definitions_ = below(3);
        Json schema = any(3);
        Json definitions = Json::object();
        for (uint32_t i = 0; i < definitions_; ++i) {
            // What leads back to itself must be able to end.
            Json made;
            made["type"] = "object";
            made["properties"]["leaf"] = leaf();
            made["properties"]["more"] = any(1);
            if (below(2) == 0) made["required"] = Json::array({"leaf"});
            definitions[fmt::format("d{}", i)] = made;
        }
        if (definitions_ > 0 && schema.is_object()) schema["$defs"] = definitions;
        return schema;
    }

private:
    uint32_t below(uint32_t bound) { return uint32_t(random_() % bound); }
    std::string name() {
        static const std::vector<std::string> kNames{
            "a", "b", "ab", "name", "naïve", "x y", "q\"q", "", "long_property_name"};
        return kNames[below(uint32_t(kNames.size()))];
    }
    Json constant() {
        static const Json kConstants = Json::parse(R"([null,true,1,-2.5,"x","é\n\"",[],[1,"a"],{},{"k":{"l":[]}}])");
        return kConstants[below(uint32_t(kConstants.size()))];
    }
    Json leaf() {
        Json schema;
        switch (below(9)) {
            case 0:
                schema["type"] = "string";
                if (below(2) == 0) schema["minLength"] = below(6);
                if (below(2) == 0) schema["maxLength"] = 6 + below(30);
                break;
            case 1: {
                static const std::vector<std::string> kPatterns{"^[a-c]{2,5}$",     "x",         "^\\d+(\\.\\d+)?$",
                                                                "^(foo|bar)+$",     "^[^a-z]*$", "^\\S\\s\\w\\W\\D$",
                                                                "\\\\|\"",          "^.?$",      "end$",
                                                                "^([a-z]+ )*[A-Z]$"};
                schema["type"] = "string";
                schema["pattern"] = kPatterns[below(uint32_t(kPatterns.size()))];
                break;
            }
            case 2:
                schema["type"] = "string";
                schema["format"] =
                    std::vector<std::string>{"date", "time", "date-time", "uuid", "ipv4", "email"}[below(6)];
                break;
            case 3:
            case 4: {
                const bool is_integer = below(2) == 0;
                schema["type"] = is_integer ? "integer" : "number";
                const double low = double(below(2000)) / 8 - 100;
                if (below(2) == 0) schema[below(2) == 0 ? "minimum" : "exclusiveMinimum"] = low;
                if (below(2) == 0) schema[below(2) == 0 ? "maximum" : "exclusiveMaximum"] = low + 3 + below(1000);
                break;
            }
            case 5:
                schema["const"] = constant();
                break;
            case 6:
                schema["enum"] = Json::array({constant(), constant(), "z"});
                break;
            case 7:
                schema["type"] = Json::array({"null", "boolean", "integer"});
                break;
            default:
                if (below(2) == 0) return Json(true);
                schema = Json::object();
        }
        if (below(6) == 0) schema["description"] = "what it is";
        return schema;
    }
    Json object(int depth) {
        Json schema;
        schema["type"] = "object";
        for (uint32_t count = below(4); count > 0; --count) {
            const std::string key = name();
            if (schema.contains("properties") && schema["properties"].contains(key)) continue;
            schema["properties"][key] = any(depth - 1);
            if (below(2) == 0) schema["required"].push_back(key);
        }
        switch (below(4)) {
            case 0:
                schema["additionalProperties"] = false;
                break;
            case 1:
                schema["additionalProperties"] = leaf();
                break;
            default:
                break;
        }
        return schema;
    }
    Json any(int depth) {
        if (depth == 0) return leaf();
        Json schema;
        switch (below(9)) {
            case 0:
            case 1:
            case 2:
                return object(depth);
            case 3:
            case 4:
                schema["type"] = "array";
                schema["items"] = any(depth - 1);
                if (below(2) == 0) schema["minItems"] = below(3);
                if (below(2) == 0) schema["maxItems"] = 3 + below(4);
                if (below(4) == 0) schema["prefixItems"] = Json::array({leaf(), leaf()});
                return schema;
            case 5:
                schema["anyOf"] = Json::array({any(depth - 1), any(depth - 1)});
                return schema;
            case 6: {
                Json one = object(depth), other = object(depth);
                one["properties"]["kind"] = {{"const", "one"}};
                other["properties"]["kind"] = {{"const", "other"}};
                one["required"].push_back("kind"), other["required"].push_back("kind");
                schema["oneOf"] = Json::array({one, other});
                return schema;
            }
            case 7:
                schema["allOf"] = Json::array({object(depth), object(depth)});
                return schema;
            default:
                if (definitions_ == 0) return leaf();
                schema["$ref"] = fmt::format("#/$defs/d{}", below(definitions_));
                if (below(3) == 0) schema["required"] = Json::array({"leaf"});
                return schema;
        }
    }

    std::mt19937 random_;
    uint32_t definitions_ = 0;
};

// Bytes, and pieces as vocabularies have them.
std::shared_ptr<const TokenTree> pieces() {
    static const auto tree = [] {
        std::vector<TokenTree::Token> tokens;
        for (int byte = 0; byte < 256; ++byte) tokens.push_back({std::string(1, char(byte)), TokenTree::Kind::text});
        for (const char* piece :
             {"{\"",      "\":",  "\": ", "\",",  "\", \"", "\"}",   "\"]",  "},",    "}]",    "]}",   "},{",
              "[{",       "[[",   "]]",   "\\\"", "\\n",    "\\u00", "null", "true",  "false", "name", " name",
              "kind",     "one",  "12",   "34",   "0.5",    "-1",    "e+",   "\n  ",  "é",     "ï",    "\xF0\x9F",
              "\x98\x80", "日本", "ab",   "foo",  "bar",    "ABC",   "the ", "2024-", "-02-"})
            tokens.push_back({piece, TokenTree::Kind::text});
        tokens.push_back({"</s>", TokenTree::Kind::end});
        return std::make_shared<const TokenTree>(std::move(tokens));
    }();
    return tree;
}

// By random choice, tending more and more to what ends strings and lists; nullopt: it did not end.
std::optional<std::string> random_document(GrammarConstraint constraint, std::mt19937& random) {
    const TokenTree& tree = *pieces();
    std::string text;
    for (int tokens = 0; tokens < 3000; ++tokens) {
        const auto mask = constraint.allowed();
        if (!mask) {
            ADD_FAILURE() << mask.error().message << "\n" << text;
            return std::nullopt;
        }
        std::vector<int32_t> allowed, closing;
        for (int32_t token = 0; token < int32_t(tree.size()); ++token) {
            if (!((*mask)[size_t(token) / 64] >> (token % 64) & 1)) continue;
            allowed.push_back(token);
            if (tree.kind(token) == TokenTree::Kind::end || std::string_view("\"]}").contains(tree.bytes(token)[0]))
                closing.push_back(token);
        }
        if (allowed.empty()) return std::nullopt;
        const auto& from = !closing.empty() && int(random() % 100) < 5 + tokens ? closing : allowed;
        const int32_t token = from[random() % from.size()];
        if (!constraint.accept(token)) ADD_FAILURE() << "what is allowed is accepted";
        if (tree.kind(token) == TokenTree::Kind::end) return text;
        text += tree.bytes(token);
    }
    return std::nullopt;
}

TEST(JsonSchema, DocumentsOfRandomSchemasAreValid) {
    const char* python = std::getenv("RIFTJIT_PEER_JSONSCHEMA");
    if (python == nullptr) return lack_oracle("RIFTJIT_PEER_JSONSCHEMA, a Python with jsonschema: tests/peer/fetch.sh");
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("riftjit_schemas_{}", getpid());
    std::filesystem::create_directories(folder);
    std::vector<Json> schemas;
    for (uint32_t seed = 0; seed < 500; ++seed) schemas.push_back(RandomSchemas(seed).make());
    for (
        const char* reported :
        {R"({"type":"string","maxLength":2000})", R"({"type":"object","properties":{}})", "{}", R"({"type":"object"})",
         R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string","pattern":"^[a-z]+(-[a-z]+)*$"}},
              "required":["b"]}},"required":["a"]})",
         R"({"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":100},
              "age":{"type":"integer","minimum":0,"maximum":150}},"required":["name","age"],"additionalProperties":false},
              "minItems":10,"maxItems":100})"})
        schemas.push_back(Json::parse(reported));
    std::mt19937 random(99);
    size_t refused = 0, warned = 0, unfinished = 0, documents = 0;
    {
        std::ofstream out(folder / "documents");
        for (const Json& schema : schemas) {
            const auto grammar = Grammar::from_json_schema(schema);
            if (!grammar) {  // what both sides of allOf ask for may be nothing
                EXPECT_EQ(grammar.error().message, "#: no document is valid, or none that ends") << schema.dump();
                ++refused;
                continue;
            }
            if (!(*grammar)->warnings().empty()) {  // two patterns for one text, and the like
                ++warned;
                continue;
            }
            const GrammarConstraint constraint(*TokenMasks::create(*grammar, pieces()));
            for (int i = 0; i < 4; ++i) {
                const auto text = random_document(constraint, random);
                ++(text ? documents : unfinished);
                if (text) out << Json({{"schema", schema}, {"text", *text}}).dump() << "\n";
            }
        }
        std::ofstream(folder / "judge.py") << R"(
import json, sys, jsonschema
kind = jsonschema.Draft202012Validator
wrong, schema = 0, None
for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    if case["schema"] != schema:
        schema = case["schema"]
        kind.check_schema(schema)
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    try:
        validator.validate(json.loads(case["text"]))
    except Exception as error:
        wrong += 1
        if wrong < 6:
            print(json.dumps(case["schema"]), case["text"], str(error).splitlines()[0], sep="\n  ")
sys.exit(wrong > 0)
)";
    }
    std::printf("%zu schemas: %zu refused, %zu not enforced, %zu documents, %zu unfinished\n", schemas.size(), refused,
                warned, documents, unfinished);
    EXPECT_LT(refused + warned, schemas.size() / 5);
    EXPECT_LT(unfinished, documents / 20);
    const std::string command =
        fmt::format("{} {} {}", python, (folder / "judge.py").string(), (folder / "documents").string());
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::filesystem::remove_all(folder);
}

}  // namespace json_schema_test
}  // namespace riftjit::engine
