// JSON schemas (draft 2020-12, and what older drafts wrote otherwise) as grammars. What is said of a value in several
// places, by allOf, a $ref with more beside it, or anyOf below what holds for all alternatives, is first made one
// schema.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/grammar/builder.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/json_text_grammar.h"
#include "host/json_text.h"
#include "host/utf8.h"

namespace riftjit::engine {

namespace {

using Schema = nlohmann::ordered_json;

constexpr int kMostSchemaDepth = 128;  // of schemas within schemas, and of what $ref leads to before a value begins
constexpr size_t kMostMerged = 512;    // alternatives that several anyOf make together
constexpr size_t kMostExpressions = 400'000;
constexpr size_t kMostNameCharacters = 128;  // of a property's name, as far as others are told from it

const std::set<std::string, std::less<>> kAnnotations{"title",
                                                      "description",
                                                      "default",
                                                      "examples",
                                                      "$comment",
                                                      "deprecated",
                                                      "readOnly",
                                                      "writeOnly",
                                                      "$schema",
                                                      "$id",
                                                      "id",
                                                      "$defs",
                                                      "definitions",
                                                      "discriminator",
                                                      "contentEncoding",
                                                      "contentMediaType",
                                                      "$anchor",
                                                      "$vocabulary",
                                                      "nullable",
                                                      "example",
                                                      "externalDocs",
                                                      "xml"};
const std::array<std::string_view, 7> kTypes{"object", "array", "string", "integer", "number", "boolean", "null"};

struct KeywordType {
    std::string_view keyword, type;  // what only values of this type are asked for
};
const std::array kKeywordTypes = std::to_array<KeywordType>({{"properties", "object"},
                                                             {"required", "object"},
                                                             {"additionalProperties", "object"},
                                                             {"unevaluatedProperties", "object"},
                                                             {"patternProperties", "object"},
                                                             {"propertyNames", "object"},
                                                             {"minProperties", "object"},
                                                             {"maxProperties", "object"},
                                                             {"items", "array"},
                                                             {"prefixItems", "array"},
                                                             {"minItems", "array"},
                                                             {"maxItems", "array"},
                                                             {"uniqueItems", "array"},
                                                             {"contains", "array"},
                                                             {"minLength", "string"},
                                                             {"maxLength", "string"},
                                                             {"pattern", "string"},
                                                             {"format", "string"},
                                                             {"minimum", "number"},
                                                             {"maximum", "number"},
                                                             {"exclusiveMinimum", "number"},
                                                             {"exclusiveMaximum", "number"},
                                                             {"multipleOf", "number"}});

std::string shown(const Schema& value) {
    std::string text = json_text(value);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return escape_unprintable(text);
}

class SchemaCompiler {
public:
    using Expression = GrammarBuilder::Expression;

