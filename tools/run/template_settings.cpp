#include "tools/run/template_settings.h"

#include <algorithm>
#include <chrono>

namespace riftjit::tools {

namespace {

using models::ChatTemplate;
using nlohmann::ordered_json;

// Conversations of one and of two turns: what a variable does may show in past answers only.
std::vector<ordered_json> conversations(const std::string& system) {
    auto messages = ordered_json::array();
    if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    messages.push_back({{"role", "user"}, {"content", "What is two and two?"}});
    std::vector<ordered_json> result = {messages};
    messages.push_back({{"role", "assistant"}, {"content", "<think>\nEasy.\n</think>\n\nFour."}});
    messages.push_back({{"role", "user"}, {"content", "And three?"}});
    result.push_back(std::move(messages));
    return result;
}

// Text or error of each.
std::vector<std::string> renderings(const ChatTemplate& chat_template, ChatTemplate::Inputs inputs,
                                    const std::vector<ordered_json>& conversations) {
    std::vector<std::string> texts;
    for (const ordered_json& messages : conversations) {
        inputs.messages = messages;
        const auto text = chat_template.render_text(inputs);
        texts.push_back(text ? *text : text.error().message);
    }
    return texts;
}

// Whether any value of the variable, or none, makes a difference: that the given one is the default is no fault.
bool reads(const ChatTemplate& chat_template, const ChatTemplate::Inputs& inputs, const std::string& name,
           const std::vector<ordered_json>& conversations) {
    const auto as_given = renderings(chat_template, inputs, conversations);
    ChatTemplate::Inputs other = inputs;
    other.extra.erase(name);
    if (renderings(chat_template, other, conversations) != as_given) return true;
    const ordered_json values[] = {true, false, "low", "high", 0, 1};
    return std::ranges::any_of(values, [&](const ordered_json& value) {
        other.extra[name] = value;
        return renderings(chat_template, other, conversations) != as_given;
    });
}

// A template that fails will say why when it is used.
bool shows_system(const ChatTemplate& chat_template, ChatTemplate::Inputs inputs, const std::string& system) {
    inputs.messages = conversations(system).front();
    const auto rendering = chat_template.render(inputs);
    return !rendering || models::shows_text(*rendering, system);
}

}  // namespace

std::vector<std::string> unread_settings(const ChatTemplate& chat_template, const models::Tokenizer& tokenizer,
                                         const PromptInputs& given) {
    ChatTemplate::Inputs inputs = engine::template_inputs(given.variables, tokenizer);
    inputs.now = std::chrono::system_clock::now();  // one for all renderings
    const auto texts = conversations(given.system);
    std::vector<std::string> warnings;
    if (!given.system.empty() && !shows_system(chat_template, inputs, given.system))
        warnings.push_back(given.system_flag +
                           ": the chat template drops or changes the system message: its text is not in the prompt");
    for (const auto& [name, flag] : given.flags_of_variables)
        if (!reads(chat_template, inputs, name, texts))
            warnings.push_back(fmt::format("{}: changes nothing, the chat template does not read {}", flag, name));
    return warnings;
}

}  // namespace riftjit::tools
