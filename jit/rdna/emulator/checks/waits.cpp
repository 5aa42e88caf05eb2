#include "jit/rdna/emulator/checks/waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/machine/relative.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr uint32_t kPoison = 0xFFBADBAD;  // a NaN as f32 and as two f16
constexpr size_t kMostOutstanding = 63;   // then the hardware stalls the next one
constexpr size_t index(Counter counter) { return static_cast<size_t>(counter); }

bool is_cache_write_back(Opcode opcode) { return opcode == Opcode::global_wb || opcode == Opcode::global_wbinv; }

// Atomics that give the old value back, and whatever else has a destination, count with the loads.
Counter vector_counter(const Instruction& instruction, Generation generation) {
    const InstructionInfo& row = info(instruction.opcode);
    if (is_cache_write_back(instruction.opcode) || row.memory == MemoryKind::store) return Counter::store;
    if (row.memory == MemoryKind::atomic && !returns_value(generation, instruction)) return Counter::store;
    return Counter::load;
}

}  // namespace

bool CounterUse::any() const {
    return std::any_of(raises.begin(), raises.end(), [](Arrival arrival) { return arrival != Arrival::none; });
}

CounterUse counters_of(const Instruction& instruction, Generation generation) {
    CounterUse use;
    const auto raise = [&](Counter counter, Arrival arrival) { use.raises[index(counter)] = arrival; };
    const InstructionInfo& row = info(instruction.opcode);
    const Counter scalar = generation == Generation::gfx12 ? Counter::km : Counter::ds;
    switch (row.format) {
        case Format::SMEM:
            if (row.destinations > 0) raise(scalar, Arrival::any_order);
            break;
        case Format::DS:
            raise(Counter::ds, Arrival::in_order);
            break;
        case Format::FLAT:
        case Format::GLOBAL:
        case Format::SCRATCH:
        case Format::MUBUF: {
            const bool is_buffer_invalidate = row.format == Format::MUBUF && row.memory == MemoryKind::none;
            if (is_buffer_invalidate) break;
            const Counter counter = vector_counter(instruction, generation);
            raise(counter, counter == Counter::store ? Arrival::any_order : Arrival::in_order);
            if (row.format == Format::FLAT) raise(Counter::ds, Arrival::in_order);
            break;
        }
        default:
            break;
    }
    return use;
}

namespace {

WaitRequest combined_wait(uint16_t simm, Generation generation) {
    WaitRequest request;
    unsigned load, ds, most = 63;
    if (generation == Generation::gfx10) {
        load = (simm & 15u) | (simm >> 14 & 3u) << 4;
        ds = simm >> 8 & 63u;
    } else {
        load = simm >> 10 & 63u;
        ds = simm >> 4 & 63u;
    }
    // All ones is no wait.
    if (load != most) request.at_most[index(Counter::load)] = static_cast<uint8_t>(load);
    if (ds != most) request.at_most[index(Counter::ds)] = static_cast<uint8_t>(ds);
    return request;
}

WaitRequest single_wait(Counter counter, unsigned at_most) {
    WaitRequest request;
    request.at_most[index(counter)] = static_cast<uint8_t>(at_most);
    return request;
}

WaitRequest double_wait(Counter counter, uint16_t simm) {
    WaitRequest request = single_wait(counter, simm >> 8 & 63u);
    request.at_most[index(Counter::ds)] = simm & 63u;
    return request;
}

}  // namespace

WaitRequest wait_of(const Instruction& instruction, Generation generation) {
    const uint16_t simm = instruction.simm16;
    switch (instruction.opcode) {
        case Opcode::s_waitcnt:
            return combined_wait(simm, generation);
        case Opcode::s_waitcnt_vmcnt:
            return single_wait(Counter::load, simm & 63u);
        case Opcode::s_waitcnt_vscnt:
            return single_wait(Counter::store, simm & 63u);
        case Opcode::s_waitcnt_lgkmcnt:
            return single_wait(Counter::ds, simm & 63u);
        case Opcode::s_wait_loadcnt:
            return single_wait(Counter::load, simm & 63u);
        case Opcode::s_wait_storecnt:
            return single_wait(Counter::store, simm & 63u);
        case Opcode::s_wait_dscnt:
            return single_wait(Counter::ds, simm & 63u);
        case Opcode::s_wait_kmcnt:
            return single_wait(Counter::km, simm & 31u);
        case Opcode::s_wait_loadcnt_dscnt:
            return double_wait(Counter::load, simm);
        case Opcode::s_wait_storecnt_dscnt:
            return double_wait(Counter::store, simm);
        case Opcode::s_wait_idle:
            return {.at_most = {0, 0, 0, 0}};
        default:
            return {};
    }
}

