#include "engine/reply_parser.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "engine/loose_value.h"

namespace riftjit::engine {
namespace {

using Json = nlohmann::ordered_json;
using Calls = ReplyFormat::Calls;

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kMostHeaderBytes = 512;  // between what opens a call and its arguments

size_t space_at_begin(std::string_view text) { return std::min(text.find_first_not_of(kSpace), text.size()); }
size_t without_space_at_end(std::string_view text) {
    const size_t last = text.find_last_not_of(kSpace);
    return last == std::string_view::npos ? 0 : last + 1;
}

// Where text ends with what may be the beginning of `mark`.
size_t beginning_of(std::string_view text, std::string_view mark) {
    for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length)
        if (text.ends_with(mark.substr(0, length))) return text.size() - length;
    return text.size();
}

enum class Match : uint8_t { no, maybe, yes };
Match match(std::string_view text, std::string_view mark) {
    if (text.starts_with(mark)) return Match::yes;
    return mark.starts_with(text) ? Match::maybe : Match::no;
}

// What a request's tool is called, and takes; "" and null where it does not say.
const Json& function_of(const Json& tool) {
    return tool.is_object() && tool.contains("function") ? tool.at("function") : tool;
}
std::string name_of(const Json& tool) {
    const Json& function = function_of(tool);
    if (!function.is_object() || !function.contains("name") || !function.at("name").is_string()) return {};
    return function.at("name");
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

struct ReplyParser::Parsed {
    Scan scan = Scan::bad;
    size_t length = 0;
    std::vector<ToolCall> calls = {};
};

ReplyParser::ReplyParser(ReplyFormat format, const ReplyOptions& options)
    : format_(std::move(format)),
      tools_(options.tools),
      has_calls_(format_.has_calls() && tools_.is_array() && !tools_.empty()),
      state_(State::begin) {
    if (!options.splits_reasoning) {
        format_.reasoning_begin.clear();
        format_.reasoning_end.clear();
    } else if (format_.has_reasoning()) {
        if (options.is_thinking) state_ = State::reasoning;
        drops_space_ = true;
    }
    if (has_calls_)
        for (const std::string& opener : format_.calls.openers) content_marks_.push_back(opener);
    if (!format_.content_end.empty()) content_marks_.push_back(format_.content_end);
}

Reply ReplyParser::push(std::string_view text) {
    pending_ += text;
    Reply reply;
    while (step(reply) == Step::more) {
    }
    return reply;
}

Reply ReplyParser::finish() {
    is_final_ = true;
    return push("");
}

ReplyParser::Step ReplyParser::step(Reply& reply) {
    switch (state_) {
        case State::begin:
            return begin();
        case State::reasoning:
            return read_reasoning(reply);
        case State::content:
            return read_content(reply);
        case State::call:
            return read_call(reply);
        case State::behind_call:
            return pass_closers();
    }
    return Step::wait;
}

// At the beginning, and wherever thinking or a call has ended: the longest mark that the text begins with says what
// comes.
ReplyParser::Step ReplyParser::begin() {
    const std::string_view text = std::string_view(pending_).substr(space_at_begin(pending_));
    const size_t space = pending_.size() - text.size();
    if (text.empty() && !is_final_) return Step::wait;
    bool may_match = false;
    std::string_view longest;
    State next = State::content;
    const auto look_for = [&](std::string_view mark, State state) {
        if (mark.empty()) return;
        const Match found = match(text, mark);
        may_match |= found == Match::maybe;
        if (found != Match::yes || mark.size() <= longest.size()) return;
        longest = mark;
        next = state;
    };
    look_for(format_.reasoning_begin, State::reasoning);
    // The end of thinking that the prompt had open and shut already.
    look_for(format_.reasoning_end, State::begin);
    for (const std::string& mark : format_.content_begins) look_for(mark, State::content);
    if (has_calls_)
        for (const std::string& opener : format_.calls.openers) look_for(opener, State::call);
    if (may_match && !is_final_) return Step::wait;
    if (longest.empty() && has_calls_ && format_.calls.openers.empty()) next = State::call;
    if (next == State::call) {
        pending_.erase(0, space);
    } else {
        if (!longest.empty() || drops_space_) pending_.erase(0, space + longest.size());
        drops_space_ = !longest.empty();
    }
    state_ = next;
    return Step::more;
}

// False: nothing but white space has come.
bool ReplyParser::drop_space() {
    if (!drops_space_) return true;
    pending_.erase(0, space_at_begin(pending_));
    drops_space_ = pending_.empty();
    return !drops_space_;
}

ReplyParser::Step ReplyParser::read_reasoning(Reply& reply) {
    if (!drop_space()) return Step::wait;
    const std::string_view text = pending_;
    const size_t end = text.find(format_.reasoning_end);
    if (end != std::string_view::npos) {
        reply.reasoning += text.substr(0, without_space_at_end(text.substr(0, end)));
        pending_.erase(0, end + format_.reasoning_end.size());
        state_ = State::begin;
        drops_space_ = true;
        return Step::more;
    }
    size_t shown = is_final_ ? text.size() : beginning_of(text, format_.reasoning_end);
    shown = without_space_at_end(text.substr(0, shown));
    reply.reasoning += text.substr(0, shown);
    pending_.erase(0, is_final_ ? pending_.size() : shown);
    return Step::wait;
}

ReplyParser::Step ReplyParser::read_content(Reply& reply) {
    if (!drop_space()) return Step::wait;
    const std::string_view text = pending_;
    size_t first = std::string_view::npos;
    std::string_view found;
    for (const std::string_view mark : content_marks_) {
        const size_t at = text.find(mark);
        if (at < first || (at == first && at != std::string_view::npos && mark.size() > found.size())) {
            first = at;
            found = mark;
        }
    }
    if (first != std::string_view::npos) {
        const bool is_end = found == format_.content_end && !format_.content_end.empty();
        const size_t shown = is_end ? first : without_space_at_end(text.substr(0, first));
        reply.content += text.substr(0, shown);
        pending_.erase(0, is_end ? first + found.size() : first);
        state_ = is_end ? State::begin : State::call;
        return Step::more;
    }
    size_t shown = text.size();
    if (!is_final_) {
        for (const std::string_view mark : content_marks_) shown = std::min(shown, beginning_of(text, mark));
        // White space before a call is the format's.
        if (has_calls_) shown = without_space_at_end(text.substr(0, shown));
    }
    reply.content += text.substr(0, shown);
    pending_.erase(0, shown);
    return Step::wait;
}

ReplyParser::Step ReplyParser::read_call(Reply& reply) {
    Parsed parsed = parse_call(pending_);
    if (parsed.scan == Scan::incomplete && !is_final_) return Step::wait;
    if (parsed.scan == Scan::complete) {
        std::ranges::move(parsed.calls, std::back_inserter(reply.calls));
        pending_.erase(0, parsed.length);
        state_ = State::behind_call;
        return Step::more;
    }
    // No call: what opened it is text, and what follows is looked at again.
    size_t shown = std::min<size_t>(pending_.size(), 1);
    for (const std::string& opener : format_.calls.openers)
        if (pending_.starts_with(opener)) shown = std::max(shown, opener.size());
    reply.content += pending_.substr(0, shown);
    pending_.erase(0, shown);
    state_ = State::content;
    return Step::more;
}

ReplyParser::Step ReplyParser::pass_closers() {
    const std::string_view text = std::string_view(pending_).substr(space_at_begin(pending_));
    if (text.empty()) {
        if (is_final_) pending_.clear();
        return Step::wait;
    }
    bool may_match = false;
    std::string_view closer;
    for (const std::string& mark : format_.calls.closers) {
        const Match found = match(text, mark);
        may_match |= found == Match::maybe;
        if (found == Match::yes && mark.size() > closer.size()) closer = mark;
    }
    const size_t space = pending_.size() - text.size();
    if (!closer.empty()) {
        pending_.erase(0, space + closer.size());
        return Step::more;
    }
    if (may_match) {
        if (!is_final_) return Step::wait;
        pending_.clear();
        return Step::wait;
    }
    if (format_.calls.form == Calls::object && !format_.calls.openers.empty()) {
        if (text[0] == ',' || text[0] == ';') {
            pending_.erase(0, space + 1);
            return Step::more;
        }
        if (text[0] == '{') {
            pending_.erase(0, space);
            state_ = State::call;
            return Step::more;
        }
    }
    if (format_.calls.form == Calls::name_and_arguments && text[0] == ',') {
        pending_.erase(0, space + 1);
        state_ = State::call;
        return Step::more;
    }
    state_ = State::begin;
    drops_space_ = true;
    return Step::more;
}

bool ReplyParser::is_known(std::string_view name) const {
    return !name.empty() && std::ranges::any_of(tools_, [&](const Json& tool) { return name_of(tool) == name; });
}

ReplyParser::Parsed ReplyParser::parse_call(std::string_view text) const {
    switch (format_.calls.form) {
        case Calls::object:
            return parse_object(text);
        case Calls::name_and_arguments:
            return parse_name_and_arguments(text);
        case Calls::marked_arguments:
            return parse_marked(text);
        case Calls::none:
            break;
    }
    return {};
}

namespace {

// Passes marks in any number and order, and white space. `is_partial`: the text ends within one.
size_t pass(std::string_view text, std::span<const std::string> marks, bool& is_partial) {
    size_t at = 0;
    for (bool is_passed = true; is_passed;) {
        at += space_at_begin(text.substr(at));
        is_passed = false;
        for (const std::string& mark : marks) {
            const Match found = match(text.substr(at), mark);
            is_partial |= found == Match::maybe && at < text.size();
            if (found != Match::yes) continue;
            at += mark.size();
            is_passed = true;
            break;
        }
    }
    return at;
}

}  // namespace

ReplyParser::Parsed ReplyParser::parse_object(std::string_view text) const {
    const auto& calls = format_.calls;
    bool is_partial = false;
    const size_t at = pass(text, calls.openers, is_partial);
    if (at == text.size()) return {Scan::incomplete};
    if (text[at] != '{' && text[at] != '[') return {is_partial ? Scan::incomplete : Scan::bad};
    const LooseValue value = read_loose_value(text.substr(at));
    if (value.scan != Scan::complete) return {value.scan};
    Parsed parsed{Scan::complete, at + value.length};
    const Json list = value.value.is_array() ? value.value : Json::array({value.value});
    for (const Json& object : list) {
        if (!object.is_object() || object.empty()) return {};
        std::string name;
        Json arguments;
        if (calls.arguments_key.empty()) {  // {"name": {arguments}}
            name = object.begin().key();
            arguments = object.begin().value();
        } else {
            for (const std::string_view key : {std::string_view(calls.name_key), std::string_view("name")})
                if (name.empty() && object.contains(key) && object.at(key).is_string()) name = object.at(key);
            for (const std::string_view key :
                 {std::string_view(calls.arguments_key), std::string_view("arguments"), std::string_view("parameters")})
                if (arguments.is_null() && object.contains(key)) arguments = object.at(key);
        }
        if (arguments.is_string()) arguments = Json::parse(arguments.get_ref<const std::string&>(), nullptr, false);
        if (arguments.is_null()) arguments = Json::object();
        if (name.empty() || !arguments.is_object() || (calls.openers.empty() && !is_known(name))) return {};
        parsed.calls.push_back({std::move(name), dump(arguments)});
    }
    if (parsed.calls.empty()) return {};
    return parsed;
}

ReplyParser::Parsed ReplyParser::parse_name_and_arguments(std::string_view text) const {
    const auto& calls = format_.calls;
    const size_t begin = text.find_first_of("{(");
    const std::string_view header = text.substr(0, begin);
    if (header.size() > kMostHeaderBytes) return {};
    if (begin == std::string_view::npos) {
        // Without anything that opens a call, the answer begins with the name of a tool.
        if (!calls.openers.empty()) return {Scan::incomplete};
        const bool may_be = std::ranges::any_of(tools_, [&](const Json& tool) {
            const std::string name = name_of(tool);
            return !name.empty() && (name.starts_with(text) || text.starts_with(name + "\n"));
        });
        return {may_be ? Scan::incomplete : Scan::bad};
    }
    bool is_partial = false;
    size_t at = pass(header, calls.openers, is_partial);
    if (!calls.name_begin.empty())
        if (const size_t found = header.rfind(calls.name_begin); found != std::string_view::npos)
            at = std::max(at, found + calls.name_begin.size());
    at += space_at_begin(header.substr(std::min(at, header.size())));
    // A list's bracket before the first: [f(a=1), g(b=2)]
    if (at < header.size() && header[at] == '[') ++at;
    size_t end = at;
    while (end < header.size() && is_loose_name(header[end])) ++end;
    const std::string name(header.substr(at, end - at));
    if (name.empty() || (calls.openers.empty() && !is_known(name))) return {};
    const LooseValue value = read_loose_value(text.substr(begin));
    if (value.scan != Scan::complete) return {value.scan};
    if (!value.value.is_object()) return {};
    return {Scan::complete, begin + value.length, {{name, dump(value.value)}}};
}

ReplyParser::Parsed ReplyParser::parse_marked(std::string_view text) const {
    const auto& calls = format_.calls;
    bool is_partial = false;
    size_t at = pass(text, calls.openers, is_partial);
    if (at == text.size() || is_partial) return {Scan::incomplete};
    if (std::ranges::find(calls.openers, calls.name_begin) == calls.openers.end()) {
        const Match found = match(text.substr(at), calls.name_begin);
        if (found != Match::yes) return {found == Match::maybe ? Scan::incomplete : Scan::bad};
        at += calls.name_begin.size();
    }
    size_t end = at;
    while (end < text.size() && is_loose_name(text[end])) ++end;
    if (end == text.size()) return {end - at > kMostHeaderBytes ? Scan::bad : Scan::incomplete};
    const std::string name(text.substr(at, end - at));
    if (name.empty()) return {};
    Json arguments = Json::object();
    // The rest of the name's mark: up to the first argument, or the end of a call that has none.
    at = end;
    const auto next_of = [&](std::string_view mark) { return text.find(mark, at); };
    while (true) {
        size_t closing = std::string_view::npos;
        for (const std::string& closer : calls.closers) closing = std::min(closing, next_of(closer));
        const size_t key = next_of(calls.key_begin);
        const size_t stop = std::min(key, closing);
        if (stop == std::string_view::npos) return {text.size() - at > kMostHeaderBytes ? Scan::bad : Scan::incomplete};
        if (closing < key) return {Scan::complete, closing, {{name, dump(arguments)}}};
        const size_t key_at = key + calls.key_begin.size();
        const size_t key_end = text.find(calls.key_end, key_at);
        if (key_end == std::string_view::npos)
            return {text.size() - key_at > kMostHeaderBytes ? Scan::bad : Scan::incomplete};
        size_t value_at = key_end + calls.key_end.size();
        if (!calls.value_begin.empty()) {
            value_at = text.find(calls.value_begin, value_at);
            if (value_at == std::string_view::npos) return {Scan::incomplete};
            value_at += calls.value_begin.size();
        }
        const size_t value_end = text.find(calls.value_end, value_at);
        if (value_end == std::string_view::npos) return {Scan::incomplete};
        std::string_view value = text.substr(value_at, value_end - value_at);
        if (calls.values_have_lines) {
            if (value.starts_with('\n')) value.remove_prefix(1);
            if (value.ends_with('\n')) value.remove_suffix(1);
        }
        std::string_view key_text = text.substr(key_at, key_end - key_at);
        key_text.remove_prefix(space_at_begin(key_text));
        const std::string key_name(key_text.substr(0, without_space_at_end(key_text)));
        arguments[key_name] = typed(name, key_name, value);
        at = value_end + calls.value_end.size();
    }
}

Json ReplyParser::typed(std::string_view tool, const std::string& key, std::string_view text) const {
    for (const Json& entry : tools_) {
        if (name_of(entry) != tool) continue;
        const Json& function = function_of(entry);
        const Json::json_pointer at = Json::json_pointer("/parameters/properties") / key / "type";
        if (function.contains(at) && function.at(at) == "string") return text;
    }
    LooseValue value = read_loose_value(std::string(text) + "\n");
    if (value.scan != Scan::complete || value.length != text.size() || value.value.is_string()) return text;
    return std::move(value.value);
}

}  // namespace riftjit::engine
