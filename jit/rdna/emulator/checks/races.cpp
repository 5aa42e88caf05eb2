#include "jit/rdna/emulator/checks/races.h"

namespace riftjit::rdna::emulator::memory {

bool Clock::covers(const Clock& other) const {
    for (const Entry& entry : other.entries) {
        const Entry* mine = find(entry.wave);
        if (mine == nullptr) return false;
        for (unsigned i = 0; i < kTimes; ++i)
            if (mine->times[i] < entry.times[i]) return false;
    }
    return true;
}

void Clock::raise(uint32_t wave, const Times& times) {
    auto at = std::lower_bound(entries.begin(), entries.end(), wave,
                               [](const Entry& entry, uint32_t wanted) { return entry.wave < wanted; });
    if (at == entries.end() || at->wave != wave) at = entries.insert(at, Entry{wave, {}});
    for (unsigned i = 0; i < kTimes; ++i) at->times[i] = std::max(at->times[i], times[i]);
}

void Clock::join(const Clock& other) {
    if (entries.empty()) {
        entries = other.entries;
        return;
    }
    std::vector<Entry> joined;
    joined.reserve(entries.size() + other.entries.size());
    auto mine = entries.begin();
    for (const Entry& theirs : other.entries) {
        while (mine != entries.end() && mine->wave < theirs.wave) joined.push_back(*mine++);
        joined.push_back(theirs);
        if (mine == entries.end() || mine->wave != theirs.wave) continue;
        for (unsigned i = 0; i < kTimes; ++i) joined.back().times[i] = std::max(joined.back().times[i], mine->times[i]);
        ++mine;
    }
    joined.insert(joined.end(), mine, entries.end());
    entries = std::move(joined);
}

SharedClock join(const SharedClock& a, const SharedClock& b) {
    if (b == nullptr || a == b) return a;
    if (a == nullptr) return b;
    if (a->covers(*b)) return a;
    if (b->covers(*a)) return b;
    auto joined = std::make_shared<Clock>(*a);
    joined->join(*b);
    return joined;
}

Shadow::Page& Shadow::new_page(uint64_t index) {
    if (index >= pages_.size()) pages_.resize(index + 1);
    if (pages_[index] == nullptr) pages_[index] = std::make_unique<Page>();
    Page& page = *pages_[index];
    page.histories.fill(kUntouched);
    page.publishers.fill(0);
    page.epoch = epoch_;
    return page;
}

uint32_t Shadow::new_history() {
    uint32_t number = histories_begun_;
    if (!free_.empty()) {
        number = free_.back();
        free_.pop_back();
    } else if (++histories_begun_ > histories_.size()) {
        histories_.emplace_back();
    }
    History& history = histories_[number];
    history.serial = ++serial_;
    history.words = 0;
    return number;
}

void Shadow::forget(uint32_t history) {
    histories_[history].serial = 0;  // no step leads here any more
    free_.push_back(history);
}

void Shadow::clear() {
    ++epoch_;
    histories_begun_ = 1;
    free_.clear();
    steps_ = {};
}

}  // namespace riftjit::rdna::emulator::memory
