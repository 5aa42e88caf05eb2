// An answer's text, as it comes, split into thinking, what is meant for the reader, and calls of tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/reply_format.h"

namespace riftjit::engine {

struct ToolCall {
    std::string name;
    std::string arguments;  // a JSON object
};

// Of a whole answer, or what is new of one.
struct Reply {
    std::string reasoning, content;
    std::vector<ToolCall> calls;

    bool is_empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
};

struct ReplyOptions {
    bool splits_reasoning = true;  // false: thinking stays in the content, with its marks
    bool is_thinking = false;      // the answer begins in the midst of it (ReplyFormat::is_thinking_after)
    nlohmann::ordered_json tools;  // as in a request; null: nothing is taken for a call
};

// Nothing is lost: what begins like a call and turns out to be none comes out as content. White space around thinking,
// and between content and a call, belongs to the format. Marks need the control tokens in the text that is pushed.
class ReplyParser {
public:
    ReplyParser(ReplyFormat format, const ReplyOptions& options);

    Reply push(std::string_view text);
    Reply finish();  // what was held back; an unfinished call is content

private:
    enum class State : uint8_t { begin, reasoning, content, call, behind_call };
    enum class Step : uint8_t { more, wait };  // whether there may be more to do with what is pending

    Step step(Reply& reply);
    Step begin();
    Step read_reasoning(Reply& reply);
    Step read_content(Reply& reply);
    Step read_call(Reply& reply);
    Step pass_closers();
    bool drop_space();

    bool is_known(std::string_view name) const;
    // The arguments of a marked call take the types that the tool's schema has.
    nlohmann::ordered_json typed(std::string_view tool, const std::string& key, std::string_view text) const;

    struct Parsed;
    Parsed parse_call(std::string_view text) const;
    Parsed parse_object(std::string_view text) const;
    Parsed parse_name_and_arguments(std::string_view text) const;
    Parsed parse_marked(std::string_view text) const;

    ReplyFormat format_;
    nlohmann::ordered_json tools_;
    bool has_calls_;
    State state_;
    bool is_final_ = false;
    bool drops_space_ = false;  // before what comes next
    std::string pending_;
    std::vector<std::string_view> content_marks_;  // that end or interrupt content
};

}  // namespace riftjit::engine
