// Who may rely on having seen what: races, stale caches, and what orders the accesses of two waves.
#include <fmt/format.h>

#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {

// Judges one access against those remembered of the same word.
class OrderJudge {
public:
    OrderJudge(MemoryModel& model, Issue& issue, int lane, const Place& place, const AccessRecord& now,
               bool used_atomically)
        : model_(model), issue_(issue), lane_(lane), place_(place), now_(now), used_atomically_(used_atomically) {}

    // Whether `old` happened before. Reports a race, or a cache that may still hold what was there before it.
    bool ordered(const AccessRecord& old) const {
        const auto counter = old.counter();
        if (old.wave == now_.wave) {
            if (now_.kind() == AccessKind::scalar_read && writes(old.kind()) &&
                old.time > issue_.memory.scalar_clean_own[static_cast<size_t>(old.counter())])
                report_stale(old, "s_dcache_inv");
            return true;
        }
        const bool known = time(issue_.memory.seen, old.wave, counter) >= old.time || went_first_through_l0(old);
        if (!writes(old.kind()) && !writes(now_.kind())) return known;
        if (is_atomic(old.kind()) && is_atomic(now_.kind())) return known;
        if (known) {
            if (writes(old.kind()) && !writes(now_.kind())) check_caches(old);
        } else if (!may_both_be_atomic(old)) {
            report_race(old);
        }
        return known;
    }

private:
    bool same_group(const AccessRecord& old) const {
        const uint32_t waves = model_.shape.waves_per_group;
        return (old.wave - 1) / waves == (now_.wave - 1) / waves;
    }

    // What the vector memory instructions of one CU do to global memory goes through its L0 as issued, so that nobody
    // behind it need wait (LLVM AMDGPU usage guide, memory model of gfx10 to gfx12: "if CU wavefront execution mode,
    // omit"). Other workgroups see it when it is complete.
    bool went_first_through_l0(const AccessRecord& old) const {
        const bool is_scalar = old.kind() == AccessKind::scalar_read || now_.kind() == AccessKind::scalar_read;
        return model_.has_one_l0() && place_.space == Space::global && same_group(old) && !is_scalar &&
               time_issued(issue_.memory.seen, old.wave) >= old.time;
    }

    void check_caches(const AccessRecord& old) const {
        if (place_.space != Space::global || model_.configuration.caches == CacheModel::coherent) return;
        const WaveMemory& wave = issue_.memory;
        const CachePath& path = issue_.op.path;
        const auto covers = [&](const SharedClock& clock) { return time(clock, old.wave, old.counter()) >= old.time; };
        const bool gfx12 = issue_.op.generation == Generation::gfx12;
        if (now_.kind() == AccessKind::scalar_read) {
            if (!covers(wave.scalar_clean)) report_stale(old, "s_dcache_inv");
            return;
        }
        if (path.l0 && !(same_group(old) && model_.has_one_l0()) && !covers(wave.l0_clean))
            return report_stale(old, gfx12             ? "global_inv"
                                     : same_group(old) ? "buffer_gl0_inv"
                                                       : "buffer_gl1_inv, buffer_gl0_inv");
        if (!path.l0 && path.l1 && !same_group(old) && !covers(wave.l1_clean))
            report_stale(old, gfx12 ? "global_inv" : "buffer_gl1_inv");
    }

    // gfx10 and gfx11 store atomically with the instruction of any store. A plain one may be atomic if the word is used
    // so: an atomic load proves it, and so does an atomic of any kind if the store comes where a release store would.
    bool may_both_be_atomic(const AccessRecord& old) const {
        if (issue_.op.generation == Generation::gfx12 || place_.space != Space::global) return false;
        const auto could_be = [](const AccessRecord& access, AtomicStore least) {
            return is_atomic(access.kind()) || (access.kind() == AccessKind::write && access.atomic_store() >= least);
        };
        const auto loads = [](const AccessRecord& access) { return access.kind() == AccessKind::atomic_read; };
        if (loads(old) || loads(now_))
            return could_be(old, AtomicStore::possible) && could_be(now_, AtomicStore::possible);
        if (is_atomic(old.kind()) || is_atomic(now_.kind()))
            return could_be(old, AtomicStore::publishing) && could_be(now_, AtomicStore::publishing);
        return used_atomically_ && could_be(old, AtomicStore::possible) && could_be(now_, AtomicStore::possible);
    }

    std::string word_text() const {
        if (place_.space == Space::lds) return fmt::format("LDS at {:#x}", place_.offset / 4 * 4);
        return describe_address(model_, place_.region->base + place_.offset);
    }
    static std::string_view verb(const AccessRecord& access) {
        return !writes(access.kind()) ? "read" : access.kind() == AccessKind::read_modify_write ? "changed" : "written";
    }

