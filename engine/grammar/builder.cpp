#include "engine/grammar/builder.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>

#include "host/utf8.h"

namespace riftjit::engine {

namespace {

constexpr char32_t kLastCharacter = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

}  // namespace

std::vector<CharacterRange> normalised(std::vector<CharacterRange> ranges) {
    std::vector<CharacterRange> valid;
    for (auto [first, last] : ranges) {
        last = std::min(last, kLastCharacter);
        if (first < kFirstSurrogate && last >= kFirstSurrogate) {
            valid.push_back({first, kFirstSurrogate - 1});
            first = kLastSurrogate + 1;
        } else if (first >= kFirstSurrogate && first <= kLastSurrogate) {
            first = kLastSurrogate + 1;
        }
        if (last >= kFirstSurrogate && last <= kLastSurrogate) last = kFirstSurrogate - 1;
        if (first <= last) valid.push_back({first, last});
    }
    std::ranges::sort(valid, {}, &CharacterRange::first);
    std::vector<CharacterRange> merged;
    for (const CharacterRange& range : valid) {
        if (!merged.empty() && range.first <= merged.back().last + 1)
            merged.back().last = std::max(merged.back().last, range.last);
        else
            merged.push_back(range);
    }
    return merged;
}

std::vector<CharacterRange> complement(std::vector<CharacterRange> ranges) {
    std::vector<CharacterRange> others;
    char32_t next = 0;
    for (const auto& [first, last] : normalised(std::move(ranges))) {
        if (first > next) others.push_back({next, first - 1});
        next = last + 1;
    }
    if (next <= kLastCharacter) others.push_back({next, kLastCharacter});
    return normalised(std::move(others));
}

// ---- expressions ----------------------------------------------------------------------------------------------------

GrammarBuilder::GrammarBuilder() : expressions_{{Kind::nothing}, {Kind::never}} {}

GrammarBuilder::Expression GrammarBuilder::add(Part part) {
    expressions_.push_back(part);
    return static_cast<Expression>(expressions_.size() - 1);
}

GrammarBuilder::Expression GrammarBuilder::add_list(Kind kind, const std::vector<Expression>& children) {
    const auto begin = static_cast<uint32_t>(children_.size());
    children_.insert(children_.end(), children.begin(), children.end());
    return add({.kind = kind, .begin = begin, .end = static_cast<uint32_t>(children_.size())});
}

GrammarBuilder::Expression GrammarBuilder::literal(std::string_view utf8) {
    if (utf8.empty()) return kNothing;
    texts_.emplace_back(utf8);
    return add({.kind = Kind::literal, .index = static_cast<uint32_t>(texts_.size() - 1)});
}

GrammarBuilder::Expression GrammarBuilder::characters(std::vector<CharacterRange> ranges) {
    ranges = normalised(std::move(ranges));
    if (ranges.empty()) return kNever;
    ranges_.push_back(std::move(ranges));
    return add({.kind = Kind::characters, .index = static_cast<uint32_t>(ranges_.size() - 1)});
}

GrammarBuilder::Expression GrammarBuilder::sequence(std::vector<Expression> parts) {
    if (std::ranges::find(parts, kNever) != parts.end()) return kNever;
    std::erase(parts, kNothing);
    if (parts.empty()) return kNothing;
    return parts.size() == 1 ? parts[0] : add_list(Kind::sequence, parts);
}

GrammarBuilder::Expression GrammarBuilder::choice(std::vector<Expression> alternatives) {
    std::erase(alternatives, kNever);
    if (alternatives.empty()) return kNever;
    return alternatives.size() == 1 ? alternatives[0] : add_list(Kind::choice, alternatives);
}

GrammarBuilder::Expression GrammarBuilder::repeat(Expression part, uint32_t min, uint32_t max) {
    if (max == 0 || part == kNothing) return kNothing;
    if (part == kNever) return min == 0 ? kNothing : kNever;
    if (min == 1 && max == 1) return part;
    return add({.kind = Kind::repeat, .index = part, .min = min, .max = max});
}

GrammarBuilder::Expression GrammarBuilder::token(Automaton::Token token) {
    tokens_.push_back(std::move(token));
    return add({.kind = Kind::token, .index = static_cast<uint32_t>(tokens_.size() - 1)});
}

uint32_t GrammarBuilder::declare(std::string where) {
    rules_.push_back({std::move(where), kUndefined});
    return static_cast<uint32_t>(rules_.size() - 1);
}

GrammarBuilder::Expression GrammarBuilder::call(uint32_t rule) { return add({.kind = Kind::call, .index = rule}); }

// ---- the automaton --------------------------------------------------------------------------------------------------

// Expressions are turned into states from their ends: what follows a part is there before it.
class GrammarCompiler {
public:
    explicit GrammarCompiler(GrammarBuilder& builder) : builder_(builder), facts_(builder.rules_.size()) {}

