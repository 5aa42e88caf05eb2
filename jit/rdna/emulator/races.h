// Which accesses of different waves are ordered: vector clocks, and a shadow of memory that remembers the accesses a
// later one may conflict with (the FastTrack idea of Flanagan and Freund, PLDI 2009, extended by what a GPU's counters
// and caches leave open).
//
// Each wave numbers its memory instructions: its time. An access of wave w at time t happened before something that
// wave v does if v's clock holds at least t for w. Program order alone does not publish an access: it must also be
// complete, which a wait on the counter that it raised proves. So a clock keeps four times per wave, one per counter,
// and a wave that releases (barrier, atomic, flag store) passes on only what its waits have completed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace riftjit::rdna::emulator::memory {

// Which counter proves an access complete (facts: vmcnt/loadcnt, vscnt/storecnt, lgkmcnt/dscnt, lgkmcnt/kmcnt).
enum class Counter : uint8_t { load, store, lds, scalar };
inline constexpr unsigned kCounters = 4;
using Times = std::array<uint32_t, kCounters>;  // by Counter

inline constexpr uint32_t kAlways = ~0u;

struct Clock {
    struct Entry {
        uint32_t wave;
        Times times;
    };
    std::vector<Entry> entries;  // by wave, ascending

    const Entry* find(uint32_t wave) const {
        const auto at = std::lower_bound(entries.begin(), entries.end(), wave,
                                         [](const Entry& entry, uint32_t wanted) { return entry.wave < wanted; });
        return at != entries.end() && at->wave == wave ? &*at : nullptr;
    }
    uint32_t time(uint32_t wave, Counter counter) const {
        const Entry* entry = find(wave);
        return entry == nullptr ? 0 : entry->times[static_cast<size_t>(counter)];
    }
    bool covers(const Clock& other) const;  // join(other) would change nothing
    void raise(uint32_t wave, const Times& times);
    void join(const Clock& other);
};
using SharedClock = std::shared_ptr<const Clock>;  // never changed once shared; null: empty

SharedClock join(const SharedClock& a, const SharedClock& b);
inline uint32_t time(const SharedClock& clock, uint32_t wave, Counter counter) {
    return clock == nullptr ? 0 : clock->time(wave, counter);
}

// What an access is to others. Atomics never race with each other.
enum class AccessKind : uint8_t { read, scalar_read, write, atomic_read, atomic_write, read_modify_write };
constexpr bool writes(AccessKind kind) {
    return kind == AccessKind::write || kind == AccessKind::atomic_write || kind == AccessKind::read_modify_write;
}
constexpr bool is_atomic(AccessKind kind) { return kind >= AccessKind::atomic_read; }

// On gfx10 and gfx11 an atomic store looks like any other; how likely is it one? possible: aligned, one word or pair.
// publishing: moreover its wave has accessed memory before and completed all of it, as a release does.
enum class AtomicStore : uint8_t { no, possible, publishing };

struct Access {
    uint32_t wave = 0;  // within the launch, plus one; 0: none
    uint32_t time = 0;
    uint32_t site : 20 = 0;  // which instruction
    uint32_t bytes : 4 = 0;  // of the word
    uint32_t kind : 3 = 0;
    uint32_t counter : 2 = 0;
    uint32_t atomic_store : 2 = 0;  // AtomicStore

    AccessKind access_kind() const { return static_cast<AccessKind>(kind); }
};

// The accesses of one 4-byte word that a later one may conflict with.
struct ShadowWord {
    std::array<Access, 2> recent;
    uint32_t more : 31 = 0;            // 1 + index of a list in Shadow: what does not fit in `recent`
    uint32_t used_atomically : 1 = 0;  // by some access so far
    uint32_t publisher = 0;            // which release the newest visible value carries (MemoryModel); 0: none
};

// Of a region. Pages come into being when touched.
class Shadow {
public:
    static constexpr uint64_t kWordsPerPage = 256;