    void report_race(const AccessRecord& old) const {
        model_.findings.report(place_.space == Space::lds ? FindingKind::lds_race : FindingKind::global_race,
                               issue_.wave, lane_,
                               fmt::format("{} is {} here and {} by {}, and nothing orders the two", word_text(),
                                           verb(now_), verb(old), describe(model_, old)));
    }
    void report_stale(const AccessRecord& old, std::string_view cure) const {
        model_.findings.report(FindingKind::stale_read, issue_.wave, lane_,
                               fmt::format("{} was {} by {}; a cache may hold the value before it, {} is missing",
                                           word_text(), verb(old), describe(model_, old), cure));
    }

    MemoryModel& model_;
    Issue& issue_;
    int lane_;
    const Place& place_;
    const AccessRecord& now_;
    bool used_atomically_;  // the word, by some access so far or this one
};

namespace {

// But for the bytes of the word.
AccessRecord access_of(const Issue& issue, const Place& place, unsigned count, AccessKind kind) {
    const WaveMemory& wave = issue.memory;
    AtomicStore atomic_store = AtomicStore::no;
    if (kind == AccessKind::write && count <= 8 && (place.offset & (count - 1)) == 0)
        atomic_store = wave.accessed_before && wave.in_flight.empty() ? AtomicStore::publishing : AtomicStore::possible;
    const Counter counter = place.space == Space::lds ? Counter::lds : issue.op.counter;
    return AccessRecord::of(wave.id, issue.token, issue.op.site, kind, counter, atomic_store);
}

// By blocks that the compiler compares as vectors.
size_t equal_at_front(std::span<const uint32_t> words, uint32_t value) {
    constexpr size_t kBlock = 8;
    size_t count = 0;
    for (; count + kBlock <= words.size(); count += kBlock) {
        uint32_t different = 0;
        for (size_t i = 0; i < kBlock; ++i) different |= words[count + i] ^ value;
        if (different != 0) break;
    }
    while (count < words.size() && words[count] == value) ++count;
    return count;
}

}  // namespace

// Words from the first of `words` on, all with its history, or that one alone where it must be reported. Returns how
// many.
size_t MemoryModel::note_words(Issue& issue, int lane, const Place& place, std::span<uint32_t> words,
                               const AccessRecord& access) {
    Shadow& shadow = place.region->shadow;
    const uint32_t before = words.front();
    std::optional<uint32_t> after = shadow.known(before, access);
    if (!after) {
        const uint64_t reported = findings.reported();
        // Another lane of this instruction has been here, and nothing was wrong.
        if (reported == issue.reported_before && shadow.is_newest(before, access)) return equal_at_front(words, before);
        const bool atomic = shadow.history(before).used_atomically || is_atomic(access.kind());
        const OrderJudge judge(*this, issue, lane, place, access, atomic);
        after = shadow.add(before, access, [&](const AccessRecord& old) { return judge.ordered(old); });
        if (findings.reported() != reported) words = words.first(1);  // each word is reported for itself
        if (findings.reported() == reported) shadow.learn(before, access, *after);
    }
    const size_t alike = equal_at_front(words, before);
    shadow.move(words.first(alike), before, *after);
    return alike;
}

void MemoryModel::note(Issue& issue, int lane, const Place& place, unsigned count, AccessKind kind) {
    const AccessRecord access = access_of(issue, place, count, kind);
    if (place.offset % 4 == 0 && count % 4 == 0) {
        const AccessRecord whole = access.to_bytes(15);
        for (uint64_t at = 0; at < count;)
            at += 4 *
                  note_words(issue, lane, place, place.region->shadow.histories(place.offset + at, count - at), whole);
        return;
    }
    for (uint64_t at = place.offset / 4 * 4; at < place.offset + count; at += 4) {
        uint32_t bytes = 15;
        if (at < place.offset) bytes &= 15u << (place.offset - at);
        if (at + 4 > place.offset + count) bytes &= 15u >> (at + 4 - place.offset - count);
        note_words(issue, lane, place, place.region->shadow.histories(at, 4), access.to_bytes(bytes));
    }
}

namespace {

// What one instruction's lanes make of the words' pasts: the step of the last lane, which mostly is that of the next,
// and the words that took it and are still to be booked. No history goes or comes in between.
class LaneSteps {
public:
    static constexpr uint32_t kNoPast = ~0u;

    explicit LaneSteps(Shadow& shadow) : shadow_(shadow) {}