    Result<Automaton> compile(uint32_t root);

private:
    using Expression = GrammarBuilder::Expression;
    using Part = GrammarBuilder::Part;
    using PartKind = GrammarBuilder::Kind;
    static constexpr std::string_view kOfRepetition = "a repetition";
    static constexpr uint32_t kNowhere = UINT32_MAX;  // a state from which nothing ends
    // A rule within these is copied where it is called. What is repeated had better not leave its rule with each
    // repetition, for masks know best what lies within one; any other that is called from many places is one, with one
    // mask for all of them.
    static constexpr uint64_t kMostCopied = 12, kMostCopiedInRepetition = 64;
    static constexpr uint32_t kMostHeight = 16;
    // A repetition within this is spelt out; others are counted.
    static constexpr uint64_t kMostSpelt = 16;

    struct Facts {
        bool is_recursive = false, is_productive = false, may_be_empty = false;
        uint64_t size = 0;             // in states, with what is copied into it if it is repeated
        uint32_t height = 0;           // of copies within copies
        uint32_t compiled = kNowhere;  // as a rule of the automaton
    };

    const Part& part(Expression expression) const { return builder_.expressions_[expression]; }
    std::span<const Expression> children(const Part& of) const {
        return std::span(builder_.children_).subspan(of.begin, of.end - of.begin);
    }
    std::vector<uint32_t> called_by(uint32_t rule) const;
    std::vector<std::vector<uint32_t>> components(uint32_t root);
    void find_facts(const std::vector<std::vector<uint32_t>>& components);
    bool is_productive(Expression expression) const;
    bool may_be_empty(Expression expression) const;
    uint64_t size(Expression expression, bool is_repeated) const;
    uint32_t height(Expression expression) const;
    bool is_copied(uint32_t rule, bool is_repeated) const;

    uint32_t state(Automaton::State state);
    uint32_t bytes(std::vector<Automaton::Edge> edges);
    uint32_t split(const std::vector<uint32_t>& targets);
    uint32_t characters(const std::vector<CharacterRange>& ranges, uint32_t next);
    uint32_t choice(std::span<const Expression> alternatives, uint32_t next);
    uint32_t repeat(const Part& part, uint32_t next);
    uint32_t compile(Expression expression, uint32_t next);
    uint32_t rule_of(uint32_t rule);
    uint32_t body_rule(Expression body);

    Result<void> refuse_left_recursion() const;
    void find_classes();

