#include "tools/rdna/rdna_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tools/cli/input_file.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

constexpr size_t kMaxLineBytes = 4096;

// As std::getline, but of a longer line only its beginning and the fact; the rest is left unread.
bool read_line(std::istream& in, std::string& line, bool& is_too_long) {
    line.clear();
    is_too_long = false;
    for (int c = in.get(); c != EOF; c = in.get()) {
        if (c == '\n') return true;
        line += static_cast<char>(c);
        is_too_long = line.size() > kMaxLineBytes;
        if (is_too_long) return true;
    }
    return !line.empty();
}

std::string_view without_comment(std::string_view line) {
    line = line.substr(0, std::min({line.find(';'), line.find("//"), line.find('#'), line.size()}));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return "";
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// A message quotes what it refuses: control bytes are spelt out, and it ends somewhere.
std::string printable(std::string_view text) {
    constexpr size_t kMost = 160;
    std::string shown;
    for (const char c : text.substr(0, kMost)) {
        const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        shown += is_control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
    }
    return text.size() > kMost ? shown + "..." : shown;
}

}  // namespace

std::string clipped(std::string_view text) {
    constexpr size_t kMost = 80;
    return text.size() > kMost ? std::string(text.substr(0, kMost)) + "..." : std::string(text);
}

void add_rdna_target(CLI::App& app, RdnaChoice& choice, const std::string& help) {
    app.add_option_function<std::string>(
           "--target",
           [&choice](const std::string& text) {
               choice.target = rdna::target_from_name(text);
               if (!choice.target)
                   throw CLI::ValidationError(
                       fmt::format("--target: \"{}\" is not known, expected one of {}", text, rdna::target_names()),
                       CLI::ExitCodes::ValidationError);
           },
           help)
        ->type_name("GFX");
}

void add_rdna_choice(CLI::App& app, RdnaChoice& choice, const std::string& target_help, const std::string& wave_help) {
    add_rdna_target(app, choice, target_help);
    app.add_flag_callback("--wave64", [&choice] { choice.wave_size = rdna::WaveSize::wave64; }, wave_help);
}

int translate_lines(const std::function<Result<std::string>(std::string_view)>& translate) {
    int exit_code = kExitDone;
    std::string line;
    bool is_too_long = false;
    for (size_t number = 1; read_line(std::cin, line, is_too_long); ++number) {
        if (is_too_long) {
            write_diagnostic(fmt::format("error: line {}: more than {} bytes\n", number, kMaxLineBytes));
            return kExitError;
        }
        Result<std::string> translated = translate(without_comment(line));
        if (!translated) {
            write_diagnostic(fmt::format("error: line {}: {}\n", number, printable(translated.error().message)));
            exit_code = kExitError;
        }
        if (!write_output(translated.value_or("") + "\n")) return exit_code;
    }
    const auto is_whole = check_standard_input();
    return is_whole ? exit_code : report(is_whole.error());
}

}  // namespace riftjit::tools
