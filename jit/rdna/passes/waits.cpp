// Waits for memory: forward over the control flow, what is outstanding and how many younger operations each counter
// holds, to a fixed point; then the weakest wait that each instruction needs (LLVM AMDGPU backend, SIInsertWaitcnts,
// follows the same rules).
#include <algorithm>
#include <array>
#include <bitset>
#include <vector>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

constexpr uint8_t kNoWait = 255;
// One below what the counters hold: a wait for a full counter would not be seen as one.
constexpr uint8_t kMaxYounger = 62;
constexpr uint8_t kNotWritten = 255;

struct CounterState {
    // Of each register that an outstanding operation will write: how many operations of the counter were surely issued
    // after that one. kNotWritten otherwise.
    std::array<uint8_t, kRegisterCodes> younger;
    std::bitset<kRegisterCodes> any_order;  // the operation may come back before older ones
    bool any = false;                       // operations may be outstanding
    bool unordered = false;                 // some of them may come back in any order
    bool lds = false;                       // some of them are LDS operations
    CounterState() { younger.fill(kNotWritten); }
    bool operator==(const CounterState&) const = default;

    bool merge(const CounterState& other) {
        if (!other.any) return false;
        const CounterState before = *this;
        for (unsigned code = 0; code < kRegisterCodes; ++code)
            younger[code] = std::min(younger[code], other.younger[code]);
        any_order |= other.any_order;
        any |= other.any;
        unordered |= other.unordered;
        lds |= other.lds;
        return *this != before;
    }

    uint8_t needed_for(const RegisterRanges& ranges) const {
        uint8_t needed = kNoWait;
        for (const RegisterRange range : ranges)
            for (unsigned code = range.first; code < range.first + range.count; ++code)
                if (younger[code] != kNotWritten)
                    needed = std::min(needed, any_order[code] || unordered ? uint8_t{0} : younger[code]);
        return needed;
    }

    void issue(const LineFacts& facts) {
        for (uint8_t& count : younger) count += count < kMaxYounger ? 1 : 0;
        any = true;
        unordered |= !facts.events.in_order;
        lds |= facts.row->format == Format::DS || facts.row->format == Format::FLAT;
        for (const RegisterRange range : facts.effects.writes)
            for (unsigned code = range.first; code < range.first + range.count; ++code) {
                younger[code] = 0;
                any_order[code] = !facts.events.in_order;
            }
    }

    void wait(uint8_t count) {
        if (count == 0) {
            *this = {};
        } else if (!unordered) {
            for (unsigned code = 0; code < kRegisterCodes; ++code)
                if (younger[code] >= count) younger[code] = kNotWritten;
        }
    }
};

using Counts = std::array<uint8_t, kCounterCount>;
struct WaitState {
    std::array<CounterState, kCounterCount> counters;
    bool merge(const WaitState& other) {
        bool changed = false;
        for (unsigned c = 0; c < kCounterCount; ++c) changed |= counters[c].merge(other.counters[c]);
        return changed;
    }
};

class WaitInserter {
public:
    explicit WaitInserter(PassContext& context) : context_(context), generation_(context.generation()) {}

    void run() {
        const std::vector<PassContext::Block>& blocks = context_.blocks();
        const std::vector<WaitState> at_entry = states_at_entry(blocks, WaitState{}, [&](size_t b, WaitState& state) {
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i)) step(i, state);
        });
        for (size_t b = 0; b < blocks.size(); ++b) {
            WaitState state = at_entry[b];
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i)) insert(i, step(i, state));
        }
    }

