// Waits for memory: forward over the control flow, what is outstanding and how many younger operations each counter
// holds, to a fixed point; then the weakest wait that each instruction needs (LLVM AMDGPU backend, SIInsertWaitcnts,
// follows the same rules).
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

constexpr uint8_t kNoWait = 255;
// One below what the counters hold: a wait for a full counter would not be seen as one.
constexpr uint8_t kMaxYounger = 62;

struct Outstanding {
    uint8_t younger;  // operations of the counter that were surely issued after it
    bool in_order;
    bool operator==(const Outstanding&) const = default;
};

struct CounterState {
    std::map<uint16_t, Outstanding> registers;  // that an outstanding operation will write
    bool any = false;                           // operations may be outstanding
    bool unordered = false;                     // some of them may come back in any order
    bool lds = false;                           // some of them are LDS operations
    bool operator==(const CounterState&) const = default;

    void merge(const CounterState& other) {
        for (const auto& [code, theirs] : other.registers) {
            const auto [found, is_new] = registers.emplace(code, theirs);
            if (is_new) continue;
            found->second.younger = std::min(found->second.younger, theirs.younger);
            found->second.in_order &= theirs.in_order;
        }
        any |= other.any;
        unordered |= other.unordered;
        lds |= other.lds;
    }

    uint8_t needed_for(RegisterRange range) const {
        uint8_t needed = kNoWait;
        for (auto i = registers.lower_bound(range.first); i != registers.end() && range.contains(i->first); ++i)
            needed = std::min(needed, i->second.in_order && !unordered ? i->second.younger : uint8_t{0});
        return needed;
    }

    void wait(uint8_t count) {
        if (count == 0) {
            *this = {};
            return;
        }
        if (unordered) return;
        std::erase_if(registers, [&](const auto& entry) { return entry.second.younger >= count; });
    }
};

using Counts = std::array<uint8_t, kCounterCount>;
using State = std::array<CounterState, kCounterCount>;

class WaitInserter {
public:
    explicit WaitInserter(Program& program)
        : program_(program), generation_(generation(program.target)), blocks_(control_flow(program)) {}

    void run() {
        find_states();
        insert();
    }

private:
    Effects effects_of(const Line& line) const {
        return effects(program_.target, program_.wave_size, line.instruction);
    }

    // Two loads into one register come back in the order of issue, except on gfx12; LDS is never trusted with it.
    bool overwrites_in_order(const MemoryEvents& events) const {
        return generation_ != Generation::gfx12 && events.in_order && events.raises == CounterSet{Counter::load};
    }

    Counts needs(const Line& line, const State& state) const {
        Counts counts;
        counts.fill(kNoWait);
        const Effects effects = effects_of(line);
        const MemoryEvents events = memory_events(generation_, line.instruction);
        for (unsigned c = 0; c < kCounterCount; ++c) {
            for (const RegisterRange range : effects.reads) counts[c] = std::min(counts[c], state[c].needed_for(range));
            const bool is_load = static_cast<Counter>(c) == Counter::load;
            if (!(is_load && overwrites_in_order(events) && !state[c].unordered))
                for (const RegisterRange range : effects.writes)
                    counts[c] = std::min(counts[c], state[c].needed_for(range));
            const bool is_ds = static_cast<Counter>(c) == Counter::ds;
            if (line.drain.has(static_cast<Counter>(c)) && (is_ds ? state[c].lds : state[c].any)) counts[c] = 0;
        }
        return counts;
    }

    void issue(const Line& line, State& state) const {
        const MemoryEvents events = memory_events(generation_, line.instruction);
        for (unsigned c = 0; c < kCounterCount; ++c) {
            if (!events.raises.has(static_cast<Counter>(c))) continue;
            CounterState& counter = state[c];
            for (auto& [code, entry] : counter.registers)
                entry.younger = std::min<uint8_t>(entry.younger + 1, kMaxYounger);
            counter.any = true;
            counter.unordered |= !events.in_order;
            const Format format = info(line.instruction.opcode).format;
            counter.lds |= format == Format::DS || format == Format::FLAT;
            for (const RegisterRange range : effects_of(line).writes)
                for (uint16_t i = 0; i < range.count; ++i)
                    counter.registers[static_cast<uint16_t>(range.first + i)] = {0, events.in_order};
        }
    }

