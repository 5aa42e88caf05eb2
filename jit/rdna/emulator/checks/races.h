// Which accesses of different waves are ordered: vector clocks, and a shadow of memory that remembers the accesses a
// later one may conflict with (the FastTrack idea of Flanagan and Freund, PLDI 2009, extended by what a GPU's counters
// and caches leave open).
//
// Each wave numbers its memory instructions: its time. An access of wave w at time t happened before something that
// wave v does if v's clock holds at least t for w. Program order alone does not publish an access: it must also be
// complete, which a wait on the counter that it raised proves. So a clock keeps four times per wave, one per counter,
// and a wave that releases (barrier, atomic, flag store) passes on only what its waits have completed. A fifth time
// says what it had issued: in CU mode a workgroup's waves need no more of each other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace riftjit::rdna::emulator::memory {

// Which counter proves an access complete (facts: vmcnt/loadcnt, vscnt/storecnt, lgkmcnt/dscnt, lgkmcnt/kmcnt).
enum class Counter : uint8_t { load, store, lds, scalar };
inline constexpr unsigned kCounters = 4;
inline constexpr unsigned kIssued = kCounters, kTimes = kCounters + 1;
using Times = std::array<uint32_t, kTimes>;  // by Counter, then kIssued

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
    uint32_t time(uint32_t wave, unsigned which) const {
        const Entry* entry = find(wave);
        return entry == nullptr ? 0 : entry->times[which];
    }
    bool covers(const Clock& other) const;  // join(other) would change nothing
    void raise(uint32_t wave, const Times& times);
    void join(const Clock& other);
};
using SharedClock = std::shared_ptr<const Clock>;  // never changed once shared; null: empty

