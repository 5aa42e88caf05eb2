#include "engine/conversation.h"

#include <algorithm>
#include <ctime>
#include <iterator>

namespace riftjit::engine {

Result<std::optional<models::ChatTemplate>> find_chat_template(const std::optional<models::ChatTemplate>& given,
                                                               const models::Gguf& file) {
    if (given) return given;
    RIFTJIT_TRY(source, file.string("tokenizer.chat_template"));
    if (!source) return std::nullopt;
    RIFTJIT_TRY(parsed, models::ChatTemplate::parse(std::string(*source), "tokenizer.chat_template"));
    return std::optional(std::move(parsed));
}

models::ChatTemplate::Inputs template_inputs(nlohmann::ordered_json variables, const models::Tokenizer& tokenizer) {
    models::ChatTemplate::Inputs inputs;
    inputs.extra = std::move(variables);
    // What llama.cpp tells templates of the day: Llama 3's and Functionary's ask for it.
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    for (const auto& [name, format] : {std::pair{"date_string", "%d %b %Y"}, {"datetime", "%b %d %Y %H:%M:%S GMT"}}) {
        if (!inputs.extra.is_object() || inputs.extra.contains(name)) continue;
        char text[64];
        inputs.extra[name] = std::string(text, std::strftime(text, sizeof text, format, &local));
    }
    // Thinking is on unless it is turned off, as llama.cpp has it: some templates take it for off where nothing is
    // said.
    if (inputs.extra.is_object() && !inputs.extra.contains("enable_thinking")) inputs.extra["enable_thinking"] = true;
    inputs.most_bytes = models::kMostTextBytes;
    if (const auto bos = tokenizer.bos()) inputs.bos_token = tokenizer.piece(*bos);
    if (const auto eos = tokenizer.eos()) inputs.eos_token = tokenizer.piece(*eos);
    return inputs;
}

Conversation::Conversation(models::ChatTemplate chat_template, nlohmann::ordered_json variables,
                           const models::Tokenizer& tokenizer, uint32_t context)
    : template_(std::move(chat_template)),
      inputs_(template_inputs(std::move(variables), tokenizer)),
      tokenizer_(&tokenizer),
      context_(context) {
    inputs_.most_bytes = tokenizer.most_text_bytes(context);
}

void Conversation::add(std::string role, std::string content, std::string reasoning) {
    inputs_.messages.push_back({{"role", std::move(role)}, {"content", std::move(content)}});
    if (!reasoning.empty()) inputs_.messages.back()["reasoning_content"] = std::move(reasoning);
}

Result<void> Conversation::set_messages(nlohmann::ordered_json messages) {
    const auto is_text = [](const nlohmann::ordered_json& message, const char* key) {
        return message.is_object() && message.contains(key) && message.at(key).is_string();
    };
    if (!messages.is_array()) return fail(ErrorKind::Format, "messages are no list");
    for (size_t i = 0; i < messages.size(); ++i)
        if (!is_text(messages[i], "role") || !is_text(messages[i], "content"))
            return fail(ErrorKind::Format, "message {} has no role or no content that is text", i);
    inputs_.messages = std::move(messages);
    return {};
}

void Conversation::take_back() { inputs_.messages.erase(inputs_.messages.size() - 1); }

namespace {

bool is_of_system(const nlohmann::ordered_json& message) { return message.at("role") == "system"; }

}  // namespace

void Conversation::clear() {
    auto kept = nlohmann::ordered_json::array();
    std::ranges::copy_if(inputs_.messages, std::back_inserter(kept), is_of_system);
    inputs_.messages = std::move(kept);
}

Result<void> check_text_bytes(uint64_t bytes, const models::Tokenizer& tokenizer, uint32_t context) {
    const uint64_t most = tokenizer.most_text_bytes(context);
    if (bytes <= most) return {};
    return fail(ErrorKind::Usage,
                "the prompt has {} bytes, the {} tokens of the context (-c) hold {} at most; context_length_exceeded",
                bytes, context, most);
}

bool Conversation::is_new() const { return std::ranges::all_of(inputs_.messages, is_of_system); }

Result<Conversation::Rendering> Conversation::render() const {
    uint64_t said = 0;
    for (const auto& message : inputs_.messages) said += message.at("content").get_ref<const std::string&>().size();
    RIFTJIT_TRY_VOID(check_text_bytes(said, *tokenizer_, context_));
    RIFTJIT_TRY(segments, template_.render(inputs_));
    Rendering rendering;
    for (const auto& segment : segments) rendering.text += segment.text;
    if (!inputs_.messages.empty())
        rendering.shows_last_message =
            models::shows_text(segments, inputs_.messages.back().at("content").get_ref<const std::string&>());
    RIFTJIT_TRY(ids, tokenizer_->encode(segments, models::AddBos::yes, &rendering.left_out));
    // A template that writes the BOS text itself, and a tokenizer that adds one: exactly one remains.
    const auto bos = tokenizer_->bos();
    if (bos && ids.size() >= 2 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
    rendering.ids = std::move(ids);
    return rendering;
}

}  // namespace riftjit::engine
