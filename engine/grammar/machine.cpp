#include "engine/grammar/machine.h"

#include <algorithm>
#include <array>

#include "host/result.h"

namespace riftjit::engine {

namespace {

constexpr uint64_t mixed(uint64_t value) {  // splitmix64's
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

constexpr uint64_t pair_of(uint32_t high, uint32_t low) { return uint64_t(high) << 32 | low; }

}  // namespace

size_t GrammarMachine::ItemHash::operator()(const Item& item) const {
    return mixed(mixed(pair_of(item.entry.symbol, item.entry.count)) + pair_of(item.entry.below, item.is_fresh));
}

GrammarMachine::GrammarMachine(const Automaton& automaton) : automaton_(automaton) {
    check(intern({}) == kNone, "the set of nothing comes first");
    const std::array end{Entry{kEndSymbol, 0, kNone}}, unknown{Entry{kUnknownSymbol, 0, kNone}};
    check(intern(end) == kEnd && intern(unknown) == kUnknown, "then those of one stack without states");
    add({automaton_.rules[0].entry, 0, kEnd}, /*is_fresh=*/true);
    if (automaton_.rules[0].may_be_empty) found_.push_back(end[0]);
    start_ = close();
}

bool GrammarMachine::contains(Set set, uint32_t symbol) const {
    // Both lie behind all states.
    const auto all = entries(set);
    for (size_t i = all.size(); i > 0 && all[i - 1].symbol >= kUnknownSymbol; --i)
        if (all[i - 1].symbol == symbol) return true;
    return false;
}

GrammarMachine::Set GrammarMachine::intern(std::span<const Entry> sorted) {
    uint64_t hash = sorted.size();
    for (const Entry& entry : sorted) hash = mixed(hash ^ pair_of(entry.symbol, entry.count)) + mixed(entry.below + 1);
    for (auto [at, end] = sets_.equal_range(hash); at != end; ++at)
        if (std::ranges::equal(entries(at->second), sorted)) return at->second;
    uint32_t depth = 0;
    for (const Entry& entry : sorted) depth = std::max(depth, nodes_[entry.below].depth + 1);
    const auto set = static_cast<Set>(nodes_.size());
    nodes_.push_back({static_cast<uint32_t>(pool_.size()), static_cast<uint32_t>(sorted.size()), depth});
    pool_.insert(pool_.end(), sorted.begin(), sorted.end());
    rows_.emplace_back();
    sets_.emplace(hash, set);
    bytes_ += sizeof(Node) + sizeof(void*) + 48 + sorted.size_bytes();
    return set;
}

GrammarMachine::Set GrammarMachine::push(uint32_t state, uint32_t count, Set below) {
    const std::array entry{Entry{state, count, below}};
    return intern(entry);
}

GrammarMachine::Set GrammarMachine::unite(Set a, Set b) {
    if (a == b || b == kNone) return a;
    if (a == kNone) return b;
    if (a > b) std::swap(a, b);
    const uint64_t key = pair_of(a, b);
    if (const auto known = unions_.find(key); known != unions_.end()) return known->second;
    work_ += 1 + nodes_[a].size + nodes_[b].size;
    if (work_ > kMostWork) return has_overflown_ = true, a;
    std::vector<Entry> both;
    both.reserve(nodes_[a].size + nodes_[b].size);
    std::ranges::merge(std::vector<Entry>(entries(a).begin(), entries(a).end()),
                       std::vector<Entry>(entries(b).begin(), entries(b).end()), std::back_inserter(both));
    const Set set = united(both);
    unions_.emplace(key, set);
    bytes_ += 48;
    return set;
}

// Of sorted entries, those of equal tops with what lies below them united.
GrammarMachine::Set GrammarMachine::united(std::vector<Entry>& entries) {
    size_t kept = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        if (kept > 0 && entries[kept - 1].symbol == entries[i].symbol && entries[kept - 1].count == entries[i].count)
            entries[kept - 1].below = unite(entries[kept - 1].below, entries[i].below);
        else
            entries[kept++] = entries[i];
    }
    entries.resize(kept);
    return intern(entries);
}

// ---- one step -------------------------------------------------------------------------------------------------------

void GrammarMachine::add(Entry entry, bool is_fresh) {
    constexpr size_t kFew = 24;
    const Item item{entry, is_fresh};
    if (seen_many_.empty()) {
        if (std::ranges::find(seen_few_, item) != seen_few_.end()) return;
        seen_few_.push_back(item);
        if (seen_few_.size() > kFew)
            for (const Item& seen : seen_few_) seen_many_.emplace(seen, true);
    } else if (!seen_many_.emplace(item, true).second) {
        return;
    }
    open_.push_back(item);
}

void GrammarMachine::pop(Set below) {
    for (uint32_t i = 0; i < nodes_[below].size; ++i) {
        const Entry entry = pool_[nodes_[below].begin + i];
        if (entry.symbol >= kUnknownSymbol)
            found_.push_back(entry);
        else
            add(entry, /*is_fresh=*/false);
    }
}

void GrammarMachine::repeat(const Automaton::State& state, Entry entry, bool is_fresh) {
    const bool is_unlimited = state.max == Automaton::kUnlimited;
    if ((entry.symbol & kMarks) != 0) {
        if ((entry.symbol & kMay) != 0) add({state.next, 0, entry.below}, is_fresh);
        add({automaton_.rules[state.rule].entry, 0, push(entry.symbol, 0, entry.below)}, /*is_fresh=*/true);
        return;
    }
    if (entry.count >= state.min) add({state.next, 0, entry.below}, is_fresh);
    if (is_unlimited || entry.count < state.max) {
        if (nodes_[entry.below].depth >= kDeepest) return;
        const uint32_t count = is_unlimited ? std::min(entry.count + 1, state.min) : entry.count + 1;
        // A repetition takes the place of the one before: it is no deeper.
        add({automaton_.rules[state.rule].entry, 0, push(entry.symbol, count, entry.below)}, /*is_fresh=*/true);
    }
}

GrammarMachine::Set GrammarMachine::close() {
    while (!open_.empty() && !has_overflown_) {
        if (++work_ > kMostWork) has_overflown_ = true;
        const auto [entry, is_fresh] = open_.back();
        open_.pop_back();
        const Automaton::State& state = automaton_.states[entry.symbol & ~kMarks];
        switch (state.kind) {
            case Automaton::Kind::bytes:
            case Automaton::Kind::token:
                found_.push_back(entry);
                break;
            case Automaton::Kind::split:
                for (uint32_t i = state.begin; i < state.end; ++i)
                    add({automaton_.targets[i], 0, entry.below}, is_fresh);
                break;
            case Automaton::Kind::call: {
                const Automaton::Rule& rule = automaton_.rules[state.rule];
                if (rule.may_be_empty) add({state.next, 0, entry.below}, is_fresh);
                // A call at the end of a rule returns to where the rule does.
                const bool is_last = automaton_.states[state.next].kind == Automaton::Kind::accept;
                if (!is_last && nodes_[entry.below].depth >= kDeepest) break;
                add({rule.entry, 0, is_last ? entry.below : push(state.next, 0, entry.below)}, /*is_fresh=*/true);
                break;
            }
            case Automaton::Kind::repeat:
                repeat(state, entry, is_fresh);
                break;
            case Automaton::Kind::accept:
                if (!is_fresh) pop(entry.below);
                break;
        }
    }
    open_.clear(), seen_few_.clear(), seen_many_.clear();
    std::ranges::sort(found_);
    std::vector<Entry> found = std::move(found_);
    found_.clear();
    return united(found);
}

GrammarMachine::Set GrammarMachine::compute(Set from, uint8_t of_class) {
    work_ = 0;
    const uint8_t byte = automaton_.representatives[of_class];
    for (uint32_t i = 0; i < nodes_[from].size; ++i) {
        const Entry entry = pool_[nodes_[from].begin + i];
        if (entry.symbol >= kUnknownSymbol) {
            if (entry.symbol == kUnknownSymbol) found_.push_back(entry);
            continue;
        }
        const Automaton::State& state = automaton_.states[entry.symbol];
        if (state.kind != Automaton::Kind::bytes) continue;
        for (uint32_t edge = state.begin; edge < state.end; ++edge) {
            const auto& [first, last, next] = automaton_.edges[edge];
            if (first <= byte && byte <= last) add({next, 0, entry.below}, /*is_fresh=*/false);
        }
    }
    const Set to = close();
    if (rows_[from] == nullptr) {
        const size_t classes = automaton_.representatives.size();
        rows_[from] = std::make_unique_for_overwrite<uint32_t[]>(classes);
        std::fill_n(rows_[from].get(), classes, kNotYet);
        bytes_ += classes * sizeof(uint32_t) + 16;
    }
    return rows_[from][of_class] = to;
}

GrammarMachine::Set GrammarMachine::step_token(Set from, uint32_t terminal) {
    work_ = 0;
    for (uint32_t i = 0; i < nodes_[from].size; ++i) {
        const Entry entry = pool_[nodes_[from].begin + i];
        if (entry.symbol >= kUnknownSymbol) continue;
        const Automaton::State& state = automaton_.states[entry.symbol];
        if (state.kind == Automaton::Kind::token && state.rule == terminal)
            add({state.next, 0, entry.below}, /*is_fresh=*/false);
    }
    return close();
}

std::vector<uint32_t> GrammarMachine::terminals(Set set) const {
    std::vector<uint32_t> found;
    for (const Entry& entry : entries(set)) {
        if (entry.symbol >= kUnknownSymbol) continue;
        const Automaton::State& state = automaton_.states[entry.symbol];
        if (state.kind == Automaton::Kind::token) found.push_back(state.rule);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// ---- what does not depend on the rest -------------------------------------------------------------------------------

GrammarMachine::Set GrammarMachine::abstract_below(Set below, int depth, uint32_t& longest) {
    std::vector<Entry> kept;
    for (uint32_t i = 0; i < nodes_[below].size; ++i) {
        Entry entry = pool_[nodes_[below].begin + i];
        if (entry.symbol >= kUnknownSymbol) {
            kept.push_back(entry);
            continue;
        }
        const Automaton::State& state = automaton_.states[entry.symbol & ~kMarks];
        if (depth == 0 || state.kind != Automaton::Kind::repeat) {
            kept.push_back({kUnknownSymbol, 0, kNone});
            continue;
        }
        const bool must = entry.count < state.min, is_counted = must || state.max != Automaton::kUnlimited;
        const uint32_t left = must ? state.min - entry.count : state.max - entry.count;
        if (is_counted && left >= kLeastForgotten) {
            longest = std::min(longest, left);
            entry = {entry.symbol | (must ? kMust : kMay), 0, entry.below};
        }
        entry.below = abstract_below(entry.below, depth - 1, longest);
        kept.push_back(entry);
    }
    std::ranges::sort(kept);
    return united(kept);
}

GrammarMachine::Abstract GrammarMachine::abstract(Set set) {
    constexpr int kRepetitions = 3;  // within each other
    if (const auto known = abstracts_.find(set); known != abstracts_.end()) return known->second;
    work_ = 0;
    uint32_t longest = UINT32_MAX;
    std::vector<Entry> kept;
    for (uint32_t i = 0; i < nodes_[set].size; ++i) {
        Entry entry = pool_[nodes_[set].begin + i];
        if (entry.symbol < kUnknownSymbol) entry.below = abstract_below(entry.below, kRepetitions, longest);
        kept.push_back(entry);
    }
    std::ranges::sort(kept);
    const Abstract made{united(kept), longest};
    abstracts_.emplace(set, made);
    bytes_ += 40;
    return made;
}

GrammarMachine::Set GrammarMachine::copy(const GrammarMachine& from, Set set) {
    // Sets are younger than those below them.
    std::vector<Set> reached{set};
    std::vector<bool> is_reached(from.nodes_.size());
    is_reached[set] = true;
    for (size_t i = 0; i < reached.size(); ++i)
        for (const Entry& entry : from.entries(reached[i]))
            if (!is_reached[entry.below]) is_reached[entry.below] = true, reached.push_back(entry.below);
    std::ranges::sort(reached);
    std::unordered_map<Set, Set> mine;
    for (const Set old : reached) {
        std::vector<Entry> copied(from.entries(old).begin(), from.entries(old).end());
        for (Entry& entry : copied)
            if (entry.symbol < kUnknownSymbol) entry.below = mine.at(entry.below);
        std::ranges::sort(copied);
        mine.emplace(old, intern(copied));
    }
    return mine.at(set);
}

}  // namespace riftjit::engine
