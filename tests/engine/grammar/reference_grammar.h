// GBNF read and matched as its definition says, by trying everything: nothing of engine/grammar is in it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace riftjit::engine {

// ASCII texts alone. Rules must not be left-recursive.
class ReferenceGrammar {
public:
    explicit ReferenceGrammar(std::string text) : text_(std::move(text)) {
        for (space(true); at_ < text_.size(); space(true)) {
            const std::string name = word();
            space(false);
            at_ += 3;
            space(true);
            rules_[name] = alternatives(false);
        }
    }

    struct Verdict {
        bool is_whole;   // the grammar has this text
        bool is_prefix;  // it has a text that begins so
    };
    Verdict judge(std::string_view text) {
        input_ = text;
        known_.clear();
        wanted_more_ = false;
        const std::set<size_t> ends = match(rules_.at("root"), 0);
        const bool is_whole = ends.contains(text.size());
        return {is_whole, is_whole || wanted_more_};
    }

private:
    struct Node {
        enum { characters, sequence, choice, repeat, rule } kind;
        std::set<char> allowed;
        std::vector<size_t> children;
        size_t min = 0, max = 0;
        std::string name;
    };

    void space(bool with_lines) {
        while (at_ < text_.size()) {
            if (text_[at_] == '#')
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            else if (text_[at_] == ' ' || (with_lines && text_[at_] == '\n'))
                ++at_;
            else
                break;
        }
    }
    std::string word() {
        const size_t begin = at_;
        while (at_ < text_.size() && (isalnum(text_[at_]) || text_[at_] == '-')) ++at_;
        return text_.substr(begin, at_ - begin);
    }
    size_t number() { return std::stoul(word()); }
    char character() {
        if (text_[at_] != '\\') return text_[at_++];
        ++at_;
        const char kind = text_[at_++];
        if (kind == 'n') return '\n';
        if (kind == 't') return '\t';
        if (kind == 'x' || kind == 'u' || kind == 'U') {
            const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
            at_ += digits;
            return static_cast<char>(std::stoi(text_.substr(at_ - digits, digits), nullptr, 16));
        }
        return kind;
    }
    size_t add(Node node) {
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }
    size_t alternatives(bool is_nested) {
        Node choice{Node::choice, {}, {}, 0, 0, {}};
        choice.children.push_back(sequence(is_nested));
        while (at_ < text_.size() && text_[at_] == '|') {
            ++at_;
            space(true);
            choice.children.push_back(sequence(is_nested));
        }
        return add(std::move(choice));
    }
    size_t sequence(bool is_nested) {
        Node made{Node::sequence, {}, {}, 0, 0, {}};
        while (at_ < text_.size()) {
            const char next = text_[at_];
            size_t item = 0;
            if (next == '"') {
                Node literal{Node::sequence, {}, {}, 0, 0, {}};
                for (++at_; text_[at_] != '"';) {
                    const char value = character();
                    literal.children.push_back(add({Node::characters, {value}, {}, 0, 0, {}}));
                }
                ++at_;
                item = add(std::move(literal));
            } else if (next == '[') {
                std::set<char> given;
                const bool is_negated = text_[++at_] == '^';
                if (is_negated) ++at_;
                while (text_[at_] != ']') {
                    const char first = character();
                    char last = first;
                    if (text_[at_] == '-' && text_[at_ + 1] != ']') ++at_, last = character();
                    for (int value = first; value <= last; ++value) given.insert(static_cast<char>(value));
                }
                ++at_;
                std::set<char> allowed;
                for (int value = 0; value < 128; ++value)
                    if (given.contains(static_cast<char>(value)) != is_negated)
                        allowed.insert(static_cast<char>(value));
                item = add({Node::characters, allowed, {}, 0, 0, {}});
            } else if (next == '.') {
                ++at_;
                std::set<char> allowed;
                for (int value = 0; value < 128; ++value) allowed.insert(static_cast<char>(value));
                item = add({Node::characters, allowed, {}, 0, 0, {}});
            } else if (next == '(') {
                ++at_;
                space(true);
                item = alternatives(true);
                ++at_;
            } else if (isalnum(next)) {
                const std::string name = word();
                item = add({Node::rule, {}, {}, 0, 0, name});
            } else {
                break;
            }
            for (space(is_nested); at_ < text_.size(); space(is_nested)) {
                Node repeat{Node::repeat, {}, {item}, 0, 1000000, {}};
                if (text_[at_] == '*') {
                } else if (text_[at_] == '+') {
                    repeat.min = 1;
                } else if (text_[at_] == '?') {
                    repeat.max = 1;
                } else if (text_[at_] == '{') {
                    ++at_;
                    repeat.min = repeat.max = number();
                    if (text_[at_] == ',') {
                        ++at_;
                        repeat.max = text_[at_] == '}' ? 1000000 : number();
                    }
                } else {
                    break;
                }
                ++at_;
                item = add(std::move(repeat));
            }
            made.children.push_back(item);
        }
        return add(std::move(made));
    }

    // Where a text of `node` that begins at `begin` may end.
    std::set<size_t> match(size_t node, size_t begin) {
        if (const auto known = known_.find({node, begin}); known != known_.end()) return known->second;
        const Node of = nodes_[node];
        std::set<size_t> ends;
        switch (of.kind) {
            case Node::characters:
                if (begin == input_.size())
                    wanted_more_ = true;
                else if (of.allowed.contains(input_[begin]))
                    ends.insert(begin + 1);
                break;
            case Node::sequence:
                ends.insert(begin);
                for (const size_t child : of.children) {
                    std::set<size_t> next;
                    for (const size_t end : ends) next.merge(match(child, end));
                    ends = std::move(next);
                }
                break;
            case Node::choice:
                for (const size_t child : of.children) ends.merge(match(child, begin));
                break;
            case Node::rule:
                ends = match(rules_.at(of.name), begin);
                break;
            case Node::repeat: {
                std::set<std::pair<size_t, size_t>> seen;  // where, and how often so far, up to where it matters
                std::vector<std::pair<size_t, size_t>> open{{begin, 0}};
                while (!open.empty()) {
                    const auto [at, times] = open.back();
                    open.pop_back();
                    if (!seen.insert({at, times}).second) continue;
                    if (times >= of.min) ends.insert(at);
                    if (times == of.max || times > of.min + input_.size() + 1) continue;
                    for (const size_t end : match(of.children[0], at)) open.emplace_back(end, times + 1);
                }
                break;
            }
        }
        known_[{node, begin}] = ends;
        return ends;
    }

    std::string text_;
    size_t at_ = 0;
    std::vector<Node> nodes_;
    std::map<std::string, size_t> rules_;
    std::string_view input_;
    std::map<std::pair<size_t, size_t>, std::set<size_t>> known_;
    bool wanted_more_ = false;
};

}  // namespace riftjit::engine