    ShadowWord& word(uint64_t offset) {
        const uint64_t index = offset / 4, page = index / kWordsPerPage;
        if (page >= pages_.size()) pages_.resize(page + 1);
        if (pages_[page] == nullptr) pages_[page] = std::make_unique<Page>();
        return (*pages_[page])[index % kWordsPerPage];
    }
    // The words of the 4-byte aligned bytes from `offset` on, up to `bytes` of them or the end of the page.
    std::span<ShadowWord> words(uint64_t offset, uint64_t bytes) {
        const uint64_t in_page = offset / 4 % kWordsPerPage;
        return {&word(offset), static_cast<size_t>(std::min((bytes + 3) / 4, kWordsPerPage - in_page))};
    }
    std::vector<Access>& more(ShadowWord& word) {
        if (word.more == 0) {
            lists_.emplace_back();
            word.more = static_cast<uint32_t>(lists_.size()) & 0x7FFFFFFF;
        }
        return lists_[word.more - 1];
    }
    void clear() {
        pages_.clear();
        lists_.clear();
    }

private:
    using Page = std::array<ShadowWord, kWordsPerPage>;
    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<std::vector<Access>> lists_;
};

// What remember() does where all that is remembered of the word is the wave's own: nothing then needs to be judged.
// False, with nothing changed, if that is not all that there is to it.
inline bool remember_own(ShadowWord& word, const Access& access) {
    const AccessKind kind = access.access_kind();
    if (word.more != 0 || is_atomic(kind) || kind == AccessKind::scalar_read) return false;
    std::array<bool, 2> free;
    for (size_t i = 0; i < free.size(); ++i) {
        const Access& old = word.recent[i];
        if (old.wave != 0 && old.wave != access.wave) return false;
        free[i] = old.wave == 0 || ((old.bytes & access.bytes) != 0 && (old.bytes & ~access.bytes) == 0 &&
                                    (writes(kind) || !writes(old.access_kind())));
    }
    if (!free[0] && !free[1]) return false;
    word.recent[free[0] ? 0 : 1] = access;
    if (free[0] && free[1]) word.recent[1] = {};
    return true;
}

// Calls ordered(earlier) for each remembered access that touches the same bytes; then remembers
// `access`, dropping what it makes superfluous: an access that is ordered before it, covers no other bytes and is not
// stronger. `ordered` returns whether the earlier access happened before this one; it reports when it must.
template <class Ordered>
void remember(Shadow& shadow, ShadowWord& word, const Access& access, const Ordered& ordered) {
    const auto superseded = [&](const Access& old) {
        if (old.wave == 0) return true;
        const bool overlap = (old.bytes & access.bytes) != 0;
        const bool known = overlap && ordered(old);
        if (!known || (old.bytes & ~access.bytes) != 0) return false;
        // A write outlasts later reads, since a third wave's read must be ordered after it too; and a plain access
        // outlasts atomic ones, which a third wave's atomic need not be ordered with.
        if (is_atomic(access.access_kind()) && !is_atomic(old.access_kind())) return false;
        return writes(access.access_kind()) || !writes(old.access_kind());
    };
    bool stored = false;
    for (Access& slot : word.recent) {
        if (slot.wave != 0 && !superseded(slot)) continue;
        slot = stored ? Access{} : access;
        stored = true;
    }
    if (word.more != 0) {
        std::vector<Access>& list = shadow.more(word);
        std::erase_if(list, superseded);
    }
    if (stored) return;
    std::vector<Access>& list = shadow.more(word);
    list.push_back(access);
    // Thousands of waves may read one word, or count in it. A conflict with any of them shows in those remembered.
    constexpr size_t kMostRemembered = 14;
    if (list.size() <= kMostRemembered) return;
    const auto oldest = std::find_if(list.begin(), list.end(),
                                     [](const Access& old) { return old.access_kind() != AccessKind::write; });
    if (oldest != list.end()) list.erase(oldest);
}

}  // namespace riftjit::rdna::emulator::memory
