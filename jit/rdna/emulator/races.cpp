#include "jit/rdna/emulator/races.h"

namespace riftjit::rdna::emulator::memory {

bool Clock::covers(const Clock& other) const {
    for (const Entry& entry : other.entries) {
        const Entry* mine = find(entry.wave);
        if (mine == nullptr) return false;
        for (unsigned i = 0; i < kCounters; ++i)
            if (mine->times[i] < entry.times[i]) return false;
    }
    return true;
}

void Clock::raise(uint32_t wave, const Times& times) {
    auto at = std::lower_bound(entries.begin(), entries.end(), wave,
                               [](const Entry& entry, uint32_t wanted) { return entry.wave < wanted; });
    if (at == entries.end() || at->wave != wave) at = entries.insert(at, Entry{wave, {}});
    for (unsigned i = 0; i < kCounters; ++i) at->times[i] = std::max(at->times[i], times[i]);
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
        for (unsigned i = 0; i < kCounters; ++i)
            joined.back().times[i] = std::max(joined.back().times[i], mine->times[i]);
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

}  // namespace riftjit::rdna::emulator::memory
