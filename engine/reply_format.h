// How a model's answers are written: where its thinking begins and ends, how it calls tools. Found by having its chat
// template render an answer of each kind, so that no list of models is needed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/template/chat_template.h"

namespace riftjit::engine {

// Marks are without white space at their ends; an answer may have any there.
struct ReplyFormat {
    std::string reasoning_begin, reasoning_end;  // "<think>", "</think>"; empty: it does not think aloud
    std::vector<std::string> content_begins;     // what may stand before the text that is meant for the reader
    std::string content_end;                     // what ends that text, where more than the end of generation does

    enum class Calls : uint8_t {
        none,
        object,              // <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>, or a list of such
        name_and_arguments,  // [TOOL_CALLS]f[ARGS]{"a": 1}
        marked_arguments,    // <function=f><parameter=a>1</parameter></function>
    };
    struct CallFormat {
        Calls form = Calls::none;
        std::vector<std::string> openers;  // begin a call, or a section of them; none: a call begins the answer
        std::vector<std::string> closers;  // may stand behind a call
        // Keys of an object. No name key: the name itself is the key of its arguments.
        std::string name_key, arguments_key;
        std::string name_begin;  // what stands right before a name: "functions."
        // Around marked arguments. A line end at the edges of a value is the format's if values_have_lines.
        std::string key_begin, key_end, value_begin, value_end;
        bool values_have_lines = false;

        // A call to the letter, as the template writes it: before the name, between it and the arguments, behind them.
        // Arguments are a JSON object or, where they are marked, each has what stands before its key, between that and
        // a string or another value, and behind the value. kCallId stands for a call's id. Empty `before` and
        // `between`: not known.
        struct Written {
            std::string before, between, behind;
            std::string key, text, value, value_end;

            bool is_known() const { return !before.empty() || !between.empty(); }
        } written;
    } calls;

    bool has_reasoning() const { return !reasoning_end.empty(); }
    bool has_calls() const { return calls.form != Calls::none; }
    // Whether an answer to a prompt that ends like this begins in the midst of thinking.
    bool is_thinking_after(std::string_view prompt) const;
};

// In CallFormat::Written.
inline constexpr std::string_view kCallId = "callid000";

// The tag that a text begins with, "<...>" or "[WORD]"; empty: none does.
std::string_view leading_tag(std::string_view text);

// inputs: as for any rendering; messages, tools and the like are not looked at.
ReplyFormat find_reply_format(const models::ChatTemplate& chat_template, models::ChatTemplate::Inputs inputs);

}  // namespace riftjit::engine