    // `place`: what tells accesses of lanes apart.
    bool leads_from(uint32_t past, unsigned place) const { return past == before_ && place == place_; }
    bool leads_to(uint32_t past, unsigned place) const { return past == after_ && place == place_; }
    void begin(uint32_t before, uint32_t after, unsigned place) {
        end();
        before_ = before;
        after_ = after;
        place_ = place;
    }
    void move(std::span<uint32_t> words) {
        for (uint32_t& word : words) word = after_;
        words_ += static_cast<uint32_t>(words.size());
    }
    void end() {
        if (words_ != 0) shadow_.book(words_, before_, after_);
        words_ = 0;
        place_ = kNoPlace;
    }

private:
    static constexpr unsigned kNoPlace = ~0u;
    Shadow& shadow_;
    uint32_t before_ = 0, after_ = 0, words_ = 0;
    unsigned place_ = kNoPlace;
};

bool are_equal(std::span<const uint32_t> words) {  // few
    uint32_t different = 0;
    for (const uint32_t word : words) different |= word ^ words.front();
    return different == 0;
}

// The histories of the page that was asked for last.
class PageOfHistories {
public:
    explicit PageOfHistories(Shadow& shadow) : shadow_(shadow) {}

    std::span<uint32_t> words(uint64_t offset, uint64_t count) {
        if (offset / kBytes != number_) {
            number_ = offset / kBytes;
            words_ = shadow_.histories(number_ * kBytes, kBytes);
        }
        const uint64_t first = offset % kBytes / 4;
        return words_.subspan(first, std::min(count, words_.size() - first));
    }

private:
    static constexpr uint64_t kBytes = 4 * Shadow::kWordsPerPage;
    Shadow& shadow_;
    uint64_t number_ = ~uint64_t{0};
    std::span<uint32_t> words_;
};

}  // namespace

void MemoryModel::note_lanes(Issue& issue, const Place& place, const Lanes& lanes, AccessKind kind) {
    Shadow& shadow = place.region->shadow;
    const unsigned dwords = lanes.dwords();
    // By the byte of a pair of words that a lane begins at: lanes may share a word, and whether a pair is aligned makes
    // a difference. In all else they are alike.
    std::array<AccessRecord, 8> accesses{};
    PageOfHistories page(shadow);
    LaneSteps steps(shadow);
    uint64_t last = ~uint64_t{0};  // where a lane has been, and nothing was wrong
    const auto note_lane = [&](int lane, uint64_t offset, std::span<uint32_t> words) {
        const Place here{place.region, offset, place.space, place.allocation};
        const auto at = static_cast<unsigned>(offset % accesses.size());
        AccessRecord& access = accesses[at];
        if (access.wave == 0) {
            const uint32_t bytes = lanes.bytes < 4 ? ((1u << lanes.bytes) - 1) << offset % 4 : 15u;
            access = access_of(issue, here, lanes.bytes, kind).to_bytes(bytes);
        }
        steps.end();
        const uint32_t before = words.front();
        if (words.size() == dwords && are_equal(words)) {
            if (const std::optional<uint32_t> after = shadow.known(before, access)) {
                steps.begin(before, *after, at);
                return steps.move(words);
            }
            // Another lane has been here.
            if (findings.reported() == issue.reported_before && shadow.is_newest(before, access))
                return steps.begin(LaneSteps::kNoPast, before, at);
        }
        note(issue, lane, here, lanes.bytes, kind);
    };
    for_each_lane(lanes.active, [&](int lane) {
        const uint64_t offset = lanes.address[lane] + lanes.offset - place.region->base;
        if (offset == last) return;
        const std::span<uint32_t> words = page.words(offset, dwords);
        const auto at = static_cast<unsigned>(offset % accesses.size());
        const bool is_one = words.size() == dwords && are_equal(words),
                   clean = findings.reported() == issue.reported_before;
        if (is_one && steps.leads_from(words.front(), at))
            steps.move(words);
        else if (!is_one || !clean || !steps.leads_to(words.front(), at))
            note_lane(lane, offset, words);
        if (findings.reported() == issue.reported_before) last = offset;
    });
    steps.end();
}

void MemoryModel::note_run(Issue& issue, int first_lane, const Place& run, unsigned lanes, unsigned count,
                           AccessKind kind) {
    // Of each lane: all are aligned alike.
    const AccessRecord access = access_of(issue, run, count, kind).to_bytes(15);
    const uint64_t total = uint64_t{lanes} * count;
    for (uint64_t at = 0; at < total;) {
        const uint64_t lane = at / count;
        Place place = run;
        place.offset += lane * count;
        const std::span<uint32_t> words = run.region->shadow.histories(run.offset + at, total - at);
        at += 4 * note_words(issue, first_lane + static_cast<int>(lane), place, words, access);
    }
}

