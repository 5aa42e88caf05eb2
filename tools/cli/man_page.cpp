#include "tools/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace riftjit::tools {

namespace {

// Roff reads backslashes, and dots and quotes at the beginning of a line; a plain dash would become a hyphen.
std::string roff(const std::string& text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool starts_line = i == 0 || text[i - 1] == '\n';
        if (starts_line && (c == '.' || c == '\'')) result += "\\&";
        if (c == '-') {
            result += "\\-";
        } else if (c == '\\') {
            result += "\\e";
        } else {
            result += c;
        }
    }
    return result;
}

std::string flag_text(const CommandEntry::Flag& flag) {
    std::string text = ".TP\n.B ";
    for (size_t i = 0; i < flag.names.size(); ++i) text += (i > 0 ? ", " : "") + roff(flag.names[i]);
    if (!flag.value.empty()) text += " \\fI" + roff(flag.value) + "\\fR";
    text += "\n" + roff(flag.help);
    const bool shows_default = !flag.initial.empty() && flag.initial != "false";
    if (shows_default) text += roff(" (default: " + flag.initial + ")");
    return text + "\n";
}

std::string flags_text(const CommandEntry& command) {
    std::vector<std::string> groups;
    for (const CommandEntry::Flag& flag : command.flags) {
        if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) groups.push_back(flag.group);
    }
    std::string text;
    for (const std::string& group : groups) {
        if (groups.size() > 1) text += ".PP\n.I " + roff(group) + "\n";
        for (const CommandEntry::Flag& flag : command.flags) {
            if (flag.group == group) text += flag_text(flag);
        }
    }
    return text;
}

std::string verbatim(const std::string& text) { return ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

constexpr const char* kRules = R"(.SH OUTPUT
Generated text, tables and JSON go to standard output; warnings, progress and timings to standard error.
Timings are lines that begin with
.BR common_perf_print: .
The eval line divides by the tokens behind the first, which belongs to the prompt; with drafting they take fewer steps.
.SH SIGNALS
The first Ctrl\-C stops generation, prints the timings and ends with code 130; in a conversation it returns to the prompt.
A simulation ends after its step, and what it recorded stays readable.
An emulated kernel ends where it stands, and the report says where that is.
The second one ends the program at once, with code 130.
.SH EXIT STATUS
.TP
.B 0
done, also when stopped by length, by a stop word or by the end of input
.TP
.B 1
a message says what is wrong with the command line, a file or the machine
.TP
.B 2
an internal check failed; please report the line
.TP
.B 3
.B riftjit emulate
found a fault in the kernel, or a wave did not reach its end
.TP
.B 4
with
.BR \-\-cache\-mode=require :
a kernel was missing, stale, corrupt or unreadable
.TP
.B 130
interrupted
.TP
.BR 129 ", " 143
ended by SIGHUP (the terminal is gone) or SIGTERM; what there was is written first, as after an interrupt
.SH ENVIRONMENT
.TP
.B RIFTJIT_ISA
lowers the instruction set, as
.B \-\-max\-isa
does
.TP
.B RIFTJIT_TUNE
off: levels are not tried, as with
.B \-\-no\-tune
.TP
.B RIFTJIT_CACHE_DIR
where generated code is kept, as
.B \-\-cache\-dir
says
.TP
.B RIFTJIT_CACHE
rw, ro, off or require, as
.B \-\-cache\-mode
says; what
.B riftjit cache
does does not depend on it
.TP
.B RIFTJIT_HISTORY
the file that keeps what was said in conversations at a terminal, or off
.TP
.B RIFTJIT_HIP_LIBRARY
the file of HIP's library, in place of libamdhip64.so.7, .6, .5 or without a number
.TP
.B RIFTJIT_HIP_PATIENCE
seconds after which a kernel on a GPU is taken for one that has no end, and named (60; 0: never)
.SH FILES
.TP
.I ~/.cache/riftjit
(or below XDG_CACHE_HOME) generated code; riftjit cache looks after it
.TP
.I ~/.local/state/riftjit/history
(or below XDG_STATE_HOME) what was said in conversations, for the arrow keys
)";

// The section's own heading stands in its place.
std::string without_title(const std::string& footer) {
    constexpr std::string_view kTitle = "Examples:\n";
    return footer.starts_with(kTitle) ? footer.substr(kTitle.size()) : footer;
}

constexpr const char* kSeeAlso =
    ".SH EXIT STATUS, ENVIRONMENT\nThose of all commands are in\n.BR riftjit (1).\n.SH SEE ALSO\n.BR riftjit (1)\n";

std::string heading(const std::string& title) {
    std::string capital = title;
    std::ranges::transform(capital, capital.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
    return ".TH " + roff(capital) + " 1 \"\" \"riftjit " RIFTJIT_VERSION "\" \"User Commands\"\n.ad l\n.SH NAME\n";
}

// "run", and "cache" of "cache stat".
std::string_view top_of(std::string_view name) { return name.substr(0, name.find(' ')); }

std::string program_page(std::span<const CommandEntry> table) {
    const CommandEntry& program = table.front();
    std::string text = heading("riftjit") +
                       "riftjit \\- run language models, spiking networks and RDNA code with machine code generated at "
                       "start-up\n";
    text += ".SH SYNOPSIS\n.B riftjit\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
    text += ".SH DESCRIPTION\n" + roff(program.help) + "\n" + flags_text(program) + ".SH COMMANDS\n";
    for (const CommandEntry& command : table.subspan(1))
        if (command.name == top_of(command.name))
            text += ".TP\n.BR riftjit\\-" + roff(command.name) + " (1)\n" + roff(command.help) + "\n";
    return text + kRules + ".SH EXAMPLES\n" + verbatim(without_title(program.footer));
}

// With the sections of its own commands.
std::string command_page(std::span<const CommandEntry> table, const CommandEntry& command) {
    const std::string title = "riftjit-" + command.name;
    std::string text = heading(title) + roff(title) + " \\- " + roff(command.help) + "\n";
    text += ".SH SYNOPSIS\n.B riftjit " + roff(command.name) + "\n";
    if (!command.subcommands.empty()) text += "\\fICOMMAND\\fR ";
    text += "[\\fIOPTIONS\\fR]\n.SH OPTIONS\n" + flags_text(command);
    for (const CommandEntry& each : table.subspan(1)) {
        if (each.name == command.name || top_of(each.name) != command.name) continue;
        text += ".SH \"riftjit " + roff(each.name) + "\"\n" + roff(each.help) + ".\n" + flags_text(each);
        if (!each.footer.empty()) text += verbatim(each.footer);
    }
    if (!command.footer.empty()) text += ".SH EXAMPLES\n" + verbatim(without_title(command.footer));
    return text + kSeeAlso;
}

}  // namespace

std::vector<ManPage> man_pages(std::span<const CommandEntry> table) {
    std::vector<ManPage> pages = {{"riftjit", program_page(table)}};
    for (const CommandEntry& command : table.subspan(1))
        if (command.name == top_of(command.name))
            pages.push_back({"riftjit-" + command.name, command_page(table, command)});
    return pages;
}

}  // namespace riftjit::tools