    struct Waiting {
        uint32_t rule;  // of the automaton
        Expression body;
    };
    GrammarBuilder& builder_;
    std::vector<Facts> facts_;
    Automaton made_;
    std::vector<std::string> where_;  // by rule of the automaton
    std::vector<Waiting> waiting_;
    uint32_t accept_ = 0;
    int repetitions_ = 0;  // around what is being compiled
};

std::vector<uint32_t> GrammarCompiler::called_by(uint32_t rule) const {
    std::vector<uint32_t> called;
    std::vector<Expression> open{builder_.rules_[rule].body};
    while (!open.empty()) {
        const Part& visited = part(open.back());
        open.pop_back();
        if (visited.kind == PartKind::call) called.push_back(visited.index);
        if (visited.kind == PartKind::repeat) open.push_back(visited.index);
        if (visited.kind == PartKind::sequence || visited.kind == PartKind::choice)
            open.insert(open.end(), children(visited).begin(), children(visited).end());
    }
    std::ranges::sort(called);
    called.erase(std::unique(called.begin(), called.end()), called.end());
    return called;
}

// Strongly connected ones (Tarjan 1972), those that are called before those that call. Without calls of our own: rules
// may be chained as deep as there are rules.
std::vector<std::vector<uint32_t>> GrammarCompiler::components(uint32_t root) {
    struct Visit {
        uint32_t rule;
        std::vector<uint32_t> called;
        size_t next = 0;
    };
    std::vector<std::vector<uint32_t>> found;
    std::vector<uint32_t> number(facts_.size(), 0), lowest(facts_.size(), 0), open;
    std::vector<bool> is_open(facts_.size());
    std::vector<Visit> visits;
    uint32_t numbers = 0;
    const auto enter = [&](uint32_t rule) {
        number[rule] = lowest[rule] = ++numbers;
        open.push_back(rule);
        is_open[rule] = true;
        visits.push_back({rule, called_by(rule)});
    };
    enter(root);
    while (!visits.empty()) {
        Visit& visit = visits.back();
        const uint32_t rule = visit.rule;
        if (visit.next < visit.called.size()) {
            const uint32_t called = visit.called[visit.next++];
            if (called == rule) facts_[rule].is_recursive = true;
            if (number[called] == 0)
                enter(called);
            else if (is_open[called])
                lowest[rule] = std::min(lowest[rule], number[called]);
            continue;
        }
        visits.pop_back();
        if (!visits.empty()) lowest[visits.back().rule] = std::min(lowest[visits.back().rule], lowest[rule]);
        if (lowest[rule] != number[rule]) continue;
        std::vector<uint32_t>& component = found.emplace_back();
        do {
            component.push_back(open.back());
            is_open[open.back()] = false;
            open.pop_back();
        } while (component.back() != rule);
        if (component.size() > 1)
            for (const uint32_t member : component) facts_[member].is_recursive = true;
    }
    return found;
}

bool GrammarCompiler::is_productive(Expression expression) const {
    const Part& of = part(expression);
    const auto self = [this](Expression child) { return is_productive(child); };
    switch (of.kind) {
        case PartKind::never:
            return false;
        case PartKind::sequence:
            return std::ranges::all_of(children(of), self);
        case PartKind::choice:
            return std::ranges::any_of(children(of), self);
        case PartKind::repeat:
            return of.min == 0 || is_productive(of.index);
        case PartKind::call:
            return facts_[of.index].is_productive;
        default:
            return true;
    }
}

bool GrammarCompiler::may_be_empty(Expression expression) const {
    const Part& of = part(expression);
    const auto self = [this](Expression child) { return may_be_empty(child); };
    switch (of.kind) {
        case PartKind::nothing:
            return true;
        case PartKind::sequence:
            return std::ranges::all_of(children(of), self);
        case PartKind::choice:
            return std::ranges::any_of(children(of), self);
        case PartKind::repeat:
            return of.min == 0 || may_be_empty(of.index);
        case PartKind::call:
            return facts_[of.index].may_be_empty;
        default:
            return false;
    }
}

// About as many states as it takes.
uint64_t GrammarCompiler::size(Expression expression, bool is_repeated) const {
    constexpr uint64_t kHuge = uint64_t(1) << 40;
    const Part& of = part(expression);
    uint64_t sum = 1;
    switch (of.kind) {
        case PartKind::literal:
            return builder_.texts_[of.index].size();
        case PartKind::characters:
            return builder_.ranges_[of.index].back().last < 0x80 ? 1 : 4 + 3 * builder_.ranges_[of.index].size();
        case PartKind::sequence:
        case PartKind::choice:
            for (const Expression child : children(of)) sum += size(child, is_repeated);
            break;
        case PartKind::repeat: {
            const uint64_t times = of.max == Automaton::kUnlimited ? uint64_t(of.min) + 1 : of.max;
            const uint64_t once = size(of.index, true) + 1;
            sum = times * once <= kMostSpelt ? times * once : 2;  // a counted body lies in a rule of its own
            break;
        }
        case PartKind::call:
            return is_copied(of.index, is_repeated) ? facts_[of.index].size : 1;
        default:
            return 1;
    }
    return std::min(sum, kHuge);
}

uint32_t GrammarCompiler::height(Expression expression) const {
    const Part& of = part(expression);
    uint32_t highest = 0;
    if (of.kind == PartKind::sequence || of.kind == PartKind::choice)
        for (const Expression child : children(of)) highest = std::max(highest, height(child));
    if (of.kind == PartKind::repeat) return height(of.index);
    if (of.kind == PartKind::call && is_copied(of.index, true)) return facts_[of.index].height + 1;
    return highest;
}

bool GrammarCompiler::is_copied(uint32_t rule, bool is_repeated) const {
    const Facts& facts = facts_[rule];
    const uint64_t most = is_repeated ? kMostCopiedInRepetition : kMostCopied;
    return !facts.is_recursive && facts.size <= most && facts.height < kMostHeight;
}

void GrammarCompiler::find_facts(const std::vector<std::vector<uint32_t>>& components) {
    for (const std::vector<uint32_t>& component : components) {
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (const uint32_t rule : component) {
                Facts& facts = facts_[rule];
                const Expression body = builder_.rules_[rule].body;
                if (!facts.is_productive && is_productive(body)) facts.is_productive = has_changed = true;
                if (!facts.may_be_empty && may_be_empty(body)) facts.may_be_empty = has_changed = true;
            }
        }
        for (const uint32_t rule : component) {
            facts_[rule].size = size(builder_.rules_[rule].body, true);
            facts_[rule].height = height(builder_.rules_[rule].body);
        }
    }
}

