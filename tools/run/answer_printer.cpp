#include "tools/run/answer_printer.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "tools/cli/output.h"

namespace riftjit::tools {

namespace {

constexpr const char *kFaint = "\x1b[2m", *kUsual = "\x1b[22m";

// no-color.org; TERM as terminfo has it.
bool has_styles() {
    const char *terminal = std::getenv("TERM"), *no_color = std::getenv("NO_COLOR");
    const bool is_plain = terminal == nullptr || std::string_view(terminal) == "dumb";
    return isatty(STDOUT_FILENO) != 0 && !is_plain && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

AnswerPrinter::AnswerPrinter(std::optional<engine::ReplyParser> parser, bool is_silent)
    : parser_(std::move(parser)), is_silent_(is_silent), is_styled_(has_styles()) {}

bool AnswerPrinter::add(std::string_view text) {
    if (text.empty()) return true;
    return show(parser_ ? parser_->push(text) : engine::Reply{{}, std::string(text), {}});
}

bool AnswerPrinter::finish() {
    const bool is_read = !parser_ || show(parser_->finish());
    if (!is_thinking_ || is_silent_) return is_read;
    return write_output(end_of_thinking()) && is_read;
}

std::string AnswerPrinter::end_of_thinking() {
    is_thinking_ = false;
    return std::string(reply_.reasoning.ends_with('\n') ? "" : "\n") + (is_styled_ ? kUsual : "") +
           "[End thinking]\n\n";
}

bool AnswerPrinter::show(const engine::Reply& news) {
    std::string text;
    if (!news.reasoning.empty()) {
        if (!is_thinking_) text += std::string("[Start thinking]\n") + (is_styled_ ? kFaint : "");
        is_thinking_ = true;
        text += news.reasoning;
    }
    reply_.reasoning += news.reasoning;
    if (!news.content.empty()) {
        if (is_thinking_) text += end_of_thinking();
        text += news.content;
    }
    reply_.content += news.content;
    return is_silent_ || text.empty() || write_output(text);
}

}  // namespace riftjit::tools
