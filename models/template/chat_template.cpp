#include "models/template/chat_template.h"

#include <algorithm>
#include <array>

#include "models/template/jinja/interpreter.h"
#include "models/template/jinja/json.h"
#include "models/template/jinja/parser.h"

namespace riftjit::models {

struct ChatTemplate::Impl {
    std::string name, source;  // source: normalised
    jinja::Body body;
};

namespace {

constexpr size_t kExcerptBytes = 72;

std::string escape_control(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
            escaped += c;
        } else if (c == '\n') {
            escaped += "\\n";
        } else {
            escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return escaped;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The source line around `offset`, without its indentation and not too long.
std::string excerpt(std::string_view source, size_t offset) {
    size_t begin = source.rfind('\n', offset == 0 ? 0 : offset - 1) + 1;  // npos + 1 is 0
    if (offset == 0) begin = 0;
    size_t end = std::min(source.find('\n', offset), source.size());
    begin = std::min(std::min(source.find_first_not_of(" \t", begin), source.size()), offset);
    if (end - begin > kExcerptBytes) {
        begin = std::max(begin, offset - std::min(offset, kExcerptBytes / 3));
        end = std::min(end, begin + kExcerptBytes);
        while (begin > 0 && begin < end && is_continuation(source[begin])) ++begin;
        while (end > begin && end < source.size() && is_continuation(source[end])) --end;
    }
    return escape_control(source.substr(begin, end - begin));
}

std::unexpected<Error> located(const std::string& name, std::string_view source, const jinja::TemplateError& error) {
    const size_t offset = std::min<size_t>(error.offset.value_or(0), source.size());
    const std::string_view before = source.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t line_begin = before.rfind('\n') + 1;
    const size_t column = jinja::length(before.substr(line_begin)) + 1;
    return fail(error.kind, "{}:{}:{}: {}, in \"{}\"", name, line, column, escape_control(error.message),
                excerpt(source, offset));
}

bool is_plain_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

// Of the text in it; what nests too deep is refused later.
size_t text_bytes(const nlohmann::ordered_json& json, uint32_t depth = 0) {
    if (json.is_string()) return json.get_ref<const std::string&>().size();
    if (!json.is_structured() || depth > jinja::kMaxDataNesting) return 0;
    size_t bytes = json.size() * sizeof(jinja::Value);
    for (const auto& element : json) bytes += text_bytes(element, depth + 1);
    return bytes;
}

size_t size_of(const ChatTemplate::Inputs& inputs) {
    return text_bytes(inputs.messages) + text_bytes(inputs.tools) + text_bytes(inputs.extra);
}

jinja::Value messages_value(jinja::Runtime& runtime, const nlohmann::ordered_json& messages) {
    const jinja::Value value = jinja::from_json(runtime, messages, jinja::Origin::data);
    if (!value.is<jinja::List*>()) return value;
    for (const jinja::Value& message : value.as<jinja::List*>()->items) {
        jinja::Value* role = message.is<jinja::Dict*>() ? message.as<jinja::Dict*>()->find("role") : nullptr;
        const auto* text = role ? role->get_if<jinja::Text>() : nullptr;
        if (text && is_plain_word(text->view())) *role = jinja::Value::literal(text->view());
    }
    return value;
}

jinja::Text run(const jinja::Body& body, const ChatTemplate::Inputs& inputs) {
    jinja::Runtime runtime(size_of(inputs), inputs.most_bytes, inputs.now.value_or(std::chrono::system_clock::now()));
    jinja::Interpreter interpreter(runtime);
    interpreter.define("messages", messages_value(runtime, inputs.messages));
    interpreter.define("tools", jinja::from_json(runtime, inputs.tools, jinja::Origin::data));
    interpreter.define("documents", jinja::None{});
    interpreter.define("add_generation_prompt", inputs.add_generation_prompt);
    interpreter.define("bos_token", jinja::Value::literal(inputs.bos_token));
    interpreter.define("eos_token", jinja::Value::literal(inputs.eos_token));
    for (const auto& [name, value] : inputs.extra.items()) {
        interpreter.define(name, jinja::from_json(runtime, value, jinja::Origin::data));
    }
    return interpreter.run(body);
}

// Ends the final message where its rendering must be cut. The space shows whether the template strips contents.
constexpr std::string_view kEndMark = "\u2060riftjit-final-message-ends-here\u2060 ";

Result<ChatTemplate::Inputs> marked(ChatTemplate::Inputs inputs) {
    auto& messages = inputs.messages;
    const bool has_text = messages.is_array() && !messages.empty() && messages.back().is_object() &&
                          messages.back().value("role", "") == "assistant" && messages.back().contains("content") &&
                          messages.back()["content"].is_string();
    if (!has_text) return fail(ErrorKind::Usage, "only an assistant message with text can be continued");
    auto& content = messages.back()["content"].get_ref<std::string&>();
    content += kEndMark;
    inputs.add_generation_prompt = false;
    return inputs;
}

// The length of what comes before the mark.
Result<size_t> find_cut(const std::string& name, std::string_view rendered) {
    const std::string_view stripped_mark = kEndMark.substr(0, kEndMark.size() - 1);
    size_t cut = rendered.rfind(stripped_mark);
    if (cut == std::string_view::npos) {
        return fail(ErrorKind::Usage, "{}: the final message cannot be continued, the template changes its text", name);
    }
    const bool strips = !rendered.substr(cut).starts_with(kEndMark);
    constexpr std::string_view kSpace = " \t\r\n";
    while (strips && cut > 0 && kSpace.contains(rendered[cut - 1])) --cut;
    return cut;
}

std::vector<Tokenizer::Segment> segments(const jinja::Text& text, size_t end) {
    std::vector<Tokenizer::Segment> result;
    size_t begin = 0;
    for (const jinja::Text::Run& run : text.runs()) {
        const size_t stop = std::min<size_t>(run.end, end);
        if (stop <= begin) break;
        const bool is_literal = run.origin == jinja::Origin::literal;
        result.push_back(
            {std::string(text.view().substr(begin, stop - begin)), is_literal ? ParseSpecial::yes : ParseSpecial::no});
        begin = stop;
    }
    return result;
}

}  // namespace

std::string_view ChatTemplate::source() const { return impl_->source; }

Result<ChatTemplate> ChatTemplate::parse(std::string source, std::string name) {
    auto impl = std::make_shared<Impl>(Impl{std::move(name), jinja::normalize_source(source), {}});
    try {
        impl->body = jinja::parse(jinja::tokenize(impl->source));
    } catch (const jinja::TemplateError& error) {
        return located(impl->name, impl->source, error);
    }
    ChatTemplate chat_template;
    chat_template.impl_ = std::move(impl);
    return chat_template;
}

bool ChatTemplate::has_jinja(std::string_view source) {
    return source.find("{{") != std::string_view::npos || source.find("{%") != std::string_view::npos;
}

Result<std::vector<Tokenizer::Segment>> ChatTemplate::render(const Inputs& inputs) const {
    try {
        if (!inputs.continue_final_message) {
            const jinja::Text text = run(impl_->body, inputs);
            return segments(text, text.size());
        }
        RIFTJIT_TRY(continued, marked(inputs));
        const jinja::Text text = run(impl_->body, continued);
        RIFTJIT_TRY(end, find_cut(impl_->name, text.view()));
        return segments(text, end);
    } catch (const jinja::TemplateError& error) {
        return located(impl_->name, impl_->source, error);
    }
}

Result<std::string> ChatTemplate::render_text(const Inputs& inputs) const {
    RIFTJIT_TRY(parts, render(inputs));
    std::string text;
    for (const Tokenizer::Segment& part : parts) text += part.text;
    return text;
}

bool shows_text(std::span<const Tokenizer::Segment> rendering, std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n\v\f";
    const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
    const std::string_view stripped = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
    std::string data;  // what the template itself says does not count
    for (const Tokenizer::Segment& segment : rendering)
        if (segment.parse_special == ParseSpecial::no) data += segment.text;
    if (data.contains(stripped)) return true;
    // A template may put the message into JSON (tojson).
    jinja::Runtime runtime(stripped.size(), /*most_output_bytes=*/0, {});
    const jinja::Value value = jinja::Value::literal(stripped);
    return std::ranges::any_of(std::array{false, true}, [&](bool ascii) {
        const std::string quoted = jinja::to_json(runtime.budget, value, {.ascii = ascii});
        return data.contains(std::string_view(quoted).substr(1, quoted.size() - 2));
    });
}

}  // namespace riftjit::models