uint32_t GrammarCompiler::state(Automaton::State state) {
    made_.states.push_back(state);
    return static_cast<uint32_t>(made_.states.size() - 1);
}

uint32_t GrammarCompiler::bytes(std::vector<Automaton::Edge> edges) {
    const auto begin = static_cast<uint32_t>(made_.edges.size());
    made_.edges.insert(made_.edges.end(), edges.begin(), edges.end());
    return state({.kind = Automaton::Kind::bytes, .begin = begin, .end = static_cast<uint32_t>(made_.edges.size())});
}

uint32_t GrammarCompiler::split(const std::vector<uint32_t>& targets) {
    std::vector<uint32_t> live = targets;
    std::erase(live, kNowhere);
    if (live.empty()) return kNowhere;
    if (live.size() == 1) return live[0];
    const auto begin = static_cast<uint32_t>(made_.targets.size());
    made_.targets.insert(made_.targets.end(), live.begin(), live.end());
    return state({.kind = Automaton::Kind::split, .begin = begin, .end = static_cast<uint32_t>(made_.targets.size())});
}

namespace {

// The bytes of UTF-8 for ranges of code points, as a tree of edges whose common ends are shared.
class Utf8Ranges {
public:
    struct Sequence {
        uint32_t length;
        std::array<uint8_t, 4> first, last;  // of each byte
    };

    // All characters whose encodings are a product of ranges of bytes.
    static void split(char32_t first, char32_t last, std::vector<Sequence>& sequences) {
        constexpr std::array<char32_t, 4> kLastOf{0x7F, 0x7FF, 0xFFFF, kLastCharacter};
        for (const char32_t limit : kLastOf)
            if (first <= limit && last > limit)
                return split(first, limit, sequences), split(limit + 1, last, sequences);
        if (last > 0x7F) {
            for (uint32_t trailing = 1; trailing < 4; ++trailing) {
                const char32_t mask = (1U << (6 * trailing)) - 1;
                if ((first & ~mask) == (last & ~mask)) continue;
                if ((first & mask) != 0)
                    return split(first, first | mask, sequences), split((first | mask) + 1, last, sequences);
                if ((last & mask) != mask)
                    return split(first, (last & ~mask) - 1, sequences), split(last & ~mask, last, sequences);
            }
        }
        std::string low, high;
        append_utf8(low, first), append_utf8(high, last);
        Sequence sequence{static_cast<uint32_t>(low.size()), {}, {}};
        std::copy(low.begin(), low.end(), sequence.first.begin());
        std::copy(high.begin(), high.end(), sequence.last.begin());
        sequences.push_back(sequence);
    }
};

}  // namespace

