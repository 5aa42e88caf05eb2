// What the user says, as token ids: raw text, ids, or a conversation through the model's template.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/conversation.h"
#include "engine/engine.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

// What the options say, read and checked before the model is opened.
struct PromptInputs {
    std::optional<std::string> text;  // of -p, -f or -bf
    std::string system;               // of -sys or -sysf
    std::string system_flag;          // which of them
    std::optional<models::ChatTemplate> chat_template;
    nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // for the template
    std::map<std::string, std::string> flags_of_variables;                // who gave them
};

// Flags given that only a chat template looks at.
std::vector<std::string> template_flags(const RunOptions& options);

Result<PromptInputs> read_prompt_inputs(const RunOptions& options);
Result<std::vector<int32_t>> parse_ids(std::string_view text, uint32_t vocabulary);  // "1,2,3"
// Bytes of a file or a pipe as UTF-8 text: without a byte-order mark; UTF-16 is refused. `name` is used in messages.
Result<std::string> as_text(std::string bytes, std::string_view name);
std::string without_line_end(std::string text);  // of its last line: \n or \r\n
// All of it, as text without its last line's end.
Result<std::string> read_standard_input();

// With the template of the options, or the model's, and the system message; nullopt when there is no template, or with
// -no-cnv. The engine must outlive it.
Result<std::optional<engine::Conversation>> open_conversation(const PromptInputs& inputs, Toggle wanted,
                                                              const engine::Engine& engine);

}  // namespace riftjit::tools