Times MemoryModel::released_by(const WaveMemory& wave) const {
    Times times = wave.done;
    if (has_one_l0()) times[kIssued] = wave.time;
    return times;
}

uint32_t MemoryModel::release_of(WaveMemory& wave) {
    if (wave.release == 0 || has_one_l0()) {
        wave.release = static_cast<uint32_t>(releases_.size());
        releases_.push_back({wave.id, released_by(wave), wave.seen});
    }
    return wave.release;
}

const SharedClock& MemoryModel::clock_of(uint32_t index) {
    Release& release = releases_[index];
    if (release.wave != 0) {
        auto clock = release.seen == nullptr ? std::make_shared<Clock>() : std::make_shared<Clock>(*release.seen);
        clock->raise(release.wave, release.done);
        release = {0, {}, std::move(clock)};
    }
    return release.seen;
}

void MemoryModel::acquire(Issue& issue, const Place& place, unsigned count) {
    for (uint64_t at = place.offset / 4 * 4; at < place.offset + count; at += 4)
        issue.acquired = join(issue.acquired, clock_of(place.region->shadow.publisher(at)));
}

// An atomic carries on what it finds published, and adds what its wave publishes.
void MemoryModel::release_and_acquire(Issue& issue, const Place& place, unsigned count) {
    if (place.space == Space::scratch) return;
    if (issue.op.returns) acquire(issue, place, count);
    for (uint64_t at = place.offset / 4 * 4; at < place.offset + count; at += 4) {
        uint32_t& publisher = place.region->shadow.publisher(at);
        const SharedClock before = clock_of(publisher), own = clock_of(issue.store->release);
        const SharedClock both = join(own, before);
        if (both == before) continue;
        if (both == own) {
            publisher = issue.store->release;
            continue;
        }
        publisher = static_cast<uint32_t>(releases_.size());
        releases_.push_back({0, {}, both});
    }
}

// Which writes of others a cached load may rely on after an invalidation: of its own workgroup all that the wave knows,
// of others what was known when the L1 was last emptied.
void MemoryModel::invalidate(Issue& issue) {
    if (!checked) return;
    WaveMemory& wave = issue.memory;
    GroupMemory& group = *wave.group;
    const MemoryAction action = issue.op.shape.action;
    if (action == MemoryAction::write_back) return;
    if (action == MemoryAction::invalidate_scalar) {
        group.scalar.invalidate();
        wave.scalar_clean = wave.seen;
        wave.scalar_clean_own = wave.done;
        return;
    }
    const bool by_scope = action == MemoryAction::invalidate_scope || action == MemoryAction::write_back_invalidate;
    constexpr uint8_t kShaderEngine = 1, kDevice = 2;
    if (by_scope ? issue.op.path.scope >= kDevice : action == MemoryAction::invalidate_l1) {
        group.l1.invalidate();
        wave.l1_clean = wave.seen;
    }
    if (by_scope ? issue.op.path.scope < kShaderEngine : action == MemoryAction::invalidate_l1) return;
    group.l0[wave.l0].invalidate();
    const uint32_t first = (wave.id - 1) / shape.waves_per_group * shape.waves_per_group + 1;
    auto own_group = std::make_shared<Clock>();
    if (wave.seen != nullptr)
        for (const Clock::Entry& entry : wave.seen->entries)
            if (entry.wave >= first && entry.wave < first + shape.waves_per_group) own_group->entries.push_back(entry);
    wave.l0_clean = join(join(wave.l0_clean, wave.l1_clean), own_group);
}

void MemoryModel::barrier_signal(WaveState& state, unsigned barrier) {
    if (!configuration.checks.races) return;
    WaveMemory& wave = *state.memory;
    const uint64_t phase = ++wave.signals[barrier];
    BarrierClock& gathered = wave.group->barriers[barrier][phase % 2];
    if (gathered.phase != phase) gathered = {phase, std::make_shared<Clock>()};
    if (wave.seen != nullptr && !gathered.clock->covers(*wave.seen)) gathered.clock->join(*wave.seen);
    gathered.clock->raise(wave.id, released_by(wave));
}

void MemoryModel::barrier_wait_done(WaveState& state, unsigned barrier) {
    if (!configuration.checks.races) return;
    WaveMemory& wave = *state.memory;
    const uint64_t phase = wave.signals[barrier];
    const BarrierClock& gathered = wave.group->barriers[barrier][phase % 2];
    if (phase == 0 || gathered.phase != phase) return;  // waits for what it never signalled; the machine reports that
    wave.seen = join(wave.seen, gathered.clock);
    wave.release = 0;
}

}  // namespace riftjit::rdna::emulator::memory
