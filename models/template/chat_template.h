// Chat templates: a Jinja interpreter for the templates that models ship, and the messages they render.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/tokenizer/tokenizer.h"

namespace riftjit::models {

class ChatTemplate {
public:
    // Parses; errors carry line:column. name is used in messages.
    static Result<ChatTemplate> parse(std::string source, std::string name = "chat template");

    // Whether anything in it is more than text. What has none renders the same whatever is said.
    static bool has_jinja(std::string_view source);

    struct Inputs {
        nlohmann::ordered_json messages = nlohmann::ordered_json::array();
        nlohmann::ordered_json tools;                                     // null: none
        nlohmann::ordered_json extra = nlohmann::ordered_json::object();  // further variables (--chat-template-kwargs)
        bool add_generation_prompt = true;
        bool continue_final_message = false;  // stop after the last message's text: the model goes on with it
        std::string bos_token, eos_token;
        uint64_t most_bytes = UINT64_MAX;                          // of the rendering
        std::optional<std::chrono::system_clock::time_point> now;  // of strftime_now; the clock's by default
    };
    // Text, with the bytes that came from message contents marked, so that users cannot type control tokens.
    // What counts as such is written in models/template/jinja/text.h; a message's role counts as part of the template
    // when it is a plain word, since templates build their control tokens around it.
    Result<std::vector<Tokenizer::Segment>> render(const Inputs& inputs) const;
    Result<std::string> render_text(const Inputs& inputs) const;

    // Messages as OpenAI's API has them, in the form this template reads: arguments of tool calls become objects,
    // contents are joined or split into parts if it cannot take the form they have, null contents become empty.
    Result<nlohmann::ordered_json> prepare(nlohmann::ordered_json messages) const;

    enum class ContentForm : uint8_t { text, parts, both };
    ContentForm content_form() const;  // found by trying

    std::string_view source() const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

// Whether a message's text stands in a rendering as it was given, but for white space at its ends.
bool shows_text(std::span<const Tokenizer::Segment> rendering, std::string_view text);

}  // namespace riftjit::models
