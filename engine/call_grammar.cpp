#include "engine/call_grammar.h"

#include <algorithm>
#include <vector>

#include "engine/grammar/json_text_grammar.h"
#include "host/json_text.h"
#include "host/utf8.h"

namespace riftjit::engine {

namespace {

using Schema = nlohmann::ordered_json;
using Expression = GrammarBuilder::Expression;

std::vector<char32_t> code_points(std::string_view text) {
    std::vector<char32_t> points;
    for (const char* at = text.data(); at != text.data() + text.size();) {
        const CodePoint point = decode_code_point(at, text.data() + text.size());
        points.push_back(point.value);
        at += point.length_bytes;
    }
    return points;
}

std::string_view without_space(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

class CallGrammarMaker {
public:
    CallGrammarMaker(const ReplyFormat& format, const models::Tokenizer& tokenizer)
        : format_(format), written_(format.calls.written), tokenizer_(tokenizer) {}

    Result<std::shared_ptr<const Grammar>> make(const Schema& tools, CallCount count, bool is_thinking) {
        std::vector<Expression> alternatives;
        for (const Schema& tool : tools) {
            RIFTJIT_TRY(call, call_of(tool["function"]));
            alternatives.push_back(call);
        }
        Expression calls = builder_.choice(std::move(alternatives));
        // Where nothing ends a call, the next one would be told from it by nothing.
        if (count == CallCount::some && !without_space(written_.behind).empty())
            calls = builder_.sequence({calls, builder_.repeat(builder_.sequence({space(), calls}), 0, kSome)});
        RIFTJIT_TRY(before, thinking(is_thinking));
        const uint32_t root = builder_.declare("calls");
        builder_.define(root, builder_.sequence({before, space(), calls}));
        RIFTJIT_TRY(automaton, builder_.compile(root));
        return std::make_shared<const Grammar>(std::move(automaton), std::move(warnings_));
    }

private:
    static constexpr uint32_t kSome = 31;  // further calls, and white space

    Expression space() {
        return builder_.repeat(builder_.characters({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}), 0, kSome);
    }

    bool is_control(std::string_view text) const {
        const auto id = tokenizer_.find(text);
        return id && tokenizer_.is_control(*id);
    }

    // A text of the format: tags that are control tokens are written as such, ids of calls may be any.
    Expression mark(std::string_view text) {
        std::vector<Expression> parts;
        std::string plain;
        const auto flush = [&] {
            if (!plain.empty()) parts.push_back(builder_.literal(std::exchange(plain, {})));
        };
        while (!text.empty()) {
            size_t length = 1;
            if (const std::string_view tag = leading_tag(text); !tag.empty() && is_control(tag)) {
                flush();
                parts.push_back(token(tag));
                length = tag.size();
            } else if (text.starts_with(kCallId)) {
                flush();
                const Expression letter = builder_.characters({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}});
                parts.push_back(builder_.repeat(letter, kCallId.size(), kCallId.size()));
                length = kCallId.size();
            } else {
                plain += text[0];
            }
            text.remove_prefix(length);
        }
        flush();
        return builder_.sequence(std::move(parts));
    }

    Expression token(std::string_view tag) {
        return builder_.token({.where = "a mark of calls", .text = std::string(tag)});
    }

    // Any text, and the mark that ends it, which is not part of it.
    Result<Expression> until(std::string_view end) {
        if (const std::string_view tag = without_space(end); is_control(tag)) {
            const Expression any = builder_.repeat(builder_.characters(complement({})), 0, GrammarBuilder::kUnlimited);
            return builder_.sequence({any, token(tag), mark(end.substr(end.find(tag) + tag.size()))});
        }
        const std::vector<char32_t> points = code_points(end);
        // A text that stops being the mark may begin it anew with the mark's first character alone.
        const bool is_simple =
            points.size() > 1 && std::find(points.begin() + 1, points.end() - 1, points[0]) == points.end() - 1;
        if (!is_simple)
            return fail(ErrorKind::Unsupported, "calls cannot be forced: the mark \"{}\" begins within itself",
                        escape_unprintable(end));
        const auto one = [&](size_t at) { return builder_.characters({{points[at], points[at]}}); };
        const auto other = [&](size_t at) {
            return builder_.characters(complement(normalised({{points[0], points[0]}, {points[at], points[at]}})));
        };
        // Behind the first character: a beginning of the rest, and then the first again or what does not go on.
        std::vector<Expression> begins_again, fails;
        Expression begun = builder_.nothing();
        for (size_t at = 1; at < points.size(); ++at) {
            if (points[at] != points[0]) begins_again.push_back(builder_.sequence({begun, one(0)}));
            fails.push_back(builder_.sequence({begun, other(at)}));
            begun = builder_.sequence({begun, one(at)});
        }
        const Expression started = builder_.sequence(
            {one(0), builder_.repeat(builder_.choice(std::move(begins_again)), 0, GrammarBuilder::kUnlimited)});
        const Expression unit = builder_.choice({builder_.characters(complement({{points[0], points[0]}})),
                                                 builder_.sequence({started, builder_.choice(std::move(fails))})});
        return builder_.sequence({builder_.repeat(unit, 0, GrammarBuilder::kUnlimited), started, begun});
    }

    Result<Expression> thinking(bool is_thinking) {
        if (!format_.has_reasoning()) return builder_.nothing();
        RIFTJIT_TRY(thought, until(format_.reasoning_end));
        if (is_thinking) return thought;
        if (format_.reasoning_begin.empty()) return builder_.nothing();
        return builder_.optional(builder_.sequence({mark(format_.reasoning_begin), thought}));
    }

    Result<Expression> call_of(const Schema& function) {
        Schema parameters = function.value("parameters", Schema::object());
        if (!parameters.is_object()) parameters = Schema::object();
        if (!parameters.contains("type")) parameters["type"] = "object";
        const auto& name = function["name"].get_ref<const std::string&>();
        std::string spelled = name;
        if (format_.calls.form == ReplyFormat::Calls::object) {
            spelled = json_text(Schema(name));
            spelled = spelled.substr(1, spelled.size() - 2);
        }
        const bool is_marked = format_.calls.form == ReplyFormat::Calls::marked_arguments;
        auto arguments = is_marked ? marked(parameters) : json_document(builder_, parameters, warnings_);
        if (!arguments)
            return fail(arguments.error().kind, "tool \"{}\": {}", escape_unprintable(name), arguments.error().message);
        return builder_.sequence({mark(written_.before), builder_.literal(spelled), mark(written_.between), *arguments,
                                  mark(written_.behind)});
    }

    // Those of the schema, in its order.
    Result<Expression> marked(const Schema& parameters) {
        std::vector<Expression> all;
        const Schema properties = parameters.value("properties", Schema::object());
        const Schema required = parameters.value("required", Schema::array());
        if (!properties.is_object()) return fail(ErrorKind::Format, "#/properties: expected an object");
        for (const auto& [name, property] : properties.items()) {
            const bool is_text = property.is_object() && property.value("type", Schema()) == "string" &&
                                 !property.contains("enum") && !property.contains("const");
            Expression value = builder_.nothing();
            if (is_text) {
                RIFTJIT_TRY(text, until(written_.value_end));
                value = builder_.sequence({mark(written_.text), text});
            } else {
                RIFTJIT_TRY(other, value_of(property));
                value = builder_.sequence({other, mark(written_.value_end)});
            }
            const Expression argument = builder_.sequence({mark(written_.key), builder_.literal(name), value});
            const bool is_required = std::ranges::find(required, Schema(name)) != required.end();
            all.push_back(is_required ? argument : builder_.optional(argument));
        }
        return builder_.sequence(std::move(all));
    }

    // Texts that are listed stand without quotation marks.
    Result<Expression> value_of(const Schema& property) {
        std::vector<Schema> listed;
        if (property.is_object() && property.contains("const")) listed.push_back(property["const"]);
        if (property.is_object() && property.contains("enum") && property["enum"].is_array())
            listed.assign(property["enum"].begin(), property["enum"].end());
        if (listed.empty()) {
            RIFTJIT_TRY(document, json_document(builder_, property, warnings_));
            return builder_.sequence({mark(written_.value), document});
        }
        std::vector<Expression> alternatives;
        for (const Schema& each : listed)
            alternatives.push_back(
                builder_.sequence({mark(each.is_string() ? written_.text : written_.value),
                                   builder_.literal(each.is_string() ? each.get<std::string>() : json_text(each))}));
        return builder_.choice(std::move(alternatives));
    }

    const ReplyFormat& format_;
    const ReplyFormat::CallFormat::Written& written_;
    const models::Tokenizer& tokenizer_;
    GrammarBuilder builder_;
    std::vector<std::string> warnings_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> call_grammar(const ReplyFormat& format, const nlohmann::ordered_json& tools,
                                                    CallCount count, bool is_thinking,
                                                    const models::Tokenizer& tokenizer) {
    if (!format.has_calls() || !format.calls.written.is_known())
        return fail(ErrorKind::Unsupported,
                    "calls cannot be forced: the chat template does not show how they are written");
    return CallGrammarMaker(format, tokenizer).make(tools, count, is_thinking);
}

}  // namespace riftjit::engine