uint32_t GrammarCompiler::characters(const std::vector<CharacterRange>& ranges, uint32_t next) {
    std::vector<Utf8Ranges::Sequence> sequences;
    for (const auto& [first, last] : ranges) Utf8Ranges::split(first, last, sequences);
    // By what follows the first bytes: ends that are alike are one state.
    std::map<std::vector<std::pair<uint8_t, uint8_t>>, uint32_t> ends;
    const auto end_of = [&](const Utf8Ranges::Sequence& sequence) {
        uint32_t target = next;
        std::vector<std::pair<uint8_t, uint8_t>> key;
        for (uint32_t i = sequence.length; i-- > 1;) {
            key.emplace_back(sequence.first[i], sequence.last[i]);
            const auto [at, is_new] = ends.try_emplace(key, 0);
            if (is_new) at->second = bytes({{sequence.first[i], sequence.last[i], target}});
            target = at->second;
        }
        return target;
    };
    std::vector<Automaton::Edge> edges;
    for (const Utf8Ranges::Sequence& sequence : sequences) {
        const uint32_t target = end_of(sequence);
        if (!edges.empty() && edges.back().next == target && edges.back().last + 1 == sequence.first[0])
            edges.back().last = sequence.last[0];
        else
            edges.push_back({sequence.first[0], sequence.last[0], target});
    }
    return bytes(std::move(edges));
}

// Literals among them become a tree, so that thousands of words are read one byte each.
uint32_t GrammarCompiler::choice(std::span<const Expression> alternatives, uint32_t next) {
    std::vector<uint32_t> targets;
    std::vector<std::string_view> words;
    for (const Expression alternative : alternatives) {
        const Part& of = part(alternative);
        if (of.kind == PartKind::literal)
            words.push_back(builder_.texts_[of.index]);
        else
            targets.push_back(compile(alternative, next));
    }
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    // From the last word on, and from its end: of each place its state, once all words through it are known.
    struct Place {
        std::vector<Automaton::Edge> edges;
        bool is_end = false;
    };
    std::vector<Place> places(1);
    const auto close = [&](size_t depth) {
        while (places.size() > depth + 1) {
            Place place = std::move(places.back());
            places.pop_back();
            uint32_t target = next;
            if (!place.edges.empty()) {
                std::ranges::reverse(place.edges);
                target = bytes(std::move(place.edges));
                if (place.is_end) target = split({target, next});
            }
            places.back().edges.back().next = target;
        }
    };
    for (size_t i = words.size(); i-- > 0;) {
        const std::string_view word = words[i];
        size_t shared = 0;
        if (i + 1 < words.size())
            while (shared < word.size() && shared < words[i + 1].size() && word[shared] == words[i + 1][shared])
                ++shared;
        close(shared);
        for (size_t at = shared; at < word.size(); ++at) {
            const auto byte = static_cast<uint8_t>(word[at]);
            places.back().edges.push_back({byte, byte, next});
            places.emplace_back();
        }
        places.back().is_end = true;
    }
    close(0);
    if (!words.empty()) {
        std::ranges::reverse(places[0].edges);
        targets.push_back(bytes(std::move(places[0].edges)));
    }
    return split(targets);
}

