#include "jit/rdna/emulator/memory/memory_model.h"

#include <algorithm>
#include <atomic>

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr size_t kMostWithheld = 63;  // a counter of six bits

}  // namespace

void WithheldStore::add(Allocation& allocation, uint64_t offset, std::span<const std::byte> values,
                        const std::byte* values_undefined) {
    const bool goes_on = !pieces.empty() && pieces.back().allocation == &allocation &&
                         pieces.back().offset + pieces.back().count == offset;
    if (goes_on)
        pieces.back().count += values.size();
    else
        pieces.push_back({&allocation, offset, bytes.size(), values.size()});
    const auto is_defined = [](std::byte bits) { return bits == std::byte{0}; };
    const bool defined =
        values_undefined == nullptr || std::all_of(values_undefined, values_undefined + values.size(), is_defined);
    if (!defined) undefined.resize(bytes.size());
    bytes.insert(bytes.end(), values.begin(), values.end());
    if (!defined)
        undefined.insert(undefined.end(), values_undefined, values_undefined + values.size());
    else if (!undefined.empty())
        undefined.resize(bytes.size());
    lowest = std::min(lowest, allocation.base + offset);
    beyond_highest = std::max(beyond_highest, allocation.base + offset + values.size());
}

void WithheldStore::clear() {
    pieces.clear();
    bytes.clear();
    undefined.clear();
    lowest = ~uint64_t{0};
    beyond_highest = 0;
}

uint32_t new_site() {
    static std::atomic<uint32_t> next{1};
    return next++ & 0xFFFFF;  // as wide as AccessRecord::site
}

MemoryModel::MemoryModel(const MemoryConfiguration& configuration, Findings& findings)
    : configuration(configuration),
      checked(configuration.checks.undefined || configuration.checks.races || configuration.checks.visibility),
      findings(findings),
      map(configuration.seed),
      releases_(1),
      random_state_(configuration.seed * 0x9E3779B97F4A7C15u + 1) {
    check(!checked || configuration.host_threads <= 1, "memory checks need a single host thread");
}

void MemoryModel::begin_launch(const LaunchShape& new_shape) {
    shape = new_shape;
    counts = {};
    releases_.assign(1, {});
    for (const auto& allocation : map.allocations()) {
        allocation->shadow.clear();
        if (!shape.counts_lines)
            allocation->touched.reset();
        else if (allocation->touched != nullptr)
            allocation->touched->clear();
        else
            allocation->touched = std::make_unique<TouchedLines>(allocation->base, allocation->size);
    }
}

uint32_t MemoryModel::random(uint32_t below) {
    random_state_ ^= random_state_ << 13;
    random_state_ ^= random_state_ >> 7;
    random_state_ ^= random_state_ << 17;
    return static_cast<uint32_t>((random_state_ >> 32) * below >> 32);
}

Issue MemoryModel::begin(WaveState& wave, const MemoryOp& op) {
    Issue issue{*this, wave, *wave.memory, op};
    if (!checked) return issue;
    deliver_by_chance();
    issue.token = ++issue.memory.time;
    issue.reported_before = findings.reported();
    if (op.site >= sites.size()) sites.resize(op.site + 1);
    sites[op.site] = wave.op;
    const MemoryAction action = op.shape.action;
    const bool stores = action == MemoryAction::store && op.format != Format::DS;
    const bool publishes = stores || (action != MemoryAction::store && op.shape.atomic != AtomicOp::none);
    if (publishes) {
        if (spare_stores_.empty()) spare_stores_.push_back(std::make_unique<WithheldStore>());
        issue.store = std::move(spare_stores_.back());
        spare_stores_.pop_back();
        issue.store->release = configuration.checks.races ? release_of(issue.memory) : 0;
    }
    return issue;
}

void MemoryModel::finish(Issue& issue, MemoryEffect& effect) {
    if (!checked) return;
    WaveMemory& wave = issue.memory;
    const MemoryOp& op = issue.op;
    effect.token = issue.token;
    const auto enter = [&](Counter counter) {
        wave.in_flight.push_back({issue.token, counter});
        ++wave.outstanding[static_cast<size_t>(counter)];
    };
    enter(op.counter);
    if (op.format == Format::FLAT) enter(Counter::lds);
    if (issue.acquired != nullptr) wave.acquired.push_back({issue.token, std::move(issue.acquired)});
    if (op.format != Format::SMEM) wave.accessed_before = true;
    if (issue.store == nullptr) return;
    if (issue.store->pieces.empty() || !configuration.checks.visibility) return put(wave, std::move(issue.store));
    issue.store->token = issue.token;
    if (has_one_l0()) deliver_neighbours(wave, issue.store->lowest, issue.store->beyond_highest);
    if (wave.withheld.empty()) withholding_.push_back(&wave);
    wave.withheld.push_back(std::move(issue.store));
    if (wave.withheld.size() > kMostWithheld) deliver(wave, random(static_cast<uint32_t>(wave.withheld.size())));
}

