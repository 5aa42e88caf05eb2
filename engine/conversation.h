// A conversation as token ids: its messages, through the model's chat template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/reply_format.h"
#include "models/template/chat_template.h"

namespace riftjit::engine {

// The template given, else the file's own; nullopt: there is none.
Result<std::optional<models::ChatTemplate>> find_chat_template(const std::optional<models::ChatTemplate>& given,
                                                               const models::Gguf& file);

// What a template is told beside messages: further values, and the vocabulary's own tokens.
models::ChatTemplate::Inputs template_inputs(nlohmann::ordered_json variables, const models::Tokenizer& tokenizer);

// Whether so long a text may fit into a context (Tokenizer::most_text_bytes).
Result<void> check_text_bytes(uint64_t bytes, const models::Tokenizer& tokenizer, uint32_t context);

class Conversation {
public:
    // variables: an object of further values for the template. The tokenizer must outlive it.
    Conversation(models::ChatTemplate chat_template, nlohmann::ordered_json variables,
                 const models::Tokenizer& tokenizer, uint32_t context = UINT32_MAX);

    // The reasoning of an answer, which a template may show, or not, in prompts that follow.
    void add(std::string role, std::string content, std::string reasoning = {});
    void take_back();  // the message added last
    void clear();      // all but system messages
    bool is_new() const;
    const nlohmann::ordered_json& messages() const { return inputs_.messages; }
    // In place of all there are: a list of objects with a role and a text each, or it fails and changes nothing.
    Result<void> set_messages(nlohmann::ordered_json messages);
    struct Rendering {
        std::string text;
        std::vector<int32_t> ids;
        models::ByteSet left_out;        // bytes that the vocabulary has no token for
        bool shows_last_message = true;  // false: the template drops or changes its text
    };
    // The whole history with a generation prompt. What cannot fit into the context is refused before it is rendered or
    // made into tokens.
    Result<Rendering> render() const;
    ReplyFormat reply_format() const { return find_reply_format(template_, inputs_); }

private:
    models::ChatTemplate template_;
    models::ChatTemplate::Inputs inputs_;
    const models::Tokenizer* tokenizer_;
    uint32_t context_;  // in tokens
};

}  // namespace riftjit::engine
