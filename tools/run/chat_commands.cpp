#include "tools/run/chat_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/cli/suggestion.h"

namespace riftjit::tools {

namespace {

struct Entry {
    ChatCommand command;
    std::string_view name, argument, help;
};
constexpr Entry kEntries[] = {
    {ChatCommand::help, "/help", "", "these lines"},
    {ChatCommand::regen, "/regen", "", "another answer to the last message"},
    {ChatCommand::edit, "/edit", "", "change the last message, and ask again"},
    {ChatCommand::clear, "/clear", "", "start the conversation anew; the system message stays"},
    {ChatCommand::read, "/read", "FILE", "the file's text goes in front of the next message"},
    {ChatCommand::save, "/save", "FILE", "write the conversation, as JSON"},
    {ChatCommand::load, "/load", "FILE", "go on with a conversation that was saved"},
    {ChatCommand::exit, "/exit", "", "leave, as Ctrl-D does (/quit, /bye)"},
};

std::string_view trim(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

}  // namespace

Result<std::optional<ChatLine>> parse_chat_line(std::string_view line) {
    if (!line.starts_with('/') || line.contains('\n')) return std::nullopt;
    const size_t end = std::min(line.find(' '), line.size());
    std::string_view name = line.substr(0, end);
    if (name == "/quit" || name == "/bye") name = "/exit";
    const std::string_view argument = trim(line.substr(end));
    const auto entry = std::ranges::find(kEntries, name, &Entry::name);
    if (entry != std::end(kEntries)) {
        if (argument.empty() != entry->argument.empty())
            return argument.empty() ? fail(ErrorKind::Usage, "{} {}: the file is missing", name, entry->argument)
                                    : fail(ErrorKind::Usage, "{}: takes nothing, got \"{}\"", name, argument);
        return ChatLine{entry->command, std::string(argument)};
    }
    const bool is_word = std::ranges::all_of(name.substr(1), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_word || name.size() < 2 || !argument.empty()) return std::nullopt;
    const std::string near = closest(name, chat_command_names());
    return fail(ErrorKind::Usage, "{}: no such command{}; /help lists them", name,
                near.empty() ? "" : fmt::format(", {} is near", near));
}

std::vector<std::string> chat_command_names() {
    std::vector<std::string> names;
    for (const Entry& entry : kEntries) names.emplace_back(entry.name);
    return names;
}

std::string chat_help() {
    std::string text;
    for (const Entry& entry : kEntries)
        text += fmt::format("  {:12} {}\n", fmt::format("{} {}", entry.name, entry.argument), entry.help);
    return text +
           "  \"\"\"          begins a message of several lines, and ends it; a \\ at a line's end goes on too,\n"
           "               and so does Alt-Enter. What is pasted stays whole.\n"
           "  Ctrl-C       stops an answer; before one, leaves\n";
}

}  // namespace riftjit::tools