void MemoryModel::complete(WaveMemory& wave, uint32_t token) {
    const auto store =
        std::ranges::lower_bound(wave.withheld, token, {}, [](const auto& withheld) { return withheld->token; });
    if (store != wave.withheld.end() && (*store)->token == token)
        deliver(wave, static_cast<size_t>(store - wave.withheld.begin()));
    const auto [first, last] = std::ranges::equal_range(wave.in_flight, token, {}, &InFlight::token);
    for (const InFlight& access : std::ranges::subrange(first, last))
        --wave.outstanding[static_cast<size_t>(access.counter)];
    wave.in_flight.erase(first, last);
    // A counter's accesses up to the oldest outstanding one are done.
    Times done;
    done.fill(wave.time);
    auto counters_left = std::ranges::count_if(wave.outstanding, [](uint32_t accesses) { return accesses != 0; });
    for (auto access = wave.in_flight.begin(); counters_left != 0; ++access) {
        uint32_t& time = done[static_cast<size_t>(access->counter)];
        if (time < access->token) continue;  // not the oldest of its counter
        time = access->token - 1;
        --counters_left;
    }
    wave.done = done;
    std::erase_if(wave.acquired, [&](const Acquired& access) {
        if (access.token != token) return false;
        wave.seen = join(wave.seen, access.clock);
        return true;
    });
    wave.release = 0;
}

// Stores of one wave that may touch the same bytes are delivered as they were issued, which is the order they lie in.
void MemoryModel::deliver(WaveMemory& wave, size_t index) {
    const uint64_t lowest = wave.withheld[index]->lowest, beyond_highest = wave.withheld[index]->beyond_highest;
    for (size_t older = 0; older < index;) {
        if (!wave.withheld[older]->meets(lowest, beyond_highest)) {
            ++older;
            continue;
        }
        const size_t before = wave.withheld.size();
        deliver(wave, older);
        index -= before - wave.withheld.size();
        older = 0;
    }
    std::unique_ptr<WithheldStore> store = std::move(wave.withheld[index]);
    wave.withheld.erase(wave.withheld.begin() + static_cast<ptrdiff_t>(index));
    if (wave.withheld.empty()) std::erase(withholding_, &wave);
    put(wave, std::move(store));
}

void MemoryModel::deliver_overlapping(WaveMemory& wave, uint64_t begin, uint64_t end) {
    for (size_t i = wave.withheld.size(); i-- > 0;) {
        if (!wave.withheld[i]->meets(begin, end)) continue;
        deliver(wave, i);
        i = wave.withheld.size();
    }
}

// What a load or an atomic must find: all that went through its L0 before. Scalar loads go another way.
void MemoryModel::deliver_to(const Issue& issue, uint64_t begin, uint64_t end) {
    deliver_overlapping(issue.memory, begin, end);
    if (has_one_l0() && issue.op.counter != Counter::scalar) deliver_neighbours(issue.memory, begin, end);
}

// Of the other waves of its workgroup.
void MemoryModel::deliver_neighbours(const WaveMemory& wave, uint64_t begin, uint64_t end) {
    for (size_t i = withholding_.size(); i-- > 0;) {  // those from i on may go
        WaveMemory& other = *withholding_[i];
        if (&other != &wave && other.group == wave.group) deliver_overlapping(other, begin, end);
    }
}

void MemoryModel::deliver_by_chance() {
    constexpr uint32_t kOneIn = 16;  // often enough that a wave which spins on another's store soon sees it
    if (withholding_.empty() || random(kOneIn) != 0) return;
    WaveMemory& wave = *withholding_[random(static_cast<uint32_t>(withholding_.size()))];
    deliver(wave, random(static_cast<uint32_t>(wave.withheld.size())));
}

void MemoryModel::deliver_all(WaveMemory& wave) {
    while (!wave.withheld.empty()) deliver(wave, random(static_cast<uint32_t>(wave.withheld.size())));
}

void MemoryModel::put(WaveMemory& wave, std::unique_ptr<WithheldStore> owned) {
    const WithheldStore& store = *owned;
    for (const StoredPiece& piece : store.pieces) {
        Allocation& allocation = *piece.allocation;
        const std::byte* const bytes = store.bytes.data() + piece.first;
        const std::byte* const undefined = store.undefined.empty() ? nullptr : store.undefined.data() + piece.first;
        std::memcpy(allocation.bytes + piece.offset, bytes, piece.count);
        if (configuration.checks.undefined) allocation.set_undefined(piece.offset, piece.count, undefined);
        if (configuration.checks.races)
            for (uint64_t at = piece.offset / 4 * 4; at < piece.offset + piece.count;) {
                const std::span<uint32_t> words = allocation.shadow.publishers(at, piece.offset + piece.count - at);
                std::fill(words.begin(), words.end(), store.release);
                at += 4 * words.size();
            }
        // The wave's own caches keep up with its stores; those of others go stale.
        const uint64_t address = allocation.base + piece.offset;
        for (uint64_t done = 0; done < piece.count;) {
            const uint64_t in_line = (address + done) % kCacheLineBytes;
            const uint64_t count = std::min(piece.count - done, kCacheLineBytes - in_line);
            for (LineCache* cache : {&wave.group->l0[wave.l0], &wave.group->l1})
                cache->update(address + done, bytes + done, count, undefined == nullptr ? nullptr : undefined + done);
            done += count;
        }
    }
    owned->clear();
    spare_stores_.push_back(std::move(owned));
}

}  // namespace riftjit::rdna::emulator::memory