    SchemaCompiler(GrammarBuilder& builder, const Schema& root) : root_(root), builder_(builder) {}
    Result<Expression> document() { return as_rule(root_, "#", 0); }
    Result<std::shared_ptr<const Grammar>> compile();
    std::vector<std::string> take_warnings() { return std::move(warnings_); }

private:
    template <class... Args>
    static std::unexpected<Error> refuse(std::string_view where, fmt::format_string<Args...> format, Args&&... args) {
        return fail(ErrorKind::Format, "{}: {}", escape_unprintable(where),
                    fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void warn(std::string_view where, fmt::format_string<Args...> format, Args&&... args) {
        std::string warning =
            fmt::format("{}: {}", escape_unprintable(where), fmt::format(format, std::forward<Args>(args)...));
        if (warnings_.size() < 20 && std::ranges::find(warnings_, warning) == warnings_.end())
            warnings_.push_back(std::move(warning));
    }

    // Schemas become expressions.
    Result<Expression> value(const Schema& schema, const std::string& where, int depth);
    Result<Expression> as_rule(const Schema& schema, const std::string& where, int depth);
    Result<Expression> reference(const std::string& target, const std::string& where, int depth);
    Result<Expression> alternatives(const Schema& schema, const char* keyword, const std::string& where, int depth);
    Result<Expression> constants(const Schema& schema, const std::string& where);
    Result<Expression> of_type(std::string_view type, const Schema& schema, const std::string& where, int depth);
    Result<Expression> object(const Schema& schema, const std::string& where, int depth);
    Result<Expression> array(const Schema& schema, const std::string& where, int depth);
    Result<Expression> string(const Schema& schema, const std::string& where);
    Result<Expression> number(const Schema& schema, const std::string& where, bool is_integer);

    // Schemas become others.
    Result<const Schema*> resolve(const std::string& target, const std::string& where) const;
    Result<Schema> joined(const Schema& schema, const std::string& where, int depth);  // without $ref and allOf
    Result<Schema> merge(const Schema& one, const Schema& other, const std::string& where);
    Result<std::optional<std::vector<std::string>>> types(const Schema& schema, const std::string& where) const;
    Result<std::optional<uint32_t>> count(const Schema& schema, const char* keyword, const std::string& where) const;
    Result<std::optional<NumberBound>> bound(const Schema& schema, bool is_least, bool is_integer,
                                             const std::string& where);
    bool fits(const Schema& schema, const Schema& value) const;
    void warn_of_others(const Schema& schema, const std::string& where);

    // JSON's own pieces.
    Expression space();
    Expression characters();
    Expression text() { return builder_.sequence({quote(), builder_.repeat(characters(), 0, kAny), quote()}); }
    Expression quote() { return builder_.literal("\""); }
    Expression comma() { return builder_.sequence({builder_.literal(","), space()}); }
    Expression any_value();
    Expression any_number();
    Expression any_object();
    Expression any_array();
    Expression other_name(const std::vector<std::string>& names);
    Expression in_rule(std::string where, Expression body);
    Expression list(Expression first, Expression more, uint32_t min, uint32_t max);

    static constexpr uint32_t kAny = GrammarBuilder::kUnlimited;
    const Schema& root_;
    GrammarBuilder& builder_;
    std::vector<std::string> warnings_;
    std::map<std::string, uint32_t> rules_;  // of pointers, and of schemas that were put together
    std::optional<Expression> space_, characters_, any_value_, any_object_, any_array_;
};

SchemaCompiler::Expression SchemaCompiler::in_rule(std::string where, Expression body) {
    const uint32_t rule = builder_.declare(std::move(where));
    builder_.define(rule, body);
    return builder_.call(rule);
}

// Little, so that a model that likes it does not go on for ever.
SchemaCompiler::Expression SchemaCompiler::space() {
    if (!space_)
        space_ = in_rule(
            "white space",
            builder_.choice(
                {builder_.nothing(), builder_.literal(" "),
                 builder_.sequence({builder_.repeat(builder_.literal("\n"), 1, 2),
                                    builder_.repeat(builder_.characters({{' ', ' '}, {'\t', '\t'}}), 0, 20)})}));
    return *space_;
}

// One character of a value, half a surrogate pair being none.
SchemaCompiler::Expression SchemaCompiler::characters() {
    if (characters_) return *characters_;
    const auto hex = [this] { return builder_.characters({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}); };
    const Expression code = builder_.choice(
        {builder_.sequence({builder_.characters({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}),
                            builder_.repeat(hex(), 3, 3)}),
         builder_.sequence({builder_.characters({{'d', 'd'}, {'D', 'D'}}), builder_.characters({{'0', '7'}}),
                            builder_.repeat(hex(), 2, 2)})});
    std::vector<CharacterRange> letters;
    for (const char letter : std::string_view("\"\\/bfnrt")) letters.push_back({char32_t(letter), char32_t(letter)});
    characters_ =
        builder_.choice({builder_.characters(complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}})),
                         builder_.sequence({builder_.literal("\\"),
                                            builder_.choice({builder_.characters(std::move(letters)),
                                                             builder_.sequence({builder_.literal("u"), code})})})});
    return *characters_;
}

// Items with commas between them; `more` is an item behind a comma.
SchemaCompiler::Expression SchemaCompiler::list(Expression first, Expression more, uint32_t min, uint32_t max) {
    if (max == 0) return min == 0 ? builder_.nothing() : builder_.never();
    const Expression some =
        builder_.sequence({first, builder_.repeat(more, min == 0 ? 0 : min - 1, max == kAny ? kAny : max - 1)});
    return min == 0 ? builder_.optional(some) : some;
}

SchemaCompiler::Expression SchemaCompiler::any_number() {
    const Expression digits = builder_.characters({{'0', '9'}});
    return builder_.sequence(
        {json_number(builder_, std::nullopt, std::nullopt, /*is_integer=*/false),
         builder_.optional(builder_.sequence({builder_.characters({{'e', 'e'}, {'E', 'E'}}),
                                              builder_.optional(builder_.characters({{'+', '+'}, {'-', '-'}})),
                                              builder_.repeat(digits, 1, 2)}))});
}

SchemaCompiler::Expression SchemaCompiler::any_object() {
    if (any_object_) return *any_object_;
    const uint32_t rule = builder_.declare("any object");
    any_object_ = builder_.call(rule);
    const Expression pair =
        in_rule("a pair", builder_.sequence({text(), space(), builder_.literal(":"), space(), any_value()}));
    builder_.define(rule, builder_.sequence({builder_.literal("{"), space(),
                                             list(pair, builder_.sequence({comma(), pair}), 0, kAny), space(),
                                             builder_.literal("}")}));
    return *any_object_;
}

SchemaCompiler::Expression SchemaCompiler::any_array() {
    if (any_array_) return *any_array_;
    const uint32_t rule = builder_.declare("any array");
    any_array_ = builder_.call(rule);
    builder_.define(rule, builder_.sequence({builder_.literal("["), space(),
                                             list(any_value(), builder_.sequence({comma(), any_value()}), 0, kAny),
                                             space(), builder_.literal("]")}));
    return *any_array_;
}

SchemaCompiler::Expression SchemaCompiler::any_value() {
    if (any_value_) return *any_value_;
    const uint32_t rule = builder_.declare("any value");
    any_value_ = builder_.call(rule);
    builder_.define(rule, builder_.choice({any_object(), any_array(), text(), any_number(), builder_.literal("true"),
                                           builder_.literal("false"), builder_.literal("null")}));
    return *any_value_;
}

// ---- schemas from schemas -------------------------------------------------------------------------------------------

Result<const Schema*> SchemaCompiler::resolve(const std::string& target, const std::string& where) const {
    if (!target.starts_with('#'))
        return refuse(where, "$ref \"{}\" leads out of the schema: only \"#\" and \"#/...\" are followed",
                      escape_unprintable(target));
    std::string pointer;
    for (size_t i = 1; i < target.size(); ++i) {  // percent signs of URIs
        unsigned byte = 0;
        if (target[i] == '%' && i + 2 < target.size() &&
            std::from_chars(&target[i + 1], &target[i + 3], byte, 16).ptr == &target[i + 3])
            pointer += static_cast<char>(byte), i += 2;
        else
            pointer += target[i];
    }
    if (!pointer.empty() && pointer[0] != '/')
        return refuse(where, "$ref \"{}\" is an anchor: only \"#\" and \"#/...\" are followed",
                      escape_unprintable(target));
    const Schema* at = &root_;
    for (size_t begin = 1; begin <= pointer.size();) {
        const size_t end = std::min(pointer.find('/', begin), pointer.size());
        std::string name;
        for (size_t i = begin; i < end; ++i) {
            if (pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1'))
                name += pointer[++i] == '0' ? '~' : '/';
            else
                name += pointer[i];
        }
        const Schema* below = nullptr;
        if (at->is_object() && at->contains(name)) {
            below = &(*at)[name];
        } else if (at->is_array()) {
            size_t index = 0;
            const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), index);
            if (error == std::errc() && rest == name.data() + name.size() && index < at->size()) below = &(*at)[index];
        }
        if (below == nullptr)
            return refuse(where, "$ref \"{}\" leads nowhere: there is no \"{}\"", escape_unprintable(target),
                          escape_unprintable(name));
        at = below;
        begin = end + 1;
    }
    return at;
}

