// Runs an automaton over bytes, all ways of reading them at once, and remembers every step.
//
// What may come next is a set of stacks: on top of each a state that reads a byte, below it the states to return to.
// Such sets are kept as trees in which what is below equal tops is united, and equal trees are one number, so that a
// set of exponentially many stacks stays small and a step from it is looked up in a table. It is a deterministic
// automaton that is built as far as texts need it.
//
// A set may end in `unknown`: below that anything may lie. Steps from it tell what does not depend on what lies there
// (token_masks.cpp), by the same tables.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/grammar/automaton.h"

namespace riftjit::engine {

class GrammarMachine {
public:
    using Set = uint32_t;
    static constexpr Set kNone = 0;     // no stack: nothing can be read any more
    static constexpr Set kEnd = 1;      // the empty stack: the text is whole
    static constexpr Set kUnknown = 2;  // who knows
    // Rules within rules: what would call deeper is not offered. Each level costs memory, and calls where sets are
    // united.
    static constexpr uint32_t kDeepest = 2000;

    explicit GrammarMachine(const Automaton& automaton);

    Set start() const { return start_; }
    Set step(Set from, uint8_t byte) {
        const uint32_t* row = rows_[from].get();
        const uint8_t of = automaton_.class_of[byte];
        return row != nullptr && row[of] != kNotYet ? row[of] : compute(from, of);
    }
    Set step_token(Set from, uint32_t terminal);
    Set unite(Set a, Set b);

    bool may_end(Set set) const { return contains(set, kEndSymbol); }
    bool has_unknown(Set set) const { return contains(set, kUnknownSymbol); }
    // The token terminals that may come next.
    std::vector<uint32_t> terminals(Set set) const;
    // The same, with what lies below each top forgotten. Of repetitions there is left only whether they may go on or
    // must, as if that were so for ever: true of texts of up to `longest` bytes, since each takes one or more.
    struct Abstract {
        Set set;
        uint32_t longest;
    };
    Abstract abstract(Set set);
    Set copy(const GrammarMachine& from, Set set);  // the same set of another machine of the automaton

    // Too many ways of reading a text for one step: what was computed since then is wrong.
    bool has_overflown() const { return has_overflown_; }
    size_t bytes() const { return bytes_; }

private:
    static constexpr uint32_t kNotYet = UINT32_MAX;
    static constexpr uint32_t kEndSymbol = UINT32_MAX, kUnknownSymbol = UINT32_MAX - 1;
    // Marks of a repetition's symbol whose count is forgotten: it may end or go on; it must go on.
    static constexpr uint32_t kMay = 1U << 31, kMust = 1U << 30, kMarks = kMay | kMust;
    // With fewer repetitions left they are counted: what may then come is little.
    static constexpr uint32_t kLeastForgotten = 8;
    static constexpr size_t kMostWork = 100'000;  // of one step: ways that are looked at, and entries that are united

    struct Entry {
        uint32_t symbol;  // a state, perhaps marked, or one of the two above
        uint32_t count;   // of repetitions so far
        Set below;

        friend auto operator<=>(const Entry&, const Entry&) = default;
    };
    struct Node {
        uint32_t begin, size, depth;
    };
    struct Item {
        Entry entry;
        bool is_fresh;  // nothing was read since the rule was called
        friend bool operator==(const Item&, const Item&) = default;
    };
    struct ItemHash {
        size_t operator()(const Item& item) const;
    };

    std::span<const Entry> entries(Set set) const { return {pool_.data() + nodes_[set].begin, nodes_[set].size}; }
    bool contains(Set set, uint32_t symbol) const;
    Set intern(std::span<const Entry> sorted);
    Set push(uint32_t state, uint32_t count, Set below);
    Set compute(Set from, uint8_t of_class);
    void add(Entry entry, bool is_fresh);
    void pop(Set below);
    void repeat(const Automaton::State& state, Entry entry, bool is_fresh);
    Set close();  // of what was added
    Set united(std::vector<Entry>& entries);
    Set abstract_below(Set below, int depth, uint32_t& longest);

    const Automaton& automaton_;
    std::vector<Node> nodes_;
    std::vector<Entry> pool_;
    std::vector<std::unique_ptr<uint32_t[]>> rows_;
    std::unordered_multimap<uint64_t, Set> sets_;  // by hash
    std::unordered_map<uint64_t, Set> unions_;
    std::unordered_map<Set, Abstract> abstracts_;
    std::vector<Item> open_;
    std::vector<Item> seen_few_;
    std::unordered_map<Item, bool, ItemHash> seen_many_;
    std::vector<Entry> found_;
    size_t bytes_ = 0, work_ = 0;
    bool has_overflown_ = false;
    Set start_ = kNone;
};

}  // namespace riftjit::engine
