// The chat templates that llama.cpp knows by name (--chat-template NAME), as Jinja: each renders what llama.cpp's own
// renderer makes of system, user and assistant turns (src/llama-chat.cpp; tests/data/templates/make_named_goldens.py).
// None writes a begin token: the tokenizer puts one in front where the vocabulary wants it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace riftjit::models {

std::optional<std::string> named_template(std::string_view name);  // nullopt: no such name
std::span<const std::string> template_names();                     // ascending

}  // namespace riftjit::models