void WaitTracker::check_pending(WaveState& wave, const Op& op) {
    const OpChecks& checks = *op.checks;
    RegisterSet reads = checks.footprint.reads, writes = checks.footprint.writes;
    if (info(op.instruction.opcode).relative) {
        const RelativeRanges chosen = relative_ranges(wave, op.instruction);
        reads = chosen.reads(), writes = chosen.writes();
        reads.add_scalars(m0_register(wave.generation).code, 1);
    }
    const RegisterSet read = pending_ & reads;
    const auto text = [](const RegisterSet& set) {
        return set.first_vgpr() >= 0 ? fmt::format("v{}", set.first_vgpr())
                                     : scalar_name(static_cast<unsigned>(set.first_scalar()));
    };
    if (!read.empty())
        wave.findings->report(FindingKind::use_before_wait, wave, kNoLane,
                              fmt::format("{} is read while its load is outstanding", text(read)));
    const RegisterSet written = pending_ & writes;
    if (!written.empty() && !arrives_after(wave, op, checks.loaded))
        wave.findings->report(FindingKind::overwrite_before_wait, wave, kNoLane,
                              fmt::format("{} is written while an older load into it is outstanding", text(written)));
}

// Two loads into one register are no fault where the second is sure to come second: both counted in order by the same
// counter. VMEM of gfx12 does not promise it (SIInsertWaitcnts.cpp, hasVmemWriteVgprInOrder), nor does a second load
// through FLAT, which may go to LDS though the first went to memory.
bool WaitTracker::arrives_after(const WaveState& wave, const Op& op, OperandRange range) const {
    if (info(op.instruction.opcode).format == Format::FLAT) return false;
    for (size_t counter = 0; counter < kCounters; ++counter) {
        const Arrival arrival = op.checks->counters.raises[counter];
        if (arrival == Arrival::none) continue;
        if (arrival == Arrival::any_order) return false;
        if (wave.generation == Generation::gfx12 && counter == index(Counter::load)) return false;
        // Every older load of these registers must be in this queue, in order.
        for (size_t other = 0; other < kCounters; ++other)
            for (const Entry& entry : queues_[other]) {
                const OperandRange& older = entry.access->destination;
                const bool overlaps = older.count > 0 && range.count > 0 && older.scalar == range.scalar &&
                                      older.first < range.first + range.count &&
                                      range.first < older.first + older.count;
                if (overlaps && (other != counter || entry.arrival != Arrival::in_order)) return false;
            }
        return true;
    }
    return false;
}

PendingResult* WaitTracker::take_access() {
    if (free_.empty()) {
        accesses_.push_back(std::make_unique<PendingResult>());
        return accesses_.back().get();
    }
    PendingResult* access = free_.back();
    free_.pop_back();
    return access;
}

void WaitTracker::issue(WaveState& wave, const Op& op, MemorySystem& memory, Delivery delivery) {
    const OpChecks& checks = *op.checks;
    PendingResult* access = take_access();
    access->destination = checks.loaded;
    const size_t words = checks.loaded.count * (checks.loaded.scalar ? 1u : wave.lanes);
    if (access->values.size() < words) access->values.resize(words);
    MemoryEffect effect{.values = access->values.data()};
    if (wave.vgpr_undefined) {
        access->undefined.assign(words, 0);
        effect.undefined = access->undefined.data();
    }
    memory.execute(wave, op.memory, effect);
    access->lanes = effect.lanes;
    access->bits = effect.bits;
    access->token = effect.token;
    const InstructionInfo& row = info(op.instruction.opcode);
    access->is_scratch_store = row.format == Format::SCRATCH && row.memory == MemoryKind::store;
    if (delivery == Delivery::at_once) {
        deliver(wave, *access);
        access->destination = {};
    }
    enqueue(wave, access, checks.counters, &memory);
}

void WaitTracker::issue_scalar(WaveState& wave, Counter counter, OperandRange destination, uint64_t value,
                               Delivery delivery) {
    PendingResult* access = take_access();
    access->destination = destination;
    access->values.resize(std::max<size_t>(access->values.size(), 2));
    access->values[0] = static_cast<uint32_t>(value);
    access->values[1] = static_cast<uint32_t>(value >> 32);
    access->undefined.assign(2, 0);
    access->lanes = 1;
    access->bits = ~0u;
    access->is_scratch_store = false;
    access->token = 0;
    if (delivery == Delivery::at_once) {
        deliver(wave, *access);
        access->destination = {};
    }
    CounterUse use;
    use.raises[index(counter)] = Arrival::any_order;
    enqueue(wave, access, use, nullptr);
}

void WaitTracker::enqueue(WaveState& wave, PendingResult* access, const CounterUse& use, MemorySystem* memory) {
    access->counters_left = 0;
    for (size_t counter = 0; counter < kCounters; ++counter) {
        if (use.raises[counter] == Arrival::none) continue;
        std::vector<Entry>& queue = queues_[counter];
        if (queue.size() >= kMostOutstanding) {
            const Entry oldest = queue.front();
            queue.erase(queue.begin());
            leave_queue(wave, oldest, memory);
        }
        queue.push_back({access, use.raises[counter]});
        ++access->counters_left;
    }
    if (access->counters_left == 0) {
        free_.push_back(access);
        return;
    }
    if (access->destination.count > 0) hold_back(wave, *access);
}

