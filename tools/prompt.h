// What the user says, as token ids: raw text, ids, or a conversation through the model's template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/chat_template.h"
#include "tools/run_options.h"

namespace riftjit::tools {

// Text of -p, -f or -bf, escapes applied; nullopt when none of them was given.
Result<std::optional<std::string>> prompt_text(const RunOptions& options);
std::string process_escapes(std::string_view text);                                  // \n \t \r \" \' \\ \xHH
Result<std::vector<int32_t>> parse_ids(std::string_view text, uint32_t vocabulary);  // "1,2,3"
Result<std::string> read_file(const std::string& path);

// The messages so far and the template that renders them.
class Conversation {
public:
    // The model's template or the one of the options; nullopt when there is none, or -no-cnv.
    static Result<std::optional<Conversation>> open(const RunOptions& options, const models::Gguf& file,
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