Result<std::optional<std::vector<std::string>>> SchemaCompiler::types(const Schema& schema,
                                                                      const std::string& where) const {
    if (!schema.contains("type")) return std::nullopt;
    const Schema& type = schema["type"];
    std::vector<std::string> found;
    const auto add = [&](const Schema& name) {
        if (!name.is_string() || std::ranges::find(kTypes, name.get<std::string>()) == kTypes.end()) return false;
        found.push_back(name.get<std::string>());
        return true;
    };
    const bool is_known = type.is_array() ? std::ranges::all_of(type, add) : add(type);
    if (!is_known) return refuse(where, "type {} is none of {}", shown(type), fmt::join(kTypes, ", "));
    return found;
}

Result<std::optional<uint32_t>> SchemaCompiler::count(const Schema& schema, const char* keyword,
                                                      const std::string& where) const {
    if (!schema.contains(keyword)) return std::nullopt;
    const Schema& given = schema[keyword];
    const double as_double = given.is_number() ? given.get<double>() : -1;
    if (as_double < 0 || as_double != std::floor(as_double))
        return refuse(where, "{} {} is no count", keyword, shown(given));
    // Beyond what can be counted a limit is none, and a least number cannot be met.
    if (as_double >= kAny) {
        if (std::string_view(keyword).starts_with("max")) return std::nullopt;
        return refuse(where, "{} {} is more than {}", keyword, shown(given), kAny - 1);
    }
    return static_cast<uint32_t>(as_double);
}

namespace {

std::optional<std::vector<std::string>> common_types(const Schema& one, const Schema& other) {
    const auto listed = [](const Schema& type) {
        std::vector<std::string> names;
        for (const Schema& name : type.is_array() ? type : Schema::array({type}))
            if (name.is_string()) names.push_back(name.get<std::string>());
        return names;
    };
    const std::vector<std::string> mine = listed(one), theirs = listed(other);
    std::vector<std::string> common;
    for (const std::string& name : mine) {
        if (std::ranges::find(theirs, name) != theirs.end() ||
            (name == "integer" && std::ranges::find(theirs, "number") != theirs.end()))
            common.push_back(name);
        else if (name == "number" && std::ranges::find(theirs, "integer") != theirs.end())
            common.push_back("integer");
    }
    return common;
}

}  // namespace

// What both ask for.
Result<Schema> SchemaCompiler::merge(const Schema& one, const Schema& other, const std::string& where) {
    if (one.is_boolean()) return one.get<bool>() ? other : one;
    if (other.is_boolean()) return other.get<bool>() ? one : other;
    Schema made = one;
    const auto both = [](const Schema& a, const Schema& b) {
        Schema all;
        all["allOf"] = Schema::array({a, b});
        return all;
    };
    // Names that only one knows are additional to the other.
    const auto beyond = [](const Schema& schema, const std::string& name) -> const Schema* {
        if (schema.contains("properties") && schema["properties"].contains(name)) return nullptr;
        return schema.contains("additionalProperties") ? &schema["additionalProperties"] : nullptr;
    };
    if (one.contains("properties") || other.contains("properties")) {
        Schema properties = Schema::object();
        for (const Schema* from : {&one, &other}) {
            if (!from->contains("properties") || !(*from)["properties"].is_object()) continue;
            const Schema& against = from == &one ? other : one;
            for (const auto& [name, property] : (*from)["properties"].items()) {
                if (properties.contains(name)) continue;
                if (against.contains("properties") && against["properties"].contains(name))
                    properties[name] = both(property, against["properties"][name]);
                else if (const Schema* additional = beyond(against, name))
                    properties[name] = both(property, *additional);
                else
                    properties[name] = property;
            }
        }
        made["properties"] = std::move(properties);
    }
    for (const auto& [keyword, theirs] : other.items()) {
        if (keyword == "properties" || kAnnotations.contains(keyword)) continue;
        if (!made.contains(keyword)) {
            made[keyword] = theirs;
            continue;
        }
        Schema& mine = made[keyword];
        if (mine == theirs && keyword != "allOf") continue;
        if (keyword == "type") {
            const auto common = common_types(mine, theirs);
            if (common->empty()) return Schema(false);
            mine = *common;
        } else if (keyword == "enum" && mine.is_array() && theirs.is_array()) {
            Schema common = Schema::array();
            for (const Schema& candidate : mine)
                if (std::ranges::find(theirs, candidate) != theirs.end()) common.push_back(candidate);
            mine = std::move(common);
        } else if (keyword == "const") {
            return Schema(false);
        } else if (keyword == "required" && mine.is_array() && theirs.is_array()) {
            for (const Schema& name : theirs)
                if (std::ranges::find(mine, name) == mine.end()) mine.push_back(name);
        } else if (keyword.starts_with("min") || keyword == "exclusiveMinimum") {
            if (mine.is_number() && theirs.is_number() && theirs.get<double>() > mine.get<double>()) mine = theirs;
        } else if (keyword.starts_with("max") || keyword == "exclusiveMaximum") {
            if (mine.is_number() && theirs.is_number() && theirs.get<double>() < mine.get<double>()) mine = theirs;
        } else if (keyword == "additionalProperties" || keyword == "items" || keyword == "propertyNames") {
            mine = both(mine, theirs);
        } else if (keyword == "allOf" && mine.is_array() && theirs.is_array()) {
            for (const Schema& part : theirs) mine.push_back(part);
        } else if ((keyword == "anyOf" || keyword == "oneOf") && mine.is_array() && theirs.is_array()) {
            if (mine.size() * theirs.size() > kMostMerged)
                return refuse(where, "{} of {} and {} alternatives together are more than {}", keyword, mine.size(),
                              theirs.size(), kMostMerged);
            Schema pairs = Schema::array();
            for (const Schema& a : mine)
                for (const Schema& b : theirs) pairs.push_back(both(a, b));
            mine = std::move(pairs);
        } else if (keyword == "$ref") {
            Schema further;
            further["$ref"] = theirs;
            if (!made.contains("allOf")) made["allOf"] = Schema::array();
            made["allOf"].push_back(std::move(further));
        } else {
            warn(where, "two of {} hold for one value, and only the first is enforced: {} and {}", keyword, shown(mine),
                 shown(theirs));
        }
    }
    return made;
}

