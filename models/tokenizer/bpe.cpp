#include "models/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "host/result.h"
#include "models/tokenizer/scored_pairs.h"

namespace riftjit::models {

namespace {

constexpr uint64_t kEmpty = UINT64_MAX;  // no pair: ids are not negative
constexpr size_t kLeastSlots = 16;
constexpr size_t kShortWord = 48;  // above, the heap is faster
constexpr uint32_t kNobody = UINT32_MAX;

uint64_t pair_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

BpeMerges::BpeMerges(size_t expected_count) {
    const size_t slots = std::bit_ceil(std::max(kLeastSlots, expected_count + expected_count / 2));
    slots_.assign(slots, {kEmpty, {kNoRank, 0}});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
}

// The slot that holds `pair`, or the empty one where it would be.
size_t BpeMerges::slot_of(uint64_t pair) const {
    size_t slot = home_of(pair);
    while (slots_[slot].pair != pair && slots_[slot].pair != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
}

void BpeMerges::add(int32_t left, int32_t right, Merge merge) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow();
    const uint64_t pair = pair_of(left, right);
    Slot& slot = slots_[slot_of(pair)];
    if (slot.pair == pair) return;
    slot = {pair, merge};
    ++count_;
}

void BpeMerges::grow() {
    BpeMerges larger(slots_.size());
    for (const Slot& slot : slots_)
        if (slot.pair != kEmpty) larger.slots_[larger.slot_of(slot.pair)] = slot;
    slots_.swap(larger.slots_);
    shift_ = larger.shift_;
}

BpeMerges::Merge BpeMerges::find(int32_t left, int32_t right) const {
    return slots_[slot_of(pair_of(left, right))].merge;  // of an empty slot: no rank
}

void BpeMerges::prefetch(int32_t left, int32_t right) const {
    __builtin_prefetch(&slots_[home_of(pair_of(left, right))]);
}

template <class Pairs>
void PairMerger<Pairs>::merge(std::vector<int32_t>& symbols) {
    check(symbols.size() < kNobody, "the symbols of a word have 32-bit indices");
    if (symbols.size() < 2) return;
    symbols.size() <= kShortWord ? merge_short(symbols) : merge_long(symbols);
}

template <class Pairs>
void PairMerger<Pairs>::merge_short(std::vector<int32_t>& symbols) {
    pairs_.clear();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) pairs_.push_back(merges_.find(symbols[i], symbols[i + 1]));
    while (!pairs_.empty()) {
        const auto best = std::ranges::min_element(pairs_, {}, &BpeMerges::Merge::rank);
        if (best->rank == BpeMerges::kNoRank) break;
        const size_t left = best - pairs_.begin();
        symbols[left] = best->result;
        symbols.erase(symbols.begin() + left + 1);
        pairs_.erase(best);
        if (left > 0) pairs_[left - 1] = merges_.find(symbols[left - 1], symbols[left]);
        if (left < pairs_.size()) pairs_[left] = merges_.find(symbols[left], symbols[left + 1]);
    }
}

template <class Pairs>
void PairMerger<Pairs>::merge_long(std::vector<int32_t>& symbols) {
    link(symbols);
    heap_.clear();
    for (uint32_t i = 0; i + 1 < list_.size(); ++i)
        if (list_[i].with_next.rank != BpeMerges::kNoRank)
            heap_.push_back(static_cast<uint64_t>(list_[i].with_next.rank) << 32 | i);
    std::ranges::make_heap(heap_, std::greater{});
    while (!heap_.empty()) {
        const uint64_t top = heap_.front();
        std::ranges::pop_heap(heap_, std::greater{});
        heap_.pop_back();
        const auto left = static_cast<uint32_t>(top);
        const bool is_current = list_[left].with_next.rank == top >> 32;  // else a neighbour has merged since
        if (is_current) join(left);
    }
    symbols.clear();
    for (uint32_t i = 0; i != kNobody; i = list_[i].next) symbols.push_back(list_[i].id);
}

template <class Pairs>
void PairMerger<Pairs>::link(const std::vector<int32_t>& symbols) {
    const auto count = static_cast<uint32_t>(symbols.size());
    list_.resize(count);
    for (uint32_t i = 0; i < count; ++i)
        list_[i] = {
            symbols[i], i == 0 ? kNobody : i - 1, i + 1 == count ? kNobody : i + 1,
            i + 1 == count ? BpeMerges::Merge{BpeMerges::kNoRank, 0} : merges_.find(symbols[i], symbols[i + 1])};
}

template <class Pairs>
void PairMerger<Pairs>::rank_pair(uint32_t left) {
    Symbol& symbol = list_[left];
    if (symbol.next == kNobody) {
        symbol.with_next.rank = BpeMerges::kNoRank;
        return;
    }
    symbol.with_next = merges_.find(symbol.id, list_[symbol.next].id);
    if (symbol.with_next.rank == BpeMerges::kNoRank) return;
    heap_.push_back(static_cast<uint64_t>(symbol.with_next.rank) << 32 | left);
    std::ranges::push_heap(heap_, std::greater{});
}

template <class Pairs>
void PairMerger<Pairs>::join(uint32_t left) {
    Symbol& symbol = list_[left];
    Symbol& gone = list_[symbol.next];
    symbol.id = symbol.with_next.result;
    symbol.next = gone.next;
    gone.with_next.rank = BpeMerges::kNoRank;
    if (gone.next != kNobody) list_[gone.next].previous = left;
    rank_pair(left);
    if (symbol.previous != kNobody) rank_pair(symbol.previous);
}

template class PairMerger<BpeMerges>;
template class PairMerger<ScoredPairs>;

}  // namespace riftjit::models