SharedClock join(const SharedClock& a, const SharedClock& b);
inline uint32_t time(const SharedClock& clock, uint32_t wave, Counter counter) {
    return clock == nullptr ? 0 : clock->time(wave, static_cast<unsigned>(counter));
}
inline uint32_t time_issued(const SharedClock& clock, uint32_t wave) {
    return clock == nullptr ? 0 : clock->time(wave, kIssued);
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

// Its last word is put together in a register: bit-fields that are stored one by one stall whoever reads them as a
// word.
struct AccessRecord {
    uint32_t wave = 0;  // within the launch, plus one; 0: none
    uint32_t time = 0;
    uint32_t what = 0;  // from bit 0: site (which instruction), bytes of the word, kind, counter, AtomicStore

    static constexpr unsigned kSiteBits = 20, kBytesAt = kSiteBits, kKindAt = 24, kCounterAt = 27, kAtomicStoreAt = 29;

    static constexpr AccessRecord of(uint32_t wave, uint32_t time, uint32_t site, AccessKind kind, Counter counter,
                                     AtomicStore atomic_store) {
        return {wave, time,
                site | static_cast<uint32_t>(kind) << kKindAt | static_cast<uint32_t>(counter) << kCounterAt |
                    static_cast<uint32_t>(atomic_store) << kAtomicStoreAt};
    }
    constexpr AccessRecord to_bytes(uint32_t bytes) const {
        return {wave, time, (what & ~(15u << kBytesAt)) | bytes << kBytesAt};
    }

    constexpr uint32_t site() const { return what & ((1u << kSiteBits) - 1); }
    constexpr uint32_t bytes() const { return what >> kBytesAt & 15; }
    constexpr AccessKind kind() const { return static_cast<AccessKind>(what >> kKindAt & 7); }
    constexpr Counter counter() const { return static_cast<Counter>(what >> kCounterAt & 3); }
    constexpr AtomicStore atomic_store() const { return static_cast<AtomicStore>(what >> kAtomicStoreAt & 3); }
    bool operator==(const AccessRecord& other) const {
        return ((wave ^ other.wave) | (time ^ other.time) | (what ^ other.what)) == 0;
    }
};

// The accesses of a 4-byte word that a later one may conflict with, oldest first. Mostly few, and then all of it is one
// line of the host's cache.
class alignas(64) History {
public:
    std::span<const AccessRecord> accesses() const {
        return count_ <= few_.size() ? std::span(few_).first(count_) : std::span<const AccessRecord>(*many_);
    }
    void assign(std::span<const AccessRecord> accesses) {
        count_ = static_cast<uint32_t>(accesses.size());
        if (count_ <= few_.size()) {
            std::copy(accesses.begin(), accesses.end(), few_.begin());
            return;
        }
        if (many_ == nullptr) many_ = std::make_unique<std::vector<AccessRecord>>();
        many_->assign(accesses.begin(), accesses.end());
    }

    uint64_t serial = 0;  // differs for each history that ever was
    uint32_t words = 0;   // that have this past

private:
    uint32_t count_ = 0;
    std::array<AccessRecord, 3> few_{};
    std::unique_ptr<std::vector<AccessRecord>> many_;

public:
    bool used_atomically = false;  // by some access so far
};

// Of a region. An instruction mostly goes to many words with one past between them, so a word holds the number of a
// history that it shares, and what an access makes of a history is worked out once for all words that have it. Pages
// come into being when touched.
class Shadow {
public:
    static constexpr uint64_t kWordsPerPage = 256;
    static constexpr uint32_t kUntouched = 0;  // the history of a word that nobody has accessed

    // Of the 4-byte words from `offset` on, up to `bytes` of them or the end of the page: the numbers of their
    // histories, and which release the newest visible value carries (MemoryModel; 0: none does).
    std::span<uint32_t> histories(uint64_t offset, uint64_t bytes) {
        return part(page(offset).histories, offset, bytes);
    }
    std::span<uint32_t> publishers(uint64_t offset, uint64_t bytes) {
        return part(page(offset).publishers, offset, bytes);
    }
    uint32_t& publisher(uint64_t offset) { return publishers(offset, 4).front(); }
    const History& history(uint32_t number) const { return histories_[number]; }
    bool is_newest(uint32_t number, const AccessRecord& access) const {
        const std::span<const AccessRecord> accesses = histories_[number].accesses();
        return !accesses.empty() && accesses.back() == access;
    }

    // The history after `access`: calls ordered(earlier) for each remembered access that touches the same bytes, and
    // drops what `access` makes superfluous: an access that is ordered before it, covers no other bytes and is not
    // stronger. `ordered` returns whether the earlier access happened before this one; it reports when it must.
    template <class Ordered>
    uint32_t add(uint32_t before, const AccessRecord& access, const Ordered& ordered);
    // What add() gave for the same access before, if learn() was told.
    std::optional<uint32_t> known(uint32_t before, const AccessRecord& access) const {
        const Step& step = steps_[before % steps_.size()];
        const bool applies = step.before == before && step.before_serial == histories_[before].serial &&
                             step.after_serial == histories_[step.after].serial && step.access == access;
        return applies ? std::optional(step.after) : std::nullopt;
    }
    void learn(uint32_t before, const AccessRecord& access, uint32_t after) {
        Step& step = steps_[before % steps_.size()];
        step.before = before;
        step.after = after;
        step.before_serial = histories_[before].serial;
        step.after_serial = histories_[after].serial;
        step.access = access;
    }
    // `words`, which all have the history `before`, get `after`.
    void move(std::span<uint32_t> words, uint32_t before, uint32_t after) {
        std::fill(words.begin(), words.end(), after);
        book(static_cast<uint32_t>(words.size()), before, after);
    }
    // That words have moved, where they have been changed already.
    void book(uint32_t count, uint32_t before, uint32_t after) {
        histories_[after].words += count;
        if (before != kUntouched && (histories_[before].words -= count) == 0) forget(before);
    }
    void clear();

private:
    struct Page {
        std::array<uint32_t, kWordsPerPage> histories{}, publishers{};
        uint64_t epoch = 0;
    };
    struct Step {
        uint32_t before = 0, after = 0;
        uint64_t before_serial = 0, after_serial = 0;
        AccessRecord access{};
    };

    static std::span<uint32_t> part(std::span<uint32_t> words, uint64_t offset, uint64_t bytes) {
        const uint64_t in_page = offset / 4 % kWordsPerPage;
        return words.subspan(in_page, std::min((bytes + 3) / 4, kWordsPerPage - in_page));
    }
    Page& page(uint64_t offset) {
        const uint64_t index = offset / 4 / kWordsPerPage;
        if (index < pages_.size() && pages_[index] != nullptr && pages_[index]->epoch == epoch_) return *pages_[index];
        return new_page(index);
    }
    Page& new_page(uint64_t index);
    uint32_t new_history();
    void forget(uint32_t history);

    std::vector<std::unique_ptr<Page>> pages_;
    uint64_t epoch_ = 1;  // pages of earlier ones count as untouched
    std::vector<History> histories_ = std::vector<History>(1);
    uint32_t histories_begun_ = 1;  // those from here on wait to be used
    std::vector<uint32_t> free_;    // and so do these
    uint64_t serial_ = 0;
    std::array<Step, 64> steps_{};
    std::vector<AccessRecord> kept_;  // by add()
};

// Whether `access`, where it comes after `old`, leaves nothing that `old` would still be needed for.
inline bool supersedes(const AccessRecord& access, const AccessRecord& old) {
    if ((old.bytes() & ~access.bytes()) != 0) return false;
    // A write outlasts later reads, since a third wave's read must be ordered after it too; and a plain access
    // outlasts atomic ones, which a third wave's atomic need not be ordered with.
    if (is_atomic(access.kind()) && !is_atomic(old.kind())) return false;
    return writes(access.kind()) || !writes(old.kind());
}

template <class Ordered>
uint32_t Shadow::add(uint32_t before, const AccessRecord& access, const Ordered& ordered) {
    const uint32_t after = new_history();
    const History& past = histories_[before];
    kept_.clear();
    for (const AccessRecord& old : past.accesses()) {
        const bool overlaps = (old.bytes() & access.bytes()) != 0;
        const bool known = overlaps && ordered(old);
        if (!known || !supersedes(access, old)) kept_.push_back(old);
    }
    kept_.push_back(access);
    // Thousands of waves may read one word, or count in it. A conflict with any of them shows in those remembered.
    constexpr size_t kMostRemembered = 16;
    const auto oldest =
        std::ranges::find_if(kept_, [](const AccessRecord& old) { return old.kind() != AccessKind::write; });
    if (kept_.size() > kMostRemembered && oldest != kept_.end()) kept_.erase(oldest);
    histories_[after].assign(kept_);
    histories_[after].used_atomically = past.used_atomically || is_atomic(access.kind());
    return after;
}

}  // namespace riftjit::rdna::emulator::memory
