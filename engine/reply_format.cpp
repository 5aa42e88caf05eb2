#include "engine/reply_format.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/loose_value.h"
#include "engine/reply_parser.h"

namespace riftjit::engine {

std::string_view leading_tag(std::string_view text) {
    if (text.starts_with('<')) {
        const size_t end = text.find_first_of("<>\n", 1);
        if (end != std::string_view::npos && text[end] == '>') return text.substr(0, end + 1);
    }
    if (text.starts_with('[')) {
        const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_ ", 1);
        if (end != std::string_view::npos && end > 1 && text[end] == ']') return text.substr(0, end + 1);
    }
    return {};
}

namespace {

using Json = nlohmann::ordered_json;
using Calls = ReplyFormat::Calls;

// Words that no template has of its own.
constexpr std::string_view kQuestion = "qzquestion", kAnswer = "qzanswer", kThought = "qzthought", kName = "qzname",
                           kKey = "qzkey", kNumberKey = "qznumber", kValue = "qzvalue";
constexpr int kNumber = 73501;
constexpr std::string_view kNumberText = "73501";

std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

bool is_word_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Text as tags and single characters, so that what two texts share ends with a whole tag.
std::vector<std::string_view> atoms_of(std::string_view text) {
    std::vector<std::string_view> atoms;
    while (!text.empty()) {
        size_t length = std::max<size_t>(leading_tag(text).size(), 1);
        while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) ++length;
        atoms.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return atoms;
}

std::string_view common_prefix(std::string_view a, std::string_view b) {
    const auto of_a = atoms_of(a), of_b = atoms_of(b);
    size_t length = 0;
    for (size_t i = 0; i < std::min(of_a.size(), of_b.size()) && of_a[i] == of_b[i]; ++i) length += of_a[i].size();
    return a.substr(0, length);
}

std::string_view common_suffix(std::string_view a, std::string_view b) {
    const auto of_a = atoms_of(a), of_b = atoms_of(b);
    size_t length = 0;
    for (size_t i = 1; i <= std::min(of_a.size(), of_b.size()) && of_a[of_a.size() - i] == of_b[of_b.size() - i]; ++i)
        length += of_a[of_a.size() - i].size();
    return a.substr(a.size() - length);
}

// The marks that text is made of: tags that words join are one, as in "<|open|>think<|sep|>"; text that has no tag is
// one as it stands.
std::vector<std::string_view> marks_of(std::string_view text) {
    std::vector<std::string_view> marks;
    while (!(text = trim(text)).empty()) {
        size_t end = leading_tag(text).size();
        while (end > 0 && end < text.size()) {
            size_t word = end;
            while (word < text.size() && is_word_letter(text[word])) ++word;
            const size_t tag = leading_tag(text.substr(word)).size();
            if (word == end || tag == 0) break;
            end = word + tag;
        }
        if (end == 0)
            while (end < text.size() && leading_tag(text.substr(end)).empty()) ++end;
        marks.push_back(trim(text.substr(0, end)));
        text.remove_prefix(end);
    }
    return marks;
}

struct Trial {
    const models::ChatTemplate& chat_template;
    models::ChatTemplate::Inputs inputs;

    // What stands behind the question; nullopt: the template refuses.
    std::optional<std::string> render(const std::optional<Json>& answer) {
        inputs.messages = Json::array({{{"role", "user"}, {"content", kQuestion}}});
        inputs.add_generation_prompt = !answer.has_value();
        if (answer) inputs.messages.push_back(*answer);
        inputs.tools = tools();
        auto prepared = chat_template.prepare(inputs.messages);
        if (!prepared) return std::nullopt;
        inputs.messages = std::move(*prepared);
        const auto text = chat_template.render_text(inputs);
        if (!text) return std::nullopt;
        const size_t at = text->rfind(kQuestion);
        if (at == std::string::npos) return std::nullopt;
        return text->substr(at + kQuestion.size());
    }

