#include "engine/grammar/token_masks.h"

#include <algorithm>
#include <array>

#include "engine/grammar/automaton.h"
#include "engine/grammar/machine.h"

namespace riftjit::engine {

namespace {

void set_bit(TokenMask& mask, int32_t token) { mask[static_cast<size_t>(token) / 64] |= uint64_t(1) << (token % 64); }
void clear_bit(TokenMask& mask, int32_t token) {
    mask[static_cast<size_t>(token) / 64] &= ~(uint64_t(1) << (token % 64));
}

}  // namespace

// Most of what may follow depends on the top of the stacks alone: within a string any text may, whatever the string is
// in. So the tree is walked once for each top (`abstract`), and what that could not decide, mostly tokens that leave
// the string, is asked of the whole stacks.
struct TokenMasks::Impl {
    struct OfTop {
        TokenMask mask;
        std::vector<TokenTree::Some> undecided;  // with all that lies below the wanted ones
    };

    const Automaton& automaton;
    const TokenTree& tree;
    size_t words;
    std::shared_ptr<GrammarMachine> machine;
    std::unordered_map<GrammarMachine::Set, OfTop> tops;
    std::unordered_map<GrammarMachine::Set, std::shared_ptr<const TokenMask>> masks;
    std::unordered_map<GrammarMachine::Set, bool> plain_text;  // whether it may follow
    std::vector<int32_t> terminals;                            // the tokens of the automaton's terminals
    size_t mask_bytes = 0;
    std::vector<GrammarMachine::Set> path;

    Impl(const Automaton& automaton, const TokenTree& tree)
        : automaton(automaton), tree(tree), words((tree.size() + 63) / 64), path(tree.deepest() + 1) {}

