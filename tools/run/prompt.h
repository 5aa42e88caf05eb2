// What the user says, as token ids: raw text, ids, or a conversation through the model's template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/template/chat_template.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

// What the options say, read and checked before the model is opened.
struct PromptInputs {
    std::optional<std::string> text;  // of -p, -f or -bf, escapes applied
    std::string system;               // of -sys or -sysf
    std::optional<models::ChatTemplate> chat_template;
    nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // for the template
};

// Flags given that only a chat template looks at.
std::vector<std::string> template_flags(const RunOptions& options);

Result<PromptInputs> read_prompt_inputs(const RunOptions& options);
std::string process_escapes(std::string_view text);                                  // \n \t \r \" \' \\ \xHH
Result<std::vector<int32_t>> parse_ids(std::string_view text, uint32_t vocabulary);  // "1,2,3"
Result<std::string> read_file(const std::string& path);

// The messages so far and the template that renders them.
class Conversation {
public:
    // With the template of the options, or the model's; nullopt when there is none, or with -no-cnv.
    static Result<std::optional<Conversation>> open(const PromptInputs& inputs, Toggle wanted, const models::Gguf& file,
                                                    const models::Tokenizer& tokenizer);

    void add(std::string role, std::string content);
    // The whole history with a generation prompt, and the part of it that the session has not seen yet: ids share a
    // prefix of `seen` with what was evaluated before.
    Result<std::vector<int32_t>> render() const;

private:
    Conversation(models::ChatTemplate chat_template, models::ChatTemplate::Inputs inputs,
                 const models::Tokenizer& tokenizer)
        : template_(std::move(chat_template)), inputs_(std::move(inputs)), tokenizer_(&tokenizer) {}

    models::ChatTemplate template_;
    models::ChatTemplate::Inputs inputs_;
    const models::Tokenizer* tokenizer_;
};

}  // namespace riftjit::tools