    static Json tools() {
        Json parameters = {{"type", "object"},
                           {"properties",
                            {{kKey, {{"type", "string"}, {"description", "text"}}},
                             {kNumberKey, {{"type", "integer"}, {"description", "number"}}}}},
                           {"required", {kKey, kNumberKey}}};
        return Json::array({{{"type", "function"},
                             {"function", {{"name", kName}, {"description", "tool"}, {"parameters", parameters}}}}});
    }

    static Json arguments() { return {{kKey, kValue}, {kNumberKey, kNumber}}; }

    static Json call() {
        const Json function = {{"name", kName}, {"arguments", arguments().dump()}};
        return {{"role", "assistant"},
                {"content", ""},
                {"tool_calls", Json::array({{{"id", kCallId}, {"type", "function"}, {"function", function}}})}};
    }
};

std::string before(std::string_view text, std::string_view word) {
    return std::string(text.substr(0, text.find(word)));
}
std::string behind(std::string_view text, std::string_view word) {
    return std::string(text.substr(text.find(word) + word.size()));
}

void add_mark(std::vector<std::string>& marks, std::string_view mark) {
    if (!mark.empty() && std::ranges::find(marks, mark) == marks.end()) marks.emplace_back(mark);
}

// Marks of thinking that templates know and do not render from a message's reasoning_content.
constexpr std::pair<std::string_view, std::string_view> kKnownThinking[] = {
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<|channel>thought", "<channel|>"},
};

// From an answer with its thinking, and one without.
void find_reasoning(ReplyFormat& format, std::string_view source, const std::string& prompt, const std::string& plain,
                    const std::optional<std::string>& thinking) {
    const std::string to_answer = before(plain, kAnswer);
    if (thinking && thinking->contains(kAnswer) && thinking->find(kThought) < thinking->find(kAnswer)) {
        const std::string to_thought = before(*thinking, kThought);
        const std::string_view opening = trim(to_thought), header = trim(prompt);
        if (opening.starts_with(header) && opening.size() > header.size()) {
            format.reasoning_begin = trim(opening.substr(header.size()));
        } else if (header.starts_with(opening) && opening == trim(to_answer)) {
            format.reasoning_begin = trim(header.substr(opening.size()));
        } else if (const auto marks = marks_of(opening); !marks.empty()) {
            format.reasoning_begin = marks.back();
        }
        const std::string between = before(behind(*thinking, kThought), kAnswer);
        if (const auto marks = marks_of(between); !marks.empty()) {
            format.reasoning_end = marks.front();
            const size_t rest = between.find(marks.front()) + marks.front().size();
            add_mark(format.content_begins, trim(std::string_view(between).substr(rest)));
        }
    }
    for (const auto& [begin, end] : kKnownThinking) {
        if (format.has_reasoning() || !source.contains(end)) continue;
        format.reasoning_begin = begin;
        format.reasoning_end = end;
    }
    if (to_answer.starts_with(prompt)) {
        const std::string_view mark = trim(std::string_view(to_answer).substr(prompt.size()));
        if (!format.has_reasoning() || !mark.contains(format.reasoning_end)) add_mark(format.content_begins, mark);
    }
    const std::string rest = behind(plain, kAnswer);
    if (const auto marks = marks_of(rest); marks.size() > 1 || (!marks.empty() && !format.content_begins.empty()))
        format.content_end = marks.front();
}

// The first value in `text` that is an object with kKey in it: its place and length.
struct Place {
    size_t at, length;
};
std::optional<Place> enclosing_object(std::string_view text, size_t inside) {
    for (size_t at = inside; at-- > 0;) {
        if (text[at] != '{' && text[at] != '(') continue;
        const LooseValue value = read_loose_value(text.substr(at));
        if (value.scan == Scan::complete && value.value.is_object() && at + value.length > inside)
            return Place{at, value.length};
    }
    return std::nullopt;
}

// Each tag by itself, since models leave one out of two; text in front of the last tag, or instead of it, belongs to
// it.
void find_openers(ReplyFormat::CallFormat& calls, std::string_view text) {
    const auto marks = marks_of(text);
    if (marks.empty()) return;
    const auto is_tag = [](std::string_view mark) { return mark.starts_with('<') || !leading_tag(mark).empty(); };
    if (!is_tag(marks.back())) return add_mark(calls.openers, marks.back());
    if (!std::ranges::all_of(marks, is_tag)) return add_mark(calls.openers, trim(text));
    for (const std::string_view mark : marks) add_mark(calls.openers, mark);
}

void find_closers(ReplyFormat::CallFormat& calls, std::string_view text) {
    for (const std::string_view mark : marks_of(text))
        if (std::ranges::find(calls.openers, mark) == calls.openers.end()) add_mark(calls.closers, mark);
}

void write_around(ReplyFormat::CallFormat& calls, std::string_view body, Place arguments) {
    const size_t name = body.find(kName), between = name + kName.size();
    calls.written.before = body.substr(0, name);
    calls.written.between = body.substr(between, arguments.at - between);
    calls.written.behind = body.substr(arguments.at + arguments.length);
}

// An object that holds the name and an object of arguments.
bool find_object(ReplyFormat::CallFormat& calls, std::string_view body, Place arguments) {
    const size_t name = body.find(kName);
    if (name > arguments.at) return false;
    const auto whole = enclosing_object(body, arguments.at);
    if (!whole || whole->at > name) return false;
    const Json object = read_loose_value(body.substr(whole->at)).value;
    for (const auto& [key, value] : object.items()) {
        if (value == kName) calls.name_key = key;
        if (value.is_object() && value.contains(kKey)) calls.arguments_key = key;
    }
    if (calls.arguments_key == kName)
        calls.arguments_key.clear();
    else if (calls.name_key.empty() || calls.arguments_key.empty())
        return false;
    calls.form = Calls::object;
    write_around(calls, body, arguments);
    std::string_view opening = body.substr(0, whole->at), closing = body.substr(whole->at + whole->length);
    if (trim(opening).ends_with('[') && trim(closing).starts_with(']')) {
        opening = trim(opening);
        opening.remove_suffix(1);
        closing = trim(closing);
        closing.remove_prefix(1);
    }
    find_openers(calls, opening);
    find_closers(calls, closing);
    return true;
}

// What stands before a name: tags that open the call, and right before the name a mark that may be text ("functions.").
void find_name_begin(ReplyFormat::CallFormat& calls, std::string_view opening) {
    auto marks = marks_of(opening);
    if (marks.empty()) return;
    calls.name_begin = marks.back();
    // A call's id stands there too.
    if (const size_t id = calls.name_begin.find(kCallId); id != std::string::npos) {
        calls.name_begin.erase(0, id + kCallId.size());
        opening = opening.substr(0, opening.find(kCallId));
    } else if (marks.size() > 1 && !marks.back().starts_with('<') && leading_tag(marks.back()).empty()) {
        opening = opening.substr(0, opening.rfind(marks.back()));
    }
    find_openers(calls, opening);
}

bool find_name_and_arguments(ReplyFormat::CallFormat& calls, std::string_view body, Place arguments) {
    const size_t name = body.find(kName);
    if (name > arguments.at) return false;
    calls.form = Calls::name_and_arguments;
    write_around(calls, body, arguments);
    find_name_begin(calls, body.substr(0, name));
    find_closers(calls, body.substr(arguments.at + arguments.length));
    return true;
}

bool find_marked_arguments(ReplyFormat::CallFormat& calls, std::string_view body) {
    const size_t name = body.find(kName), key = body.find(kKey), value = body.find(kValue),
                 number_key = body.find(kNumberKey), number = body.find(kNumberText);
    if (std::max({name, key, value, number_key, number}) == std::string_view::npos) return false;
    if (!(name < key && key < value && value < number_key && number_key < number)) return false;
    const auto part = [&](size_t from, std::string_view word, size_t to) {
        return body.substr(from + word.size(), to - from - word.size());
    };
    const std::string_view to_key = part(name, kName, key), to_value = part(key, kKey, value),
                           to_second_key = part(value, kValue, number_key),
                           to_number = part(number_key, kNumberKey, number),
                           rest = body.substr(number + kNumberText.size());
    const std::string_view key_begin = common_suffix(to_key, to_second_key),
                           value_end = common_prefix(to_second_key, rest);
    if (trim(key_begin).empty() || trim(value_end).empty()) return false;
    std::string_view key_end = to_value, value_begin;
    if (to_value != to_number) {
        key_end = common_prefix(to_value, to_number);
        value_begin = common_suffix(to_value.substr(key_end.size()), to_number.substr(key_end.size()));
    }
    if (trim(key_end).empty()) return false;
    calls.form = Calls::marked_arguments;
    // Of what stands between two arguments, a mark before the key belongs to it, unless it ends the value.
    std::string_view begin = trim(key_begin);
    const std::string_view whole = trim(to_second_key);
    if (begin.size() + trim(value_end).size() > whole.size()) begin = trim(whole.substr(trim(value_end).size()));
    calls.key_begin = begin;
    calls.key_end = trim(key_end);
    calls.value_begin = trim(value_begin);
    calls.value_end = trim(value_end);
    calls.values_have_lines = to_value.ends_with('\n') && value_end.starts_with('\n');
    find_name_begin(calls, body.substr(0, name));
    find_closers(calls, rest.substr(value_end.size()));
    // Between two arguments stands what ends a value and what begins the next key, which begins the first one, too.
    const std::string_view next_key = to_second_key.substr(value_end.size());
    if (!next_key.empty() && to_key.ends_with(next_key))
        calls.written = {.before = std::string(body.substr(0, name)),
                         .between = std::string(to_key.substr(0, to_key.size() - next_key.size())),
                         .behind = std::string(rest.substr(value_end.size())),
                         .key = std::string(next_key),
                         .text = std::string(to_value),
                         .value = std::string(to_number),
                         .value_end = std::string(value_end)};
    return true;
}

// What is left of a rendering when the marks are taken off its beginning.
std::string_view without_leading(std::string_view text, const std::vector<std::string>& marks) {
    for (bool is_done = false; !is_done;) {
        text = trim(text);
        is_done = true;
        for (const std::string& mark : marks) {
            if (mark.empty() || !text.starts_with(mark)) continue;
            text.remove_prefix(mark.size());
            is_done = false;
        }
    }
    return text;
}

// What an answer's rendering has behind the prompt, up to what ends every turn.
std::string_view answer_of(std::string_view rendering, std::string_view prompt, std::string_view plain) {
    rendering.remove_prefix(common_prefix(rendering, prompt).size());
    const std::string_view end = plain.substr(plain.find(kAnswer) + kAnswer.size());
    rendering.remove_suffix(std::min(rendering.size(), common_suffix(rendering, end).size()));
    return rendering;
}

void find_calls(ReplyFormat& format, std::string_view answer) {
    std::vector<std::string> marks = format.content_begins;
    for (const std::string& mark : {format.reasoning_begin, format.reasoning_end, format.content_end})
        marks.push_back(mark);
    const std::string_view body = without_leading(answer, marks);
    const size_t key = body.find(kKey);
    if (key == std::string_view::npos || !body.contains(kName)) return;
    if (const auto arguments = enclosing_object(body, key)) {
        if (!find_object(format.calls, body, *arguments)) {
            format.calls = {};
            find_name_and_arguments(format.calls, body, *arguments);
        }
    } else {
        find_marked_arguments(format.calls, body);
    }
}

// Whether the format reads what it was found in, byte by byte.
bool reads_calls(const ReplyFormat& format, std::string_view answer) {
    ReplyParser parser(format, {.tools = Trial::tools()});
    std::vector<ToolCall> calls;
    bool has_text = false;
    const auto take = [&](Reply reply) {
        has_text |= !reply.content.empty();
        std::ranges::move(reply.calls, std::back_inserter(calls));
    };
    for (const char& byte : answer) take(parser.push({&byte, 1}));
    take(parser.finish());
    return !has_text && calls.size() == 1 && calls[0].name == kName && calls[0].arguments == Trial::arguments().dump();
}

// gpt-oss names the channel of each message, in more ways than its template writes them.
void name_channels(ReplyFormat& format) {
    const std::string turn = "<|start|>assistant";
    format.reasoning_begin = "<|channel|>analysis<|message|>";
    format.reasoning_end = format.content_end = "<|end|>";
    format.content_begins.clear();
    for (const std::string channel : {"final", "commentary"})
        for (const std::string& begin : {turn, std::string()})
            format.content_begins.push_back(begin + "<|channel|>" + channel + "<|message|>");
    format.calls.form = Calls::name_and_arguments;
    format.calls.openers = {turn + " to=functions.", turn + "<|channel|>commentary to=functions.",
                            "<|channel|>commentary to=functions.", "to=functions."};
    format.calls.closers = {"<|call|>", "<|end|>"};
    format.calls.name_begin = "to=functions.";
    format.calls.written.before = "<|channel|>commentary to=functions.";
    format.calls.written.between = " <|constrain|>json<|message|>";
}

// Of templates that tell a model how to call, and do not render calls themselves.
void find_known_calls(ReplyFormat& format, std::string_view source) {
    auto& calls = format.calls;
    if (source.contains("<tool_call>")) {
        calls.openers = {"<tool_call>"};
        calls.closers = {"</tool_call>"};
    } else if (source.contains("<|tool_call|>")) {
        calls.openers = {"<|tool_call|>"};
    } else if (source.contains("<|tool_call_start|>")) {
        calls.form = Calls::name_and_arguments;
        calls.openers = {"<|tool_call_start|>"};
        calls.closers = {"]", "<|tool_call_end|>"};
        calls.name_begin = "[";
        return;
    } else {
        return;
    }
    calls.form = Calls::object;
    calls.name_key = "name";
    calls.arguments_key = "arguments";
    const std::string closer = calls.closers.empty() ? "" : "\n" + calls.closers.front();
    calls.written.before = calls.openers.front() + "\n{\"name\": \"";
    calls.written.between = "\", \"arguments\": ";
    calls.written.behind = "}" + closer;
}

}  // namespace

bool ReplyFormat::is_thinking_after(std::string_view prompt) const {
    return has_reasoning() && !reasoning_begin.empty() && trim(prompt).ends_with(reasoning_begin);
}

ReplyFormat find_reply_format(const models::ChatTemplate& chat_template, models::ChatTemplate::Inputs inputs) {
    Trial trial{chat_template, std::move(inputs)};
    ReplyFormat format;
    const auto prompt = trial.render(std::nullopt);
    const auto plain = trial.render(Json{{"role", "assistant"}, {"content", kAnswer}});
    if (!prompt || !plain || !plain->contains(kAnswer)) return format;
    const auto thinking = trial.render(
        Json{{"role", "assistant"}, {"content", kAnswer}, {"reasoning_content", kThought}, {"thinking", kThought}});
    if (prompt->contains("<|start|>assistant") && plain->contains("<|channel|>final<|message|>")) {
        name_channels(format);
        return format;
    }
    find_reasoning(format, chat_template.source(), *prompt, *plain, thinking);
    const auto called = trial.render(Trial::call());
    if (called && called->contains(kName)) {
        const std::string_view answer = answer_of(*called, *prompt, *plain);
        find_calls(format, answer);
        if (!reads_calls(format, answer)) format.calls = {};
    } else {
        find_known_calls(format, chat_template.source());
    }
    return format;
}

}  // namespace riftjit::engine
