#include "jit/rdna/emulator/memory_model.h"

#include <algorithm>
#include <atomic>

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr size_t kMostWithheld = 63;  // a counter of six bits

}  // namespace

uint32_t new_site() {
    static std::atomic<uint32_t> next{1};
    return next++ & 0xFFFFF;  // as wide as Access::site
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
    for (const auto& allocation : map.allocations()) allocation->shadow.clear();
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
    if (op.site >= sites.size()) sites.resize(op.site + 1);
    sites[op.site] = wave.op;
    const MemoryAction action = op.shape.action;
    const bool publishes = action == MemoryAction::store ? op.format != Format::DS : op.shape.atomic != AtomicOp::none;
    if (configuration.checks.races && publishes) issue.store.release = release_of(issue.memory);
    return issue;
}

void MemoryModel::finish(Issue& issue, MemoryEffect& effect) {
    if (!checked) return;
    WaveMemory& wave = issue.memory;
    const MemoryOp& op = issue.op;
    effect.token = issue.token;
    wave.in_flight.push_back({issue.token, op.counter, std::move(issue.acquired)});
    if (op.format == Format::FLAT) wave.in_flight.push_back({issue.token, Counter::lds, nullptr});
    if (op.format != Format::SMEM) wave.accessed_before = true;
    if (issue.store.pieces.empty()) return;
    issue.store.token = issue.token;
    if (wave.withheld.empty()) withholding_.push_back(&wave);
    wave.withheld.push_back(std::move(issue.store));
    if (wave.withheld.size() > kMostWithheld) deliver(wave, random(static_cast<uint32_t>(wave.withheld.size())));
}

void MemoryModel::complete(WaveMemory& wave, uint32_t token) {
    for (size_t i = 0; i < wave.withheld.size(); ++i) {
        if (wave.withheld[i].token != token) continue;
        deliver(wave, i);
        break;
    }
    SharedClock acquired;
    std::erase_if(wave.in_flight, [&](const InFlight& access) {
        if (access.token != token) return false;
        acquired = join(acquired, access.acquired);
        return true;
    });
    // A counter's accesses up to the oldest outstanding one are done.
    Times done;
    done.fill(wave.time);
    for (const InFlight& access : wave.in_flight) {
        uint32_t& time = done[static_cast<size_t>(access.counter)];
        time = std::min(time, access.token - 1);
    }
    wave.done = done;
    wave.seen = join(wave.seen, acquired);
    wave.release = 0;
}

// Stores of one wave that may touch the same bytes are delivered as they were issued.
void MemoryModel::deliver(WaveMemory& wave, size_t index) {
    const uint32_t token = wave.withheld[index].token;
    for (size_t older = 0; older < wave.withheld.size() && wave.withheld[older].token < token;) {
        const WithheldStore& mine = *std::find_if(wave.withheld.begin(), wave.withheld.end(),
                                                  [&](const WithheldStore& store) { return store.token == token; });
        if (wave.withheld[older].meets(mine.lowest, mine.beyond_highest)) {
            deliver(wave, older);
            older = 0;
        } else {
            ++older;
        }
    }
    const auto found = std::find_if(wave.withheld.begin(), wave.withheld.end(),
                                    [&](const WithheldStore& store) { return store.token == token; });
    const WithheldStore store = std::move(*found);
    wave.withheld.erase(found);
    if (wave.withheld.empty()) std::erase(withholding_, &wave);
    for (const StoredPiece& piece : store.pieces) put(wave, piece, store.release);
}

void MemoryModel::deliver_overlapping(WaveMemory& wave, uint64_t begin, uint64_t end) {
    for (size_t i = wave.withheld.size(); i-- > 0;) {
        if (!wave.withheld[i].meets(begin, end)) continue;
        deliver(wave, i);
        i = wave.withheld.size();
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

void MemoryModel::put(WaveMemory& wave, const StoredPiece& piece, uint32_t release) {
    Allocation& allocation = *piece.allocation;
    std::memcpy(allocation.bytes + piece.offset, piece.bytes.data(), piece.count);
    if (configuration.checks.undefined) allocation.set_undefined_bytes(piece.offset, piece.count, piece.undefined);
    if (configuration.checks.races)
        for (uint64_t at = piece.offset / 4 * 4; at < piece.offset + piece.count; at += 4)
            allocation.shadow.word(at).publisher = release;
    // The wave's own caches keep up with its stores; those of others go stale.
    uint64_t address = allocation.base + piece.offset;
    for (unsigned done = 0; done < piece.count;) {
        const auto count =
            static_cast<unsigned>(std::min<uint64_t>(piece.count - done, kCacheLineBytes - address % kCacheLineBytes));
        for (LineCache* cache : {&wave.group->l0[wave.l0], &wave.group->l1})
            cache->update(address, piece.bytes.data() + done, count, piece.undefined >> done);
        address += count;
        done += count;
    }
}

}  // namespace riftjit::rdna::emulator::memory