namespace {

bool replaces_registers(const WaveState& wave, const PendingResult& access) {
    return access.lanes == wave.all_lanes() && access.bits == ~0u;
}

}  // namespace

void WaitTracker::hold_back(WaveState& wave, PendingResult& access) {
    const OperandRange& range = access.destination;
    set_pending(range, 1);
    if (range.scalar) {
        for (unsigned i = 0; i < range.count; ++i) {
            wave.scalars[range.first + i] = kPoison;
            mark_scalar(wave, range.first + i, 0);
        }
        return;
    }
    for (unsigned i = 0; i < range.count; ++i) {
        uint32_t* const lanes = wave.vgpr(range.first + i);
        if (replaces_registers(wave, access)) std::fill_n(lanes, wave.lanes, kPoison);
        for (uint64_t left = replaces_registers(wave, access) ? 0 : access.lanes; left; left &= left - 1) {
            uint32_t& word = lanes[std::countr_zero(left)];
            word = (word & ~access.bits) | (kPoison & access.bits);
        }
        if (wave.vgpr_undefined) mark_defined(wave, range.first + i, access.lanes, access.bits);
    }
}

void WaitTracker::set_pending(OperandRange range, int change) {
    for (unsigned r = range.first; r < range.first + unsigned{range.count}; ++r) {
        uint8_t& count = range.scalar ? pending_scalars_[r & 127] : pending_vgprs_[r & 255];
        count = static_cast<uint8_t>(count + change);
        const bool is_pending = count > 0;
        if (range.scalar)
            is_pending ? pending_.add_scalars(r, 1) : pending_.remove_scalar(r);
        else
            is_pending ? pending_.add_vgprs(r, 1) : pending_.remove_vgpr(r);
    }
}

void WaitTracker::deliver(WaveState& wave, PendingResult& access) {
    const OperandRange& range = access.destination;
    if (range.scalar) {
        for (unsigned i = 0; i < range.count; ++i) {
            if (range.first + i == null_register(wave.generation).code) continue;
            wave.scalars[range.first + i] = access.values[i];
            if (wave.vgpr_undefined) mark_scalar(wave, range.first + i, access.undefined[i]);
        }
        return;
    }
    for (unsigned i = 0; i < range.count; ++i) {
        const uint32_t* const values = access.values.data() + i * wave.lanes;
        uint32_t* const lanes = wave.vgpr(range.first + i);
        if (replaces_registers(wave, access)) std::copy_n(values, wave.lanes, lanes);
        for (uint64_t left = replaces_registers(wave, access) ? 0 : access.lanes; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            lanes[lane] = (lanes[lane] & ~access.bits) | (values[lane] & access.bits);
        }
        if (wave.vgpr_undefined)
            mark_lanes(wave, range.first + i, access.lanes, access.bits, access.undefined.data() + i * wave.lanes);
    }
}

void WaitTracker::leave_queue(WaveState& wave, Entry entry, MemorySystem* memory) {
    PendingResult& access = *entry.access;
    if (--access.counters_left > 0) return;
    if (access.destination.count > 0) {
        deliver(wave, access);
        set_pending(access.destination, -1);
    }
    if (access.token && memory) memory->complete(wave, access.token);
    free_.push_back(&access);
}

// An operation in order that were still outstanding would keep all later ones of its kind outstanding too, so it is
// done if these are more than the wait allows. One in any order is done only if nothing is left.
void WaitTracker::wait(WaveState& wave, const WaitRequest& request, MemorySystem& memory) {
    for (size_t counter = 0; counter < kCounters; ++counter) {
        const unsigned at_most = request.at_most[counter];
        std::vector<Entry>& queue = queues_[counter];
        if (at_most == kNoWait || queue.size() <= at_most) continue;
        size_t in_order = 0;
        for (const Entry& entry : queue) in_order += entry.arrival == Arrival::in_order;
        size_t kept = 0;
        for (size_t i = 0; i < queue.size(); ++i) {
            const bool is_done = at_most == 0 || (queue[i].arrival == Arrival::in_order && at_most < in_order);
            if (queue[i].arrival == Arrival::in_order) --in_order;
            if (is_done)
                leave_queue(wave, queue[i], &memory);
            else
                queue[kept++] = queue[i];
        }
        queue.resize(kept);
    }
}

bool WaitTracker::has_scratch_store() const {
    return std::ranges::any_of(queues_[index(Counter::store)],
                               [](const Entry& entry) { return entry.access->is_scratch_store; });
}

void WaitTracker::reset() {
    for (std::vector<Entry>& queue : queues_) queue.clear();
    free_.clear();
    for (const std::unique_ptr<PendingResult>& access : accesses_) free_.push_back(access.get());
    pending_ = {};
    pending_vgprs_.fill(0);
    pending_scalars_.fill(0);
}

}  // namespace riftjit::rdna::emulator
