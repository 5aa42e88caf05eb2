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
.B 143
.B riftjit sim
or
.B emulate
was ended by SIGTERM, and wrote what it had
.SH ENVIRONMENT
.TP
.B RIFTJIT_ISA
lowers the instruction set, as
.B \-\-max\-isa
does
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

}  // namespace

std::string man_page(std::span<const CommandEntry> table) {
    const CommandEntry& program = table.front();
    std::string text = ".TH RIFTJIT 1 \"\" \"riftjit " RIFTJIT_VERSION "\" \"User Commands\"\n.ad l\n";
    text +=
        ".SH NAME\nriftjit \\- run language models, spiking networks and RDNA code with machine code generated at "
        "start-up\n";
    text += ".SH SYNOPSIS\n.B riftjit\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
    text += ".SH DESCRIPTION\n" + roff(program.help) + "\n" + flags_text(program);
    for (const CommandEntry& command : table.subspan(1)) {
        std::string title = "riftjit " + command.name;
        text += ".SH \"" + roff(title) + "\"\n" + roff(command.help) + ".\n" + flags_text(command);
        if (!command.footer.empty()) text += verbatim(command.footer);
    }
    return text + kRules + ".SH EXAMPLES\n" + verbatim(without_title(program.footer));
}

}  // namespace riftjit::tools