    void begin_anew() {
        tops.clear(), masks.clear(), plain_text.clear();
        mask_bytes = 0;
        machine = std::make_shared<GrammarMachine>(automaton);
    }
    void set_alike(TokenMask& mask, int32_t token) const {
        for (; token >= 0; token = tree.next_alike(token)) set_bit(mask, token);
    }
    void walk(uint32_t node, GrammarMachine::Set from, TokenMask& mask);
    const OfTop& of_top(GrammarMachine::Set top);
    template <class Visit>
    void walk_some(std::span<const TokenTree::Some> some, GrammarMachine::Set from, const Visit& visit);
    void decide(const OfTop& top, GrammarMachine::Set set, TokenMask& mask);
    void decide_longer(const TokenTree::Longer& longer, GrammarMachine::Set set, TokenMask& mask);
    bool takes_plain_text(GrammarMachine::Set set);
    bool takes_plain_text_now(GrammarMachine::Set set);
    bool takes_all_below(uint32_t node, GrammarMachine::Set set);
    void set_all(uint32_t node, TokenMask& mask) const;
    void add_terminals(GrammarMachine::Set set, TokenMask& mask) const;
    bool matches(uint32_t terminal, int32_t token) const;
};

void TokenMasks::Impl::set_all(uint32_t node, TokenMask& mask) const {
    const auto nodes = tree.nodes();
    for (uint32_t i = node; i < nodes[node].end; ++i)
        if (nodes[i].token >= 0) set_alike(mask, nodes[i].token);
}

// Known without a look at each; asked where it pays, and where a character has ended.
bool TokenMasks::Impl::takes_all_below(uint32_t node, GrammarMachine::Set set) {
    constexpr uint32_t kMany = 64;
    const TokenTree::Node& of = tree.nodes()[node];
    return node < tree.first_other() && of.end - node >= kMany && of.byte < 0x80 && takes_plain_text(set);
}

// All tokens below `node`, behind which the text is at `from`.
void TokenMasks::Impl::walk(uint32_t node, GrammarMachine::Set from, TokenMask& mask) {
    const auto nodes = tree.nodes();
    path[nodes[node].depth] = from;
    for (uint32_t i = node + 1; i < nodes[node].end;) {
        const TokenTree::Node& at = nodes[i];
        const GrammarMachine::Set to = machine->step(path[at.depth - 1U], at.byte);
        if (to == GrammarMachine::kNone) {
            i = at.end;
            continue;
        }
        if (takes_all_below(i, to)) {
            set_all(i, mask);
            i = at.end;
            continue;
        }
        path[at.depth] = to;
        if (at.token >= 0) set_alike(mask, at.token);
        ++i;
    }
}

const TokenMasks::Impl::OfTop& TokenMasks::Impl::of_top(GrammarMachine::Set top) {
    const auto [at, is_new] = tops.try_emplace(top);
    OfTop& made = at->second;
    if (!is_new) return made;
    made.mask.resize(words);
    const auto nodes = tree.nodes();
    std::vector<uint32_t> way{0};  // nodes, by depth
    std::vector<uint32_t> noted;   // places in the list of those on the way that are in it
    way.resize(path.size());
    path[0] = top;
    const auto leave_to = [&](size_t depth) {
        for (; noted.size() > depth; noted.pop_back())
            made.undecided[noted.back()].end = static_cast<uint32_t>(made.undecided.size());
    };
    uint32_t i = 1;
    if (takes_plain_text(top)) {
        std::ranges::copy(tree.plain(), made.mask.begin());
        i = tree.first_other();
    }
    while (i < nodes[0].end) {
        const TokenTree::Node& node = nodes[i];
        const GrammarMachine::Set to = machine->step(path[node.depth - 1U], node.byte);
        // Nodes of the way that are noted are the first ones.
        if (noted.size() >= node.depth) leave_to(node.depth - 1U);
        way[node.depth] = i;
        if (to == GrammarMachine::kUnknown) {
            while (noted.size() < node.depth) {
                noted.push_back(static_cast<uint32_t>(made.undecided.size()));
                made.undecided.push_back({way[noted.size()], 0, noted.size() == node.depth});
            }
            i = node.end;
            continue;
        }
        if (to == GrammarMachine::kNone) {
            i = node.end;
            continue;
        }
        if (takes_all_below(i, to)) {
            set_all(i, made.mask);
            i = node.end;
            continue;
        }
        path[node.depth] = to;
        if (node.token >= 0) set_alike(made.mask, node.token);
        ++i;
    }
    leave_to(0);
    mask_bytes += words * sizeof(uint64_t) + made.undecided.capacity() * sizeof(TokenTree::Some) + 64;
    return made;
}

// Those of `some` that may be reached, with where each leads, where it is wanted.
template <class Visit>
void TokenMasks::Impl::walk_some(std::span<const TokenTree::Some> some, GrammarMachine::Set from, const Visit& visit) {
    const auto nodes = tree.nodes();
    path[0] = from;
    for (uint32_t i = 0; i < some.size();) {
        const TokenTree::Some& at = some[i];
        const TokenTree::Node& node = nodes[at.node];
        const GrammarMachine::Set to = machine->step(path[node.depth - 1U], node.byte);
        if (to == GrammarMachine::kNone) {
            i = at.end;
            continue;
        }
        path[node.depth] = to;
        if (at.is_wanted) visit(at.node, to);
        ++i;
    }
}

void TokenMasks::Impl::decide(const OfTop& top, GrammarMachine::Set set, TokenMask& mask) {
    walk_some(top.undecided, set, [&](uint32_t node, GrammarMachine::Set to) {
        if (const int32_t token = tree.nodes()[node].token; token >= 0) set_alike(mask, token);
        walk(node, to, mask);
    });
}

// What is true of texts up to a length was taken to be true of all.
void TokenMasks::Impl::decide_longer(const TokenTree::Longer& longer, GrammarMachine::Set set, TokenMask& mask) {
    for (size_t word = 0; word < mask.size(); ++word) mask[word] &= ~longer.tokens[word];
    walk_some(longer.nodes, set,
              [&](uint32_t node, GrammarMachine::Set) { set_alike(mask, tree.nodes()[node].token); });
}

// Whether any text may follow that is plain as TokenTree::plain() says.
bool TokenMasks::Impl::takes_plain_text(GrammarMachine::Set set) {
    const auto [known, is_new] = plain_text.try_emplace(set);
    if (is_new) known->second = takes_plain_text_now(set);
    return known->second;
}

// Both automata are walked at once.
bool TokenMasks::Impl::takes_plain_text_now(GrammarMachine::Set set) {
    constexpr size_t kMost = 40;  // pairs of states; within a string there are some ten
    struct Range {
        uint8_t first, last, next;
    };
    // The bytes of UTF-8 (Unicode standard, table 3-7): 0 between characters, then by what is wanted yet.
    static const std::array<std::vector<Range>, 8> kText{{
        {{0x20, '!', 0},
         {'#', '[', 0},
         {']', 0x7E, 0},
         {0xC2, 0xDF, 1},
         {0xE0, 0xE0, 3},
         {0xE1, 0xEC, 2},
         {0xED, 0xED, 4},
         {0xEE, 0xEF, 2},
         {0xF0, 0xF0, 6},
         {0xF1, 0xF3, 5},
         {0xF4, 0xF4, 7}},
        {{0x80, 0xBF, 0}},
        {{0x80, 0xBF, 1}},
        {{0xA0, 0xBF, 1}},
        {{0x80, 0x9F, 1}},
        {{0x80, 0xBF, 2}},
        {{0x90, 0xBF, 2}},
        {{0x80, 0x8F, 2}},
    }};
    std::vector<std::pair<GrammarMachine::Set, uint8_t>> pairs{{set, uint8_t(0)}};
    for (size_t i = 0; i < pairs.size(); ++i) {
        const auto [at, wanted] = pairs[i];
        for (const auto& [first, last, next] : kText[wanted]) {
            for (uint32_t byte = first; byte <= last; ++byte) {
                const GrammarMachine::Set to = machine->step(at, static_cast<uint8_t>(byte));
                if (to == GrammarMachine::kNone || to == GrammarMachine::kUnknown) return false;
                const std::pair pair(to, next);
                if (std::ranges::find(pairs, pair) != pairs.end()) continue;
                if (pairs.size() == kMost) return false;
                pairs.push_back(pair);
            }
        }
    }
    return true;
}

bool TokenMasks::Impl::matches(uint32_t terminal, int32_t token) const {
    if (!automaton.tokens[terminal].is_negated) return terminals[terminal] == token;
    return terminals[terminal] != token && tree.kind(token) == TokenTree::Kind::text;
}

void TokenMasks::Impl::add_terminals(GrammarMachine::Set set, TokenMask& mask) const {
    for (const uint32_t terminal : machine->terminals(set)) {
        if (!automaton.tokens[terminal].is_negated) {
            set_bit(mask, terminals[terminal]);
            continue;
        }
        for (uint32_t id = 0; id < tree.size(); ++id)
            if (matches(terminal, static_cast<int32_t>(id))) set_bit(mask, static_cast<int32_t>(id));
    }
}

// ---- the door -------------------------------------------------------------------------------------------------------

namespace {

std::unexpected<Error> too_many_ways() {
    return fail(ErrorKind::Unsupported,
                "the grammar can read the text so far in too many ways: it is too ambiguous to be followed");
}

}  // namespace

TokenMasks::TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree)
    : grammar_(std::move(grammar)),
      tree_(std::move(tree)),
      impl_(std::make_unique<Impl>(grammar_->automaton(), *tree_)) {}
