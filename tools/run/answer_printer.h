// An answer as it comes: printed, and split into thinking and what is meant for the reader.
#pragma once

#include <optional>
#include <string_view>

#include "engine/reply_parser.h"

namespace riftjit::tools {

class AnswerPrinter {
public:
    // No parser: all text is content. Otherwise thinking stands between two lines, in faint letters on a terminal that
    // has them. is_silent: nothing is printed.
    AnswerPrinter(std::optional<engine::ReplyParser> parser, bool is_silent);

    bool add(std::string_view text);  // false: whoever read the output left
    bool finish();
    const engine::Reply& reply() const { return reply_; }

private:
    bool show(const engine::Reply& news);
    std::string end_of_thinking();

    std::optional<engine::ReplyParser> parser_;
    bool is_silent_, is_styled_, is_thinking_ = false;
    engine::Reply reply_;  // so far
};

}  // namespace riftjit::tools
