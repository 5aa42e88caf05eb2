// What a person may say in a conversation that is no message: /help and the like.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::tools {

enum class ChatCommand : uint8_t { help, regen, edit, clear, read, save, load, exit };

struct ChatLine {
    ChatCommand command;
    std::string argument;
};

// nullopt: a message, as is a path or other text with a slash in front. An error for a word alone that is no command,
// and for an argument that is missing or too much.
Result<std::optional<ChatLine>> parse_chat_line(std::string_view line);

std::vector<std::string> chat_command_names();  // "/help", for completion
std::string chat_help();                        // lines

}  // namespace riftjit::tools
