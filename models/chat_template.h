// Chat templates: a Jinja interpreter for the templates that models ship, and the messages they render.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "jit/result.h"
#include "models/tokenizer.h"

namespace riftjit::models {

class ChatTemplate {
public:
    // Parses; errors carry line:column. name is used in messages.
    static Result<ChatTemplate> parse(std::string source, std::string name = "chat template");

    struct Inputs {
        nlohmann::ordered_json messages = nlohmann::ordered_json::array();
        nlohmann::ordered_json tools;    // null: none
        nlohmann::ordered_json extra = nlohmann::ordered_json::object();  // further variables (--chat-template-kwargs)
        bool add_generation_prompt = true;
        std::string bos_token, eos_token;
    };
    // Text, with the bytes that came from message contents marked, so that users cannot type control tokens.
    Result<std::vector<Tokenizer::Segment>> render(const Inputs& inputs) const;
    Result<std::string> render_text(const Inputs& inputs) const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace riftjit::models