uint32_t GrammarCompiler::repeat(const Part& of, uint32_t next) {
    const bool is_unlimited = of.max == Automaton::kUnlimited;
    const uint64_t times = is_unlimited ? uint64_t(of.min) + 1 : of.max;
    if (times * (size(of.index, true) + 1) <= kMostSpelt || (is_unlimited && of.min <= 1)) {
        uint32_t target = next, least = of.min;
        if (is_unlimited) {
            const uint32_t begin = static_cast<uint32_t>(made_.targets.size());
            made_.targets.insert(made_.targets.end(), {next, next});
            target = state({.kind = Automaton::Kind::split, .begin = begin, .end = begin + 2});
            const uint32_t body = compile(of.index, target);
            if (body == kNowhere) return of.min == 0 ? next : kNowhere;
            made_.targets[begin] = body;
            if (least > 0) target = body, --least;  // the loop's own body is the last that must be
        } else {
            for (uint32_t i = of.min; i < of.max; ++i) target = split({compile(of.index, target), next});
        }
        for (uint32_t i = 0; i < least; ++i) target = compile(of.index, target);
        return target;
    }
    if (!is_productive(of.index)) return of.min == 0 ? next : kNowhere;
    // Empty repetitions count for as many as are wanted.
    const uint32_t min = may_be_empty(of.index) ? 0 : of.min;
    const uint32_t rule = body_rule(of.index);
    return state({.kind = Automaton::Kind::repeat, .rule = rule, .next = next, .min = min, .max = of.max});
}

uint32_t GrammarCompiler::body_rule(Expression body) {
    if (part(body).kind == PartKind::call) return rule_of(part(body).index);
    const auto rule = static_cast<uint32_t>(made_.rules.size());
    made_.rules.push_back({kNowhere, may_be_empty(body)});
    where_.emplace_back(kOfRepetition);
    waiting_.push_back({rule, body});
    return rule;
}

uint32_t GrammarCompiler::rule_of(uint32_t rule) {
    Facts& facts = facts_[rule];
    if (facts.compiled == kNowhere) {
        facts.compiled = static_cast<uint32_t>(made_.rules.size());
        made_.rules.push_back({kNowhere, facts.may_be_empty});
        where_.push_back(builder_.rules_[rule].where);
        waiting_.push_back({facts.compiled, builder_.rules_[rule].body});
    }
    return facts.compiled;
}

uint32_t GrammarCompiler::compile(Expression expression, uint32_t next) {
    if (next == kNowhere || made_.states.size() > GrammarBuilder::kMostParts) return kNowhere;
    const Part& of = part(expression);
    switch (of.kind) {
        case PartKind::nothing:
            return next;
        case PartKind::never:
            return kNowhere;
        case PartKind::literal: {
            const std::string& text = builder_.texts_[of.index];
            for (size_t i = text.size(); i-- > 0;) {
                const auto byte = static_cast<uint8_t>(text[i]);
                next = bytes({{byte, byte, next}});
            }
            return next;
        }
        case PartKind::characters:
            return characters(builder_.ranges_[of.index], next);
        case PartKind::sequence:
            for (const Expression child : std::views::reverse(children(of))) next = compile(child, next);
            return next;
        case PartKind::choice:
            return choice(children(of), next);
        case PartKind::repeat: {
            ++repetitions_;
            const uint32_t made = repeat(of, next);
            --repetitions_;
            return made;
        }
        case PartKind::token:
            return state({.kind = Automaton::Kind::token, .rule = of.index, .next = next});
        case PartKind::call:
            if (!facts_[of.index].is_productive) return kNowhere;
            if (is_copied(of.index, repetitions_ > 0)) return compile(builder_.rules_[of.index].body, next);
            return state({.kind = Automaton::Kind::call, .rule = rule_of(of.index), .next = next});
    }
    return kNowhere;
}