private:
    // Two loads into one register come back in the order of issue, except on gfx12; LDS is never trusted with it.
    bool overwrites_in_order(const MemoryEvents& events) const {
        return generation_ != Generation::gfx12 && events.in_order && events.raises == CounterSet{Counter::load};
    }

    uint8_t needed(const Line& line, const LineFacts& facts, Counter c, const CounterState& counter) const {
        if (!counter.any) return kNoWait;
        if (line.drain.has(c) && (c != Counter::ds || counter.lds)) return 0;
        uint8_t needed = counter.needed_for(facts.effects.reads);
        const bool in_order = c == Counter::load && overwrites_in_order(facts.events) && !counter.unordered;
        if (!in_order) needed = std::min(needed, counter.needed_for(facts.effects.writes));
        return needed;
    }

    // What the line must wait for; the state becomes that after it.
    Counts step(LineId id, WaitState& state) const {
        const Line& line = context_.line(id);
        const LineFacts& facts = context_.facts(id);
        Counts counts;
        for (unsigned c = 0; c < kCounterCount; ++c) {
            CounterState& counter = state.counters[c];
            counts[c] = needed(line, facts, static_cast<Counter>(c), counter);
            if (counts[c] != kNoWait) counter.wait(counts[c]);
            if (facts.events.raises.has(static_cast<Counter>(c))) counter.issue(facts);
        }
        return counts;
    }

    void insert_wait(LineId before, Opcode opcode, unsigned immediate, Operand destination = {}) {
        Instruction wait;
        wait.opcode = opcode;
        wait.operands[0] = destination;
        wait.simm16 = static_cast<uint16_t>(immediate);
        context_.insert_before(before, wait, Origin::waits);
    }

    void insert(LineId at, const Counts& counts) {
        const auto count = [&](Counter c) { return counts[static_cast<unsigned>(c)]; };
        if (generation_ == Generation::gfx12) {
            insert_gfx12(at, counts);
            return;
        }
        if (count(Counter::load) != kNoWait || count(Counter::ds) != kNoWait)
            insert_wait(at, Opcode::s_waitcnt, waitcnt_immediate(count(Counter::load), count(Counter::ds)));
        if (count(Counter::store) != kNoWait)
            insert_wait(at, Opcode::s_waitcnt_vscnt, count(Counter::store), null_register(generation_));
    }

    // vmcnt, expcnt, lgkmcnt; all ones: no wait (RDNA2 ISA 4.4, RDNA3 ISA 5.6).
    unsigned waitcnt_immediate(uint8_t load, uint8_t ds) const {
        const unsigned vm = std::min<unsigned>(load, 63), lgkm = std::min<unsigned>(ds, 63);
        if (generation_ == Generation::gfx10) return (vm & 15u) | 7u << 4 | lgkm << 8 | vm >> 4 << 14;
        return 7u | lgkm << 4 | vm << 10;
    }

    // dscnt shares an instruction with loadcnt or storecnt (RDNA4 ISA 5.7).
    void insert_gfx12(LineId at, Counts counts) {
        const auto count = [&](Counter c) -> uint8_t& { return counts[static_cast<unsigned>(c)]; };
        uint8_t& ds = count(Counter::ds);
        const auto paired = [&](Counter c, Opcode both) {
            if (count(c) == kNoWait || ds == kNoWait) return;
            insert_wait(at, both, static_cast<unsigned>(count(c)) << 8 | ds);
            count(c) = ds = kNoWait;
        };
        paired(Counter::load, Opcode::s_wait_loadcnt_dscnt);
        paired(Counter::store, Opcode::s_wait_storecnt_dscnt);
        const auto single = [&](Counter c, Opcode opcode) {
            if (count(c) != kNoWait) insert_wait(at, opcode, count(c));
        };
        single(Counter::load, Opcode::s_wait_loadcnt);
        single(Counter::store, Opcode::s_wait_storecnt);
        single(Counter::ds, Opcode::s_wait_dscnt);
        single(Counter::km, Opcode::s_wait_kmcnt);
    }

    PassContext& context_;
    const Generation generation_;
};

}  // namespace

void insert_waits(PassContext& context) { WaitInserter(context).run(); }

}  // namespace riftjit::rdna