Result<Schema> SchemaCompiler::joined(const Schema& schema, const std::string& where, int depth) {
    if (depth > kMostSchemaDepth)
        return refuse(where, "schemas lead to each other more than {} deep before a value begins", kMostSchemaDepth);
    Schema made = schema;
    while (made.is_object() && (made.contains("$ref") || made.contains("allOf"))) {
        if (++depth > kMostSchemaDepth)
            return refuse(where, "schemas lead to each other more than {} deep before a value begins",
                          kMostSchemaDepth);
        Schema parts = Schema::array();
        if (made.contains("$ref")) {
            if (!made["$ref"].is_string()) return refuse(where, "$ref {} is no text", shown(made["$ref"]));
            RIFTJIT_TRY(target, resolve(made["$ref"].get<std::string>(), where));
            parts.push_back(*target);
            made.erase("$ref");
        } else {
            parts = std::move(made["allOf"]);
            if (!parts.is_array()) return refuse(where, "allOf {} is no list", shown(parts));
            made.erase("allOf");
        }
        for (const Schema& part : parts) {
            if (!part.is_object() && !part.is_boolean())
                return refuse(where, "a schema is an object, true or false, not {}", shown(part));
            RIFTJIT_TRY(whole, joined(part, where, depth + 1));
            RIFTJIT_TRY(merged, merge(made, whole, where));
            made = std::move(merged);
            if (made.is_boolean()) break;
        }
    }
    return made;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Whether a constant is what the rest of its schema asks for, as far as that is looked at.
bool SchemaCompiler::fits(const Schema& schema, const Schema& value) const {
    const auto is_of = [&](const Schema& name) {
        const std::string type = name.is_string() ? name.get<std::string>() : "";
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_boolean();
        if (type == "null") return value.is_null();
        if (type == "number") return value.is_number();
        return value.is_number_integer() ||
               (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
    };
    if (schema.contains("type")) {
        const Schema& type = schema["type"];
        if (!(type.is_array() ? std::ranges::any_of(type, is_of) : is_of(type))) return false;
    }
    if (schema.contains("const") && schema["const"] != value) return false;
    const auto limit = [&](const char* keyword) -> std::optional<double> {
        if (!schema.contains(keyword) || !schema[keyword].is_number()) return std::nullopt;
        return schema[keyword].get<double>();
    };
    if (value.is_number()) {
        const double number = value.get<double>();
        if (const auto least = limit("minimum"); least && number < *least) return false;
        if (const auto most = limit("maximum"); most && number > *most) return false;
        if (const auto least = limit("exclusiveMinimum"); least && number <= *least) return false;
        if (const auto most = limit("exclusiveMaximum"); most && number >= *most) return false;
    }
    if (value.is_string()) {
        const std::string& text = value.get_ref<const std::string&>();
        const auto length = static_cast<double>(
            std::ranges::count_if(text, [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
        if (const auto least = limit("minLength"); least && length < *least) return false;
        if (const auto most = limit("maxLength"); most && length > *most) return false;
    }
    return true;
}

Result<SchemaCompiler::Expression> SchemaCompiler::constants(const Schema& schema, const std::string& where) {
    Schema values = Schema::array();
    if (schema.contains("enum")) {
        values = schema["enum"];
        if (!values.is_array()) return refuse(where, "enum {} is no list", shown(values));
    } else {
        values.push_back(schema["const"]);
    }
    std::vector<Expression> ways;
    for (const Schema& value : values)
        if (fits(schema, value)) ways.push_back(builder_.literal(json_text(value)));
    for (const char* keyword : {"pattern", "properties", "items"})
        if (schema.contains(keyword)) warn(where, "{} is not enforced beside enum or const", keyword);
    return builder_.choice(std::move(ways));
}

namespace {

// Whether no value fits both: by their types, or by a constant of a property that both require.
bool are_apart(const Schema& one, const Schema& other) {
    if (!one.is_object() || !other.is_object()) return false;
    if (one.contains("type") && other.contains("type") && common_types(one["type"], other["type"])->empty())
        return true;
    const auto constants = [](const Schema& of) {
        Schema values = Schema::array();
        if (of.is_object() && of.contains("const")) values.push_back(of["const"]);
        if (of.is_object() && of.contains("enum") && of["enum"].is_array()) values = of["enum"];
        return values;
    };
    const auto differ = [&](const Schema& a, const Schema& b) {
        const Schema mine = constants(a), theirs = constants(b);
        return !mine.empty() && !theirs.empty() && std::ranges::none_of(mine, [&](const Schema& value) {
            return std::ranges::find(theirs, value) != theirs.end();
        });
    };
    if (differ(one, other)) return true;
    for (const Schema* of : {&one, &other})
        if (!of->contains("properties") || !(*of)["properties"].is_object() || !of->contains("required")) return false;
    for (const auto& [name, property] : one["properties"].items()) {
        const auto requires_it = [&](const Schema& of) {
            return std::ranges::find(of["required"], Schema(name)) != of["required"].end();
        };
        if (other["properties"].contains(name) && requires_it(one) && requires_it(other) &&
            differ(property, other["properties"][name]))
            return true;
    }
    return false;
}

}  // namespace

Result<SchemaCompiler::Expression> SchemaCompiler::alternatives(const Schema& schema, const char* keyword,
                                                                const std::string& where, int depth) {
    const Schema& given = schema[keyword];
    if (!given.is_array() || given.empty()) return refuse(where, "{} {} is no list of schemas", keyword, shown(given));
    Schema rest = schema;
    rest.erase(keyword);
    const bool is_all =
        std::ranges::all_of(rest.items(), [](const auto& item) { return kAnnotations.contains(item.key()); });
    std::vector<Expression> ways;
    std::vector<Schema> wholes;
    for (size_t i = 0; i < given.size(); ++i) {
        const std::string place = fmt::format("{}/{}/{}", where, keyword, i);
        if (is_all && std::string_view(keyword) == "anyOf") {
            RIFTJIT_TRY(way, value(given[i], place, depth + 1));
            ways.push_back(way);
            continue;
        }
        if (!given[i].is_object() && !given[i].is_boolean())
            return refuse(place, "a schema is an object, true or false, not {}", shown(given[i]));
        RIFTJIT_TRY(whole, joined(given[i], place, depth + 1));
        wholes.push_back(whole);
        if (is_all) {
            RIFTJIT_TRY(way, value(given[i], place, depth + 1));
            ways.push_back(way);
            continue;
        }
        RIFTJIT_TRY(merged, merge(rest, whole, place));
        RIFTJIT_TRY(way, as_rule(merged, place, depth + 1));
        ways.push_back(way);
    }
    if (std::string_view(keyword) == "oneOf")
        for (size_t i = 0; i < wholes.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (!are_apart(wholes[i], wholes[j])) {
                    warn(where, "oneOf is taken for anyOf: one value may fit several of its alternatives");
                    i = j = wholes.size();
                }
    return builder_.choice(std::move(ways));
}

// A schema that is met again while it is read, by way of $ref, is the same rule.
Result<SchemaCompiler::Expression> SchemaCompiler::as_rule(const Schema& schema, const std::string& where, int depth) {
    if (schema.is_boolean()) return value(schema, where, depth);
    const std::string key = json_text(schema);
    if (const auto known = rules_.find(key); known != rules_.end()) return builder_.call(known->second);
    const uint32_t rule = builder_.declare(escape_unprintable(where));
    rules_.emplace(key, rule);
    RIFTJIT_TRY(body, value(schema, where, depth));
    builder_.define(rule, body);
    return builder_.call(rule);
}

Result<SchemaCompiler::Expression> SchemaCompiler::reference(const std::string& target, const std::string& where,
                                                             int depth) {
    if (const auto known = rules_.find(target); known != rules_.end()) return builder_.call(known->second);
    RIFTJIT_TRY(schema, resolve(target, where));
    const uint32_t rule = builder_.declare(escape_unprintable(target));
    rules_.emplace(target, rule);
    RIFTJIT_TRY(body, value(*schema, target, depth + 1));
    builder_.define(rule, body);
    return builder_.call(rule);
}

void SchemaCompiler::warn_of_others(const Schema& schema, const std::string& where) {
    for (const char* keyword : {"not", "if", "dependentSchemas", "dependentRequired", "dependencies", "contains",
                                "propertyNames", "$dynamicRef", "$recursiveRef", "unevaluatedItems"})
        if (schema.contains(keyword)) warn(where, "{} is not enforced", keyword);
    if (schema.contains("uniqueItems") && schema["uniqueItems"] != false) warn(where, "uniqueItems is not enforced");
    if (schema.contains("multipleOf") && schema["multipleOf"] != 1) warn(where, "multipleOf is not enforced");
}

Result<SchemaCompiler::Expression> SchemaCompiler::value(const Schema& schema, const std::string& where, int depth) {
    if (depth > kMostSchemaDepth) return refuse(where, "schemas are nested deeper than {}", kMostSchemaDepth);
    if (builder_.parts() > kMostExpressions)
        return refuse(where, "the schema is too large: more than {} parts", kMostExpressions);
    if (schema.is_boolean()) return schema.get<bool>() ? any_value() : builder_.never();
    if (!schema.is_object()) return refuse(where, "a schema is an object, true or false, not {}", shown(schema));
    const auto others = [&](std::string_view but) {
        return std::ranges::any_of(
            schema.items(), [&](const auto& item) { return item.key() != but && !kAnnotations.contains(item.key()); });
    };
    if (schema.contains("$ref") && schema["$ref"].is_string() && !others("$ref"))
        return reference(schema["$ref"].get<std::string>(), where, depth);
    if (schema.contains("$ref") || schema.contains("allOf")) {
        RIFTJIT_TRY(whole, joined(schema, where, depth + 1));
        return as_rule(whole, where, depth + 1);
    }
    warn_of_others(schema, where);
    if (schema.contains("anyOf")) return alternatives(schema, "anyOf", where, depth);
    if (schema.contains("oneOf")) return alternatives(schema, "oneOf", where, depth);
    RIFTJIT_TRY(given, types(schema, where));  // also where constants are all that matters
    if (schema.contains("const") || schema.contains("enum")) return constants(schema, where);
    if (!given) {
        std::vector<std::string> inferred;
        for (const auto& [keyword, type] : kKeywordTypes)
            if (schema.contains(keyword) && std::ranges::find(inferred, type) == inferred.end())
                inferred.emplace_back(type);
        if (inferred.empty()) return any_value();
        given = inferred;
    }
    std::vector<Expression> ways;
    for (const std::string& type : *given) {
        if (type == "integer" && std::ranges::find(*given, "number") != given->end()) continue;
        RIFTJIT_TRY(way, of_type(type, schema, where, depth));
        ways.push_back(way);
    }
    return builder_.choice(std::move(ways));
}

Result<SchemaCompiler::Expression> SchemaCompiler::of_type(std::string_view type, const Schema& schema,
                                                           const std::string& where, int depth) {
    if (type == "object") return object(schema, where, depth);
    if (type == "array") return array(schema, where, depth);
    if (type == "string") return string(schema, where);
    if (type == "integer") return number(schema, where, /*is_integer=*/true);
    if (type == "number") return number(schema, where, /*is_integer=*/false);
    if (type == "null") return builder_.literal("null");
    return builder_.choice({builder_.literal("true"), builder_.literal("false")});
}

// ---- objects --------------------------------------------------------------------------------------------------------

// A name, without escapes, that is none of these.
SchemaCompiler::Expression SchemaCompiler::other_name(const std::vector<std::string>& names) {
    struct Place {
        std::map<char32_t, size_t> next;
        bool is_name = false, is_cut = false;
    };
    std::vector<Place> places(1);
    for (const std::string& name : names) {
        size_t at = 0, length = 0;
        for (const char *begin = name.data(), *end = begin + name.size(); begin < end; ++length) {
            const CodePoint next = decode_code_point(begin, end);
            begin += next.length_bytes;
            if (length == kMostNameCharacters) {
                places[at].is_cut = true;
                break;
            }
            const auto [below, is_new] = places[at].next.try_emplace(next.value, places.size());
            at = below->second;
            if (is_new) places.emplace_back();
        }
        if (length < kMostNameCharacters) places[at].is_name = true;
    }
    const std::vector<CharacterRange> unspeakable{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};
    const Expression rest = builder_.repeat(builder_.characters(complement(unspeakable)), 0, kAny);
    std::vector<Expression> made(places.size());
    for (size_t i = places.size(); i-- > 0;) {  // places lie behind those that lead to them
        const Place& place = places[i];
        std::vector<Expression> ways;
        if (!place.is_name) ways.push_back(builder_.nothing());
        std::vector<CharacterRange> taken = unspeakable;
        for (const auto& [value, next] : place.next) {
            taken.push_back({value, value});
            if (value >= 0x20 && value != '"' && value != '\\' && value != 0x7F)
                ways.push_back(builder_.sequence({builder_.characters({{value, value}}), made[next]}));
        }
        if (!place.is_cut) ways.push_back(builder_.sequence({builder_.characters(complement(std::move(taken))), rest}));
        made[i] = builder_.choice(std::move(ways));
    }
    return builder_.sequence({quote(), made[0], quote()});
}

Result<SchemaCompiler::Expression> SchemaCompiler::object(const Schema& schema, const std::string& where, int depth) {
    RIFTJIT_TRY(least, count(schema, "minProperties", where));
    RIFTJIT_TRY(most, count(schema, "maxProperties", where));
    const Schema none = Schema::object();
    const Schema& properties = schema.contains("properties") ? schema["properties"] : none;
    if (!properties.is_object()) return refuse(where, "properties {} are no object", shown(properties));
    std::vector<std::string> required;
    if (schema.contains("required")) {
        if (!schema["required"].is_array()) return refuse(where, "required {} is no list", shown(schema["required"]));
        for (const Schema& name : schema["required"]) {
            if (!name.is_string()) return refuse(where, "required {} is no name", shown(name));
            required.push_back(name.get<std::string>());
        }
    }
    // Other names are allowed where it is said, or where no name is.
    Schema additional = properties.empty() && required.empty() ? Schema(true) : Schema(false);
    const bool has_patterns = schema.contains("patternProperties");
    if (has_patterns) additional = false;
    if (schema.contains("unevaluatedProperties")) additional = schema["unevaluatedProperties"];
    if (schema.contains("additionalProperties")) additional = schema["additionalProperties"];
    if (!additional.is_boolean() && !additional.is_object())
        return refuse(where, "additionalProperties {} is no schema", shown(additional));
    if (has_patterns) warn(where, "patternProperties are not {}", additional == false ? "offered" : "enforced");
    const bool is_any = additional == true && properties.empty() && required.empty() && !least && !most;
    if (is_any) return any_object();

    struct Member {
        Expression pair;
        bool is_required;
    };
    std::vector<Member> members;
    std::vector<std::string> names;
    const auto add = [&](const std::string& name, const Schema& of, const std::string& place,
                         bool is_required) -> Result<void> {
        RIFTJIT_TRY(content, value(of, place, depth + 1));
        if (content == builder_.never() && !is_required) return {};
        members.push_back(
            {in_rule(escape_unprintable(place), builder_.sequence({builder_.literal(json_text(Schema(name))), space(),
                                                                   builder_.literal(":"), space(), content})),
             is_required});
        return {};
    };
    for (const auto& [name, property] : properties.items()) {
        names.push_back(name);
        const bool is_required = std::ranges::find(required, name) != required.end();
        RIFTJIT_TRY_VOID(add(name, property, fmt::format("{}/properties/{}", where, name), is_required));
    }
    for (const std::string& name : required) {
        if (std::ranges::find(names, name) != names.end()) continue;
        names.push_back(name);
        // Schemas that say nothing of other names do not forbid them.
        const bool is_said = schema.contains("additionalProperties") || schema.contains("unevaluatedProperties");
        RIFTJIT_TRY_VOID(add(name, is_said ? additional : Schema(true), where, true));
    }
    std::optional<Expression> other;
    if (additional != false) {
        RIFTJIT_TRY(content, value(additional, where + "/additionalProperties", depth + 1));
        if (content != builder_.never())
            other = in_rule(escape_unprintable(where + "/additionalProperties"),
                            builder_.sequence({names.empty() ? text() : other_name(names), space(),
                                               builder_.literal(":"), space(), content}));
    }
    const size_t certain =
        static_cast<size_t>(std::ranges::count_if(members, [](const Member& member) { return member.is_required; }));
    const bool is_map = members.empty() && other.has_value();
    if (is_map && least.value_or(0) > 1)
        warn(where, "of minProperties {} that many are asked for, but not that their names differ", *least);
    if (!is_map && least.value_or(0) > std::max<size_t>(certain, 1))
        warn(where, "minProperties {} is not enforced", *least);
    if (!is_map && most && (other || *most < members.size())) warn(where, "maxProperties {} is not enforced", *most);

    // From the last member on: what may follow where nothing stands yet, and where something does.
    const uint32_t min_others = is_map ? least.value_or(0) : 0, max_others = is_map ? most.value_or(kAny) : kAny;
    Expression first = builder_.nothing(), after = builder_.nothing();
    if (other) {
        const Expression more = builder_.sequence({comma(), *other});
        first = list(*other, more, min_others, max_others);
        after = builder_.repeat(more, 0, kAny);
    } else if (least.value_or(0) > 0) {
        first = builder_.never();
    }
    if (!is_map && other && least.value_or(0) > 0) first = list(*other, builder_.sequence({comma(), *other}), 1, kAny);
    for (size_t i = members.size(); i-- > 0;) {
        const auto& [pair, is_required] = members[i];
        const Expression behind = in_rule(escape_unprintable(where), after);
        const Expression begun = builder_.sequence({pair, behind}), gone_on = builder_.sequence({comma(), pair});
        first = is_required ? begun : builder_.choice({begun, first});
        after = builder_.sequence({is_required ? gone_on : builder_.optional(gone_on), behind});
    }
    return builder_.sequence({builder_.literal("{"), space(), first, space(), builder_.literal("}")});
}

// ---- arrays, strings, numbers ---------------------------------------------------------------------------------------

Result<SchemaCompiler::Expression> SchemaCompiler::array(const Schema& schema, const std::string& where, int depth) {
    RIFTJIT_TRY(least, count(schema, "minItems", where));
    RIFTJIT_TRY(most, count(schema, "maxItems", where));
    const uint32_t min = least.value_or(0), max = most.value_or(kAny);
    Schema first_ones = Schema::array(), others = true;
    bool is_said = false;
    if (schema.contains("items")) others = schema["items"], is_said = true;
    const char* keyword = "prefixItems";
    if (others.is_array()) {  // before 2020
        keyword = "items";
        first_ones = std::move(others);
        is_said = schema.contains("additionalItems");
        others = is_said ? schema["additionalItems"] : Schema(true);
    } else if (schema.contains(keyword)) {
        first_ones = schema[keyword];
        if (!first_ones.is_array()) return refuse(where, "prefixItems {} are no list", shown(first_ones));
    }
    if (first_ones.empty() && others == true && min == 0 && max == kAny) return any_array();
    if (max < min) return builder_.never();
    // A tuple is given whole, and no longer than it is told.
    std::vector<Expression> parts;
    for (size_t i = 0; i < first_ones.size() && i < max; ++i) {
        RIFTJIT_TRY(item, value(first_ones[i], fmt::format("{}/{}/{}", where, keyword, i), depth + 1));
        if (item == builder_.never() && i >= min) break;
        if (i > 0) parts.push_back(comma());
        parts.push_back(item);
    }
    const auto told = static_cast<uint32_t>((parts.size() + 1) / 2);
    const uint32_t min_others = min > told ? min - told : 0;
    const bool has_others = told == 0 || is_said || min_others > 0;
    if (has_others && max > told && (told == first_ones.size() || min_others > 0)) {
        RIFTJIT_TRY(item, value(others, where + "/items", depth + 1));
        const uint32_t max_others = max == kAny ? kAny : max - told;
        if (item == builder_.never()) {
            if (min_others > 0) return builder_.never();
        } else {
            const Expression one = in_rule(escape_unprintable(where + "/items"), item);
            const Expression more = in_rule(escape_unprintable(where + "/items"), builder_.sequence({comma(), one}));
            parts.push_back(told == 0 ? list(one, more, min, max) : builder_.repeat(more, min_others, max_others));
        }
    }
    parts.insert(parts.begin(), {builder_.literal("["), space()});
    parts.insert(parts.end(), {space(), builder_.literal("]")});
    return builder_.sequence(std::move(parts));
}

Result<SchemaCompiler::Expression> SchemaCompiler::string(const Schema& schema, const std::string& where) {
    RIFTJIT_TRY(least, count(schema, "minLength", where));
    RIFTJIT_TRY(most, count(schema, "maxLength", where));
    const bool has_length = least.value_or(0) > 0 || most;
    if (schema.contains("pattern")) {
        if (!schema["pattern"].is_string()) return refuse(where, "pattern {} is no text", shown(schema["pattern"]));
        const auto made = json_pattern(builder_, schema["pattern"].get_ref<const std::string&>());
        if (made) {
            if (has_length) warn(where, "minLength and maxLength are not enforced beside pattern");
            if (schema.contains("format")) warn(where, "format is not enforced beside pattern");
            return builder_.sequence({quote(), *made, quote()});
        }
        warn(where, "pattern {} is not enforced: {} is not implemented", shown(schema["pattern"]),
             made.error().message);
    }
    if (schema.contains("format") && schema["format"].is_string()) {
        const std::string& format = schema["format"].get_ref<const std::string&>();
        if (const auto made = json_format(builder_, format)) {
            if (has_length) warn(where, "minLength and maxLength are not enforced beside format");
            return builder_.sequence({quote(), *made, quote()});
        }
        warn(where, "format {} is not enforced", shown(schema["format"]));
    }
    if (!has_length) return text();
    if (most && *most < least.value_or(0)) return builder_.never();
    return builder_.sequence({quote(), builder_.repeat(characters(), least.value_or(0), most.value_or(kAny)), quote()});
}

namespace {

// To the nearest whole number on the inner side.
std::optional<NumberBound> whole_bound(double value, bool is_least, bool is_exclusive) {
    double whole = is_least ? std::ceil(value) : std::floor(value);
    if (is_exclusive && whole == value) whole += is_least ? 1 : -1;
    constexpr double kMost = 1e16;  // beyond the digits that are written
    if (is_least ? whole <= -kMost : whole >= kMost) return std::nullopt;
    NumberBound bound{whole < 0, fmt::format("{:.0f}", std::abs(whole)), {}, false};
    return bound;
}

}  // namespace

// The nearer of the two that there may be.
Result<std::optional<NumberBound>> SchemaCompiler::bound(const Schema& schema, bool is_least, bool is_integer,
                                                         const std::string& where) {
    std::optional<double> nearest;
    bool is_exclusive = false;
    for (const bool exclusive : {false, true}) {
        const char* keyword = exclusive  ? is_least ? "exclusiveMinimum" : "exclusiveMaximum"
                              : is_least ? "minimum"
                                         : "maximum";
        if (!schema.contains(keyword)) continue;
        const Schema& given = schema[keyword];
        if (exclusive && given.is_boolean()) {  // draft 4
            is_exclusive = given.get<bool>();
            continue;
        }
        if (!given.is_number()) return refuse(where, "{} {} is no number", keyword, shown(given));
        const double value = given.get<double>();
        if (!nearest || (is_least ? value > *nearest : value < *nearest) || (exclusive && value == *nearest))
            nearest = value, is_exclusive = exclusive;
    }
    if (!nearest) return std::nullopt;
    std::array<char, 512> digits;
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(*nearest), std::chars_format::fixed);
    const std::string_view text(digits.data(), error == std::errc() ? end - digits.data() : 0);
    const size_t point = std::min(text.find('.'), text.size());
    const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
    constexpr size_t kMostFraction = 20;
    if (is_integer || std::abs(*nearest) >= 1e15 || fraction.size() > kMostFraction || text.empty())
        return whole_bound(*nearest, is_least, is_exclusive);
    return NumberBound{*nearest < 0, std::string(text.substr(0, point)), std::string(fraction), is_exclusive};
}

Result<SchemaCompiler::Expression> SchemaCompiler::number(const Schema& schema, const std::string& where,
                                                          bool is_integer) {
    RIFTJIT_TRY(least, bound(schema, true, is_integer, where));
    RIFTJIT_TRY(most, bound(schema, false, is_integer, where));
    if (!least && !most && !is_integer) return any_number();
    const Expression made = json_number(builder_, least, most, is_integer);
    return made;
}

Result<std::shared_ptr<const Grammar>> SchemaCompiler::compile() {
    const uint32_t root = builder_.declare("#");
    rules_.emplace("#", root);
    RIFTJIT_TRY(body, value(root_, "#", 0));
    builder_.define(root, body);
    auto automaton = builder_.compile(root);
    if (!automaton) {
        // The builder speaks of rules, a schema's author knows none.
        Error error = std::move(automaton.error());
        const auto say = [&](std::string_view of_rules, std::string_view of_schemas) {
            const size_t at = error.message.find(of_rules);
            if (at != std::string::npos) error.message.replace(at, std::string::npos, of_schemas);
        };
        say(" can begin with itself", ": a $ref leads back to it before a value begins");
        say(" has no text that ends", ": no document is valid, or none that ends");
        return std::unexpected(std::move(error));
    }
    return std::make_shared<const Grammar>(std::move(*automaton), std::move(warnings_));
}

}  // namespace

Result<std::shared_ptr<const Grammar>> Grammar::from_json_schema(const nlohmann::ordered_json& schema) {
    GrammarBuilder builder;
    return SchemaCompiler(builder, schema).compile();
}

Result<GrammarBuilder::Expression> json_document(GrammarBuilder& builder, const nlohmann::ordered_json& schema,
                                                 std::vector<std::string>& warnings) {
    SchemaCompiler compiler(builder, schema);
    auto document = compiler.document();
    for (std::string& warning : compiler.take_warnings()) warnings.push_back(std::move(warning));
    return document;
}

}  // namespace riftjit::engine