// What a rule can call before it has read anything must not come back to it.
Result<void> GrammarCompiler::refuse_left_recursion() const {
    const auto called_first = [&](uint32_t rule) {
        std::vector<uint32_t> called, open{made_.rules[rule].entry};
        std::set<uint32_t> visited;
        while (!open.empty()) {
            const uint32_t at = open.back();
            open.pop_back();
            if (!visited.insert(at).second) continue;
            const Automaton::State& state = made_.states[at];
            if (state.kind == Automaton::Kind::split)
                for (uint32_t i = state.begin; i < state.end; ++i) open.push_back(made_.targets[i]);
            if (state.kind != Automaton::Kind::call && state.kind != Automaton::Kind::repeat) continue;
            called.push_back(state.rule);
            const bool is_passed =
                state.kind == Automaton::Kind::repeat ? state.min == 0 : made_.rules[state.rule].may_be_empty;
            if (is_passed) open.push_back(state.next);
        }
        return called;
    };
    enum class Mark : uint8_t { none, open, done };
    struct Visit {
        uint32_t rule;
        std::vector<uint32_t> called;
        size_t next = 0;
    };
    std::vector<Mark> marks(made_.rules.size(), Mark::none);
    for (uint32_t start = 0; start < marks.size(); ++start) {
        if (marks[start] != Mark::none) continue;
        std::vector<Visit> visits;
        const auto enter = [&](uint32_t rule) {
            marks[rule] = Mark::open;
            visits.push_back({rule, called_first(rule)});
        };
        enter(start);
        while (!visits.empty()) {
            Visit& visit = visits.back();
            if (visit.next == visit.called.size()) {
                marks[visit.rule] = Mark::done;
                visits.pop_back();
                continue;
            }
            const uint32_t called = visit.called[visit.next++];
            if (marks[called] == Mark::open) {
                // Of the circle a rule that its author wrote, who does not know those of repetitions.
                auto named = std::ranges::find_if(std::views::reverse(visits),
                                                  [&](const Visit& of) { return where_[of.rule] != kOfRepetition; });
                return fail(ErrorKind::Format,
                            "{} can begin with itself (left recursion), which is not implemented: write "
                            "`a ::= a b | c` as `a ::= c b*`",
                            where_[named->rule]);
            }
            if (marks[called] == Mark::none) enter(called);
        }
    }
    return {};
}

void GrammarCompiler::find_classes() {
    std::array<bool, 257> begins{};
    begins[0] = true;
    // Edges of dropped parts tell nothing apart wrongly, only needlessly.
    for (const Automaton::Edge& edge : made_.edges) begins[edge.first] = begins[edge.last + 1U] = true;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        if (begins[byte]) made_.representatives.push_back(static_cast<uint8_t>(byte));
        made_.class_of[byte] = static_cast<uint8_t>(made_.representatives.size() - 1);
    }
}

Result<Automaton> GrammarCompiler::compile(uint32_t root) {
    find_facts(components(root));
    const std::string& where = builder_.rules_[root].where;
    if (!facts_[root].is_productive)
        return fail(ErrorKind::Format, "{} has no text that ends: every way through it needs another of its own",
                    where);
    accept_ = state({.kind = Automaton::Kind::accept});
    made_.tokens = builder_.tokens_;
    check(rule_of(root) == 0, "the root comes first");
    while (!waiting_.empty()) {
        const Waiting next = waiting_.back();
        waiting_.pop_back();
        repetitions_ = where_[next.rule] == kOfRepetition ? 1 : 0;
        const uint32_t entry = compile(next.body, accept_);
        if (made_.states.size() > GrammarBuilder::kMostParts)
            return fail(ErrorKind::Unsupported, "{}: the grammar is too large: more than {} states", where,
                        GrammarBuilder::kMostParts);
        check(entry != kNowhere, "a rule that is called has a text");
        made_.rules[next.rule].entry = entry;
    }
    RIFTJIT_TRY_VOID(refuse_left_recursion());
    find_classes();
    return std::move(made_);
}

Result<Automaton> GrammarBuilder::compile(uint32_t root) {
    if (is_too_large())
        return fail(ErrorKind::Unsupported, "{}: the grammar is too large: more than {} parts", rules_[root].where,
                    kMostParts);
    return GrammarCompiler(*this).compile(root);
}

}  // namespace riftjit::engine
