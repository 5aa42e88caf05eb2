// Messages of OpenAI's API in the form that a template reads.
#include "models/template/chat_template.h"

namespace riftjit::models {

namespace {

using Json = nlohmann::ordered_json;

// Clients send the arguments as a string of JSON; templates print them as an object.
void parse_arguments(Json& message) {
    if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) return;
    for (Json& call : message["tool_calls"]) {
        if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
        Json& function = call["function"];
        if (!function.contains("arguments") || !function["arguments"].is_string()) continue;
        Json parsed = Json::parse(function["arguments"].get_ref<const std::string&>(), nullptr, false);
        if (parsed.is_object()) function["arguments"] = std::move(parsed);
    }
}

Result<std::string> join_parts(const Json& parts, size_t index) {
    std::string text;
    for (const Json& part : parts) {
        const bool is_text =
            part.is_object() && part.value("type", "") == "text" && part.contains("text") && part["text"].is_string();
        if (!is_text) {
            return fail(ErrorKind::Unsupported, "messages[{}].content: this template takes text parts only", index);
        }
        if (!text.empty()) text += '\n';
        text += part["text"].get_ref<const std::string&>();
    }
    return text;
}

Result<void> prepare_content(Json& message, size_t index, ChatTemplate::ContentForm form) {
    const bool is_absent = !message.contains("content") || message["content"].is_null();
    if (is_absent) {
        const auto present = [&](const char* key) { return message.contains(key) && !message[key].empty(); };
        if (!present("tool_calls") && !present("reasoning_content")) {
            return fail(ErrorKind::Usage, "messages[{}].content is missing", index);
        }
        message["content"] = "";
    }
    Json& content = message["content"];
    if (!content.is_string() && !content.is_array()) {
        return fail(ErrorKind::Usage, "messages[{}].content must be a string or a list of parts, not {}", index,
                    content.type_name());
    }
    if (content.is_array() && form == ChatTemplate::ContentForm::text) {
        RIFTJIT_TRY(text, join_parts(content, index));
        content = std::move(text);
    } else if (content.is_string() && form == ChatTemplate::ContentForm::parts) {
        content = Json::array({Json::object({{"type", "text"}, {"text", std::move(content)}})});
    }
    return {};
}

}  // namespace

Result<Json> ChatTemplate::prepare(Json messages) const {
    if (!messages.is_array()) return fail(ErrorKind::Usage, "messages must be a list, not {}", messages.type_name());
    const ContentForm form = content_form();
    for (size_t i = 0; i < messages.size(); ++i) {
        Json& message = messages[i];
        if (!message.is_object())
            return fail(ErrorKind::Usage, "messages[{}] must be an object, not {}", i, message.type_name());
        if (!message.contains("role") || !message["role"].is_string()) {
            return fail(ErrorKind::Usage, "messages[{}].role must be a string", i);
        }
        RIFTJIT_TRY_VOID(prepare_content(message, i, form));
        for (auto field = message.begin(); field != message.end();) {
            field = field.value().is_null() ? message.erase(field) : std::next(field);
        }
        parse_arguments(message);
    }
    return messages;
}

ChatTemplate::ContentForm ChatTemplate::content_form() const {
    const std::string probe = "What is two and two?";
    const auto render_content = [&](Json content) {
        Inputs inputs;
        inputs.messages.push_back({{"role", "user"}, {"content", std::move(content)}});
        return render_text(inputs);
    };
    const auto text = render_content(probe);
    const auto parts = render_content(Json::array({Json::object({{"type", "text"}, {"text", probe}})}));
    const auto shows_probe = [&](const Result<std::string>& rendering) {
        return rendering && rendering->find(probe) != std::string::npos;
    };
    if (!shows_probe(parts)) return ContentForm::text;
    if (!shows_probe(text)) return ContentForm::parts;
    return *text == *parts ? ContentForm::both : ContentForm::text;
}

}  // namespace riftjit::models