    void step(const Line& line, State& state) const {
        const Counts counts = needs(line, state);
        for (unsigned c = 0; c < kCounterCount; ++c)
            if (counts[c] != kNoWait) state[c].wait(counts[c]);
        issue(line, state);
    }

    void find_states() {
        at_entry_.assign(blocks_.size(), {});
        std::vector<bool> reached(blocks_.size(), false);
        reached[0] = true;
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t b = 0; b < blocks_.size(); ++b) {
                if (!reached[b]) continue;
                State state = at_entry_[b];
                for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) step(program_.lines[i], state);
                for (const size_t next : blocks_[b].successors) {
                    State merged = at_entry_[next];
                    for (unsigned c = 0; c < kCounterCount; ++c) merged[c].merge(state[c]);
                    if (reached[next] && merged == at_entry_[next]) continue;
                    at_entry_[next] = std::move(merged);
                    reached[next] = changed = true;
                }
            }
        }
    }

    void insert() {
        std::vector<Line> result;
        for (size_t b = 0; b < blocks_.size(); ++b) {
            State state = at_entry_[b];
            for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
                Line& line = program_.lines[i];
                const size_t first = result.size();
                append_waits(result, needs(line, state));
                if (result.size() > first) result[first].labels = std::exchange(line.labels, {});
                step(line, state);
                result.push_back(std::move(line));
            }
        }
        program_.lines = std::move(result);
    }

    static void append(std::vector<Line>& lines, Opcode opcode, unsigned immediate, Operand destination = {}) {
        Line line;
        line.instruction.opcode = opcode;
        line.instruction.operands[0] = destination;
        line.instruction.simm16 = static_cast<uint16_t>(immediate);
        line.origin = Origin::waits;
        lines.push_back(std::move(line));
    }

    void append_waits(std::vector<Line>& lines, const Counts& counts) const {
        const auto count = [&](Counter c) { return counts[static_cast<unsigned>(c)]; };
        if (generation_ == Generation::gfx12) {
            append_waits_gfx12(lines, counts);
            return;
        }
        if (count(Counter::load) != kNoWait || count(Counter::ds) != kNoWait)
            append(lines, Opcode::s_waitcnt, waitcnt_immediate(count(Counter::load), count(Counter::ds)));
        if (count(Counter::store) != kNoWait)
            append(lines, Opcode::s_waitcnt_vscnt, count(Counter::store), null_register(generation_));
    }

    // vmcnt, expcnt, lgkmcnt; all ones: no wait (RDNA2 ISA 4.4, RDNA3 ISA 5.6).
    unsigned waitcnt_immediate(uint8_t load, uint8_t ds) const {
        const unsigned vm = std::min<unsigned>(load, 63), lgkm = std::min<unsigned>(ds, 63);
        if (generation_ == Generation::gfx10) return (vm & 15u) | 7u << 4 | lgkm << 8 | vm >> 4 << 14;
        return 7u | lgkm << 4 | vm << 10;
    }

    // dscnt shares an instruction with loadcnt or storecnt (RDNA4 ISA 5.7).
    void append_waits_gfx12(std::vector<Line>& lines, Counts counts) const {
        const auto count = [&](Counter c) -> uint8_t& { return counts[static_cast<unsigned>(c)]; };
        uint8_t& ds = count(Counter::ds);
        const auto paired = [&](Counter c, Opcode both) {
            if (count(c) == kNoWait || ds == kNoWait) return;
            append(lines, both, static_cast<unsigned>(count(c)) << 8 | ds);
            count(c) = ds = kNoWait;
        };
        paired(Counter::load, Opcode::s_wait_loadcnt_dscnt);
        paired(Counter::store, Opcode::s_wait_storecnt_dscnt);
        const auto single = [&](Counter c, Opcode opcode) {
            if (count(c) != kNoWait) append(lines, opcode, count(c));
        };
        single(Counter::load, Opcode::s_wait_loadcnt);
        single(Counter::store, Opcode::s_wait_storecnt);
        single(Counter::ds, Opcode::s_wait_dscnt);
        single(Counter::km, Opcode::s_wait_kmcnt);
    }

    Program& program_;
    const Generation generation_;
    const std::vector<Block> blocks_;
    std::vector<State> at_entry_;
};

}  // namespace

void insert_waits(Program& program) { WaitInserter(program).run(); }

}  // namespace riftjit::rdna
