#include "tools/cli/completion.h"

#include <fmt/format.h>

namespace riftjit::tools {

namespace {

// Alternatives of a case pattern: "run -m"|"run --model".
std::string patterns(const CommandEntry& command, const CommandEntry::Flag& flag) {
    std::string text;
    for (const std::string& name : flag.names) {
        text += fmt::format("{}\"{} {}\"", text.empty() ? "" : "|", command.name, name);
    }
    return text;
}

std::string words(const CommandEntry& command) {
    std::string text = fmt::format("{}", fmt::join(command.subcommands, " "));
    for (const std::string& operand : command.operands) text += (text.empty() ? "" : " ") + operand;
    for (const CommandEntry::Flag& flag : command.flags) {
        text += (text.empty() ? "" : " ") + fmt::format("{}", fmt::join(flag.names, " "));
    }
    return text;
}

// Sets $command to the subcommands typed so far.
std::string command_cases(std::span<const CommandEntry> table) {
    std::string text;
    for (const CommandEntry& command : table) {
        if (command.name.empty()) continue;
        const size_t space = command.name.rfind(' ');
        const std::string parent = space == std::string::npos ? "" : command.name.substr(0, space);
        const std::string last = space == std::string::npos ? command.name : command.name.substr(space + 1);
        text += fmt::format("            \"{}:{}\") command=\"{}\" ;;\n", parent, last, command.name);
    }
    return text;
}

// The last of several words with commas between, which a dash may precede: "all,-ra".
constexpr const char* kListCase =
    "        {}) word=\"${{current##*,}}\"; word=\"${{word#-}}\"\n"
    "            COMPREPLY=($(compgen -P \"${{current%\"$word\"}}\" -W \"{}\" -- \"$word\")); return ;;\n";

// What may follow a flag: one of a few words, or a file or what cannot be guessed, which is left to the shell's own
// completion (it knows folders, and blanks in names).
std::string value_cases(std::span<const CommandEntry> table) {
    std::string text;
    for (const CommandEntry& command : table) {
        for (const CommandEntry::Flag& flag : command.flags) {
            if (flag.value.empty()) continue;
            if (flag.takes_list) {
                text += fmt::format(kListCase, patterns(command, flag), fmt::join(flag.values, " "));
            } else if (!flag.values.empty()) {
                text += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n",
                                    patterns(command, flag), fmt::join(flag.values, " "));
            } else {
                text += fmt::format("        {}) return ;;\n", patterns(command, flag));
            }
        }
    }
    return text;
}

std::string word_cases(std::span<const CommandEntry> table) {
    std::string text;
    for (const CommandEntry& command : table) {
        text += fmt::format("        \"{}\") words=\"{}\" ;;\n", command.name, words(command));
    }
    return text;
}

// The kernels of the first file on the line, until one of them stands there too.
std::string kernel_cases(std::span<const CommandEntry> table) {
    std::string commands;
    for (const CommandEntry& command : table)
        if (command.takes_kernel) commands += (commands.empty() ? "" : "|") + fmt::format("\"{}\"", command.name);
    if (commands.empty()) return "";
    return fmt::format(R"sh(    case "$command" in {})
        for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
            [[ -f $word ]] || continue
            kernels=" $("${{COMP_WORDS[0]}}" disasm --kernels "$word" 2>/dev/null | cut -d" " -f1 | tr "\n" " ")"
            break
        done
        for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do [[ $kernels == *" $word "* ]] && kernels=""; done
        COMPREPLY=($(compgen -W "$kernels" -- "$current"))
        [[ ${{#COMPREPLY[@]}} -gt 0 ]] && return ;;
    esac
)sh",
                       commands);
}

// Beside words, files of one ending and folders that may hold some.
std::string file_cases(std::span<const CommandEntry> table) {
    std::string text;
    for (const CommandEntry& command : table) {
        if (command.operand_ending.empty()) continue;
        text += fmt::format(
            "    [[ $command == \"{}\" && $current != -* ]] && compopt -o filenames 2>/dev/null\n"
            "    [[ $command == \"{}\" && $current != -* ]] &&\n"
            "        COMPREPLY+=($(compgen -f -X \"!*{}\" -- \"$current\"; compgen -d -- \"$current\"))\n",
            command.name, command.name, command.operand_ending);
    }
    return text;
}

std::string function(std::span<const CommandEntry> table) {
    return fmt::format(R"(_riftjit() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" words="" word kernels=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command:$word" in
{}        esac
    done
    case "$command $previous" in
{}    esac
{}    case "$command" in
{}    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
{}    return 0
}}
complete -o default -F _riftjit riftjit
)",
                       command_cases(table), value_cases(table), kernel_cases(table), word_cases(table),
                       file_cases(table));
}

std::string in_quotes(const std::string& text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + "'";
}

// When a command's flags apply: its last word was typed.
std::string fish_condition(const CommandEntry& command) {
    if (command.name.empty()) return "-n __fish_use_subcommand";
    const size_t space = command.name.rfind(' ');
    return fmt::format("-n '__fish_seen_subcommand_from {}'",
                       command.name.substr(space == std::string::npos ? 0 : space + 1));
}

std::string fish_flag(const CommandEntry& command, const CommandEntry::Flag& flag) {
    std::string text = "complete -c riftjit " + fish_condition(command);
    for (const std::string& name : flag.names) {
        if (name.starts_with("--")) {
            text += " -l " + name.substr(2);
        } else {
            text += (name.size() == 2 ? " -s " : " -o ") + name.substr(1);
        }
    }
    if (!flag.value.empty()) text += flag.takes_file() ? " -r -F" : " -x";
    if (!flag.values.empty()) text += fmt::format(" -a '{}'", fmt::join(flag.values, " "));
    return text + " -d " + in_quotes(flag.help) + "\n";
}

}  // namespace

std::string bash_completion(std::span<const CommandEntry> table) {
    return "# bash completion for riftjit: source it, or put it into bash-completion's folder\n" + function(table);
}

std::string zsh_completion(std::span<const CommandEntry> table) {
    return "#compdef riftjit\nautoload -U +X bashcompinit && bashcompinit\n" + function(table);
}

std::string fish_completion(std::span<const CommandEntry> table) {
    std::string text =
        "# fish completion for riftjit\ncomplete -c riftjit -n __fish_use_subcommand -f\n"
        "function __riftjit_kernels\n    for word in (commandline -opc)[3..]\n"
        "        test -f $word; and riftjit disasm --kernels $word 2>/dev/null | string replace -r ' .*' ''; and "
        "break\n"
        "    end\nend\n";
    for (const CommandEntry& command : table) {
        if (!command.name.empty()) {
            const size_t space = command.name.rfind(' ');
            const CommandEntry parent{.name = space == std::string::npos ? "" : command.name.substr(0, space)};
            text +=
                fmt::format("complete -c riftjit {} -f -a {} -d {}\n", fish_condition(parent),
                            command.name.substr(space == std::string::npos ? 0 : space + 1), in_quotes(command.help));
        }
        if (command.takes_kernel)
            text += fmt::format("complete -c riftjit {} -a '(__riftjit_kernels)'\n", fish_condition(command));
        if (!command.operands.empty())
            text += fmt::format("complete -c riftjit {} -k -a '{} (__fish_complete_suffix {})'\n",
                                fish_condition(command), fmt::join(command.operands, " "), command.operand_ending);
        for (const CommandEntry::Flag& flag : command.flags) text += fish_flag(command, flag);
    }
    return text;
}

}  // namespace riftjit::tools
