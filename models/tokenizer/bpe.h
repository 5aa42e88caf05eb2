// Byte-pair merges: which neighbours join, in which order, and the loop that joins them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace riftjit::models {

// Pairs of token ids to what they become. A hash table without deletion: no strings once it is built.
class BpeMerges {
public:
    struct Merge {
        uint32_t rank;  // kNoRank: the pair does not merge
        int32_t result;
    };
    static constexpr uint32_t kNoRank = UINT32_MAX;

    explicit BpeMerges(size_t expected_count = 0);
    void add(int32_t left, int32_t right, Merge merge);  // of two entries for a pair the first counts
    Merge find(int32_t left, int32_t right) const;
    void prefetch(int32_t left, int32_t right) const;  // its slot, for an add() or find() to come

private:
    struct Slot {
        uint64_t pair;
        Merge merge;
    };
    size_t home_of(uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15) >> shift_; }  // Fibonacci hashing
    size_t slot_of(uint64_t pair) const;
    void grow();

    std::vector<Slot> slots_;
    unsigned shift_ = 0;
    size_t count_ = 0;
};

// Joins the symbols of one word, always the pair of lowest rank, the leftmost of equals. Keeps its buffers, so use one
// per text. Pairs says what a pair merges to, by find(left, right): BpeMerges or ScoredPairs.
template <class Pairs>
class PairMerger {
public:
    explicit PairMerger(const Pairs& merges) : merges_(merges) {}
    void merge(std::vector<int32_t>& symbols);

private:
    // Ranks of all pairs are compared at each step: quadratic, and fastest for the few symbols of an ordinary word.
    void merge_short(std::vector<int32_t>& symbols);
    // A heap of pairs over a linked list: n log n for any word.
    void merge_long(std::vector<int32_t>& symbols);
    void link(const std::vector<int32_t>& symbols);
    void rank_pair(uint32_t left);
    void join(uint32_t left);

    struct Symbol {
        int32_t id;
        uint32_t previous, next;  // kNobody at the ends
        BpeMerges::Merge with_next;
    };
    const Pairs& merges_;
    std::vector<BpeMerges::Merge> pairs_;  // merge_short: pairs_[i] joins symbols i and i + 1
    std::vector<Symbol> list_;
    std::vector<uint64_t> heap_;  // rank << 32 | index of the left symbol: order and tie-break in one number
};
using BpeMerger = PairMerger<BpeMerges>;

}  // namespace riftjit::models