TokenMasks::~TokenMasks() = default;

Result<std::shared_ptr<TokenMasks>> TokenMasks::create(std::shared_ptr<const Grammar> grammar,
                                                       std::shared_ptr<const TokenTree> tree) {
    std::shared_ptr<TokenMasks> made(new TokenMasks(std::move(grammar), std::move(tree)));
    for (const Automaton::Token& token : made->grammar_->automaton().tokens) {
        const int64_t id = token.text.empty() ? token.id : made->tree_->find(token.text);
        if (id < 0 && !token.text.empty())
            return fail(ErrorKind::Format, "the grammar at {}: the vocabulary has no token \"{}\"", token.where,
                        token.text);
        if (id >= made->tree_->size())
            return fail(ErrorKind::Format, "the grammar at {}: the vocabulary has no token {}: it ends at {}",
                        token.where, id, int64_t(made->tree_->size()) - 1);
        made->impl_->terminals.push_back(static_cast<int32_t>(id));
    }
    made->impl_->begin_anew();
    if (made->impl_->machine->has_overflown()) return too_many_ways();
    return made;
}

// The state's own machine, unless it has grown too large: then the state is told to a new one.
void TokenMasks::renew(State& state) {
    if (impl_->machine->bytes() + impl_->mask_bytes > kMostBytes || impl_->machine->has_overflown())
        impl_->begin_anew();
    if (state.machine_ == impl_->machine) return;
    state.configuration_ = impl_->machine->copy(*state.machine_, state.configuration_);
    state.machine_ = impl_->machine;
}

