// Which of what was given for a chat template the template does not read, found by rendering with it and without.
#pragma once

#include <string>
#include <vector>

#include "models/template/chat_template.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

// One warning for each: variables that change no rendering, a system message that no rendering shows.
std::vector<std::string> unread_settings(const models::ChatTemplate& chat_template, const models::Tokenizer& tokenizer,
                                         const PromptInputs& inputs);

}  // namespace riftjit::tools