TokenMasks::State TokenMasks::start() {
    const std::scoped_lock lock(mutex_);
    State state;
    state.machine_ = impl_->machine;
    state.configuration_ = impl_->machine->start();
    return state;
}

Result<std::optional<TokenMasks::State>> TokenMasks::after_bytes(const State& from, std::string_view bytes) {
    const std::scoped_lock lock(mutex_);
    State state = from;
    renew(state);
    for (const char byte : bytes) {
        state.configuration_ = state.machine_->step(state.configuration_, static_cast<uint8_t>(byte));
        if (state.machine_->has_overflown()) return too_many_ways();
        if (state.configuration_ == GrammarMachine::kNone) return std::nullopt;
    }
    return state;
}

Result<std::optional<TokenMasks::State>> TokenMasks::after(const State& from, int32_t token) {
    std::optional<State> by_bytes;
    if (tree_->kind(token) == TokenTree::Kind::text && !tree_->bytes(token).empty()) {
        RIFTJIT_TRY(read, after_bytes(from, tree_->bytes(token)));
        by_bytes = read;
    }
    if (grammar_->automaton().tokens.empty()) return by_bytes;
    const std::scoped_lock lock(mutex_);
    State state = from;
    renew(state);
    GrammarMachine::Set reached = GrammarMachine::kNone;
    if (by_bytes) {
        renew(*by_bytes);
        reached = by_bytes->configuration_;
    }
    for (const uint32_t terminal : state.machine_->terminals(state.configuration_))
        if (impl_->matches(terminal, token))
            reached = state.machine_->unite(reached, state.machine_->step_token(state.configuration_, terminal));
    if (state.machine_->has_overflown()) return too_many_ways();
    if (reached == GrammarMachine::kNone) return std::nullopt;
    state.configuration_ = reached;
    return state;
}

Result<std::shared_ptr<const TokenMask>> TokenMasks::mask(const State& of) {
    const std::scoped_lock lock(mutex_);
    State state = of;
    renew(state);
    const GrammarMachine::Set set = state.configuration_;
    if (const auto known = impl_->masks.find(set); known != impl_->masks.end()) return known->second;
    const auto [abstract, longest] = state.machine_->abstract(set);
    const Impl::OfTop& top = impl_->of_top(abstract);
    auto mask = std::make_shared<TokenMask>(top.mask);
    impl_->decide(top, set, *mask);
    if (const TokenTree::Longer* longer = tree_->longer_than(longest)) impl_->decide_longer(*longer, set, *mask);
    impl_->add_terminals(set, *mask);
    for (const int32_t end : tree_->ends()) {
        clear_bit(*mask, end);
        if (state.machine_->may_end(set)) set_bit(*mask, end);
    }
    if (state.machine_->has_overflown()) return too_many_ways();
    impl_->mask_bytes += mask->size() * sizeof(uint64_t) + 64;
    impl_->masks.emplace(set, mask);
    return mask;
}

bool TokenMasks::may_end(const State& state) const {
    const std::scoped_lock lock(mutex_);
    return state.machine_->may_end(state.configuration_);
}

bool TokenMasks::must_end(const State& state) const {
    const std::scoped_lock lock(mutex_);
    return state.configuration_ == GrammarMachine::kEnd;
}

Result<std::shared_ptr<TokenMasks>> GrammarMasks::of(std::shared_ptr<const Grammar> grammar) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(
        kept_, [&](const std::shared_ptr<TokenMasks>& masks) { return &masks->grammar() == grammar.get(); });
    if (known != kept_.end()) {
        std::rotate(known, known + 1, kept_.end());
        return kept_.back();
    }
    if (tree_ == nullptr) tree_ = std::make_shared<const TokenTree>(TokenTree::of(tokenizer_));
    RIFTJIT_TRY(made, TokenMasks::create(std::move(grammar), tree_));
    if (kept_.size() == kKept) kept_.erase(kept_.begin());
    kept_.push_back(made);
    return made;
}

}  // namespace riftjit::engine
