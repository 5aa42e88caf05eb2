// A kernel as a list of instructions, between the emitter and the encoder; what the passes work on.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "jit/rdna/passes/registers.h"
#include "jit/rdna/table/accesses.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// A place in the code that branches name.
struct Label {
    uint16_t id;
    bool operator==(const Label&) const = default;
};

// The counters of outstanding memory operations. gfx10 and gfx11 count LDS and scalar loads together (lgkmcnt).
enum class Counter : uint8_t { load, store, ds, km };
inline constexpr unsigned kCounterCount = 4;
struct CounterSet {
    uint8_t bits = 0;
    constexpr CounterSet() = default;
    constexpr CounterSet(std::initializer_list<Counter> counters) {
        for (const Counter c : counters) bits |= static_cast<uint8_t>(1u << static_cast<unsigned>(c));
    }
    bool has(Counter c) const { return (bits >> static_cast<unsigned>(c) & 1u) != 0; }
    bool operator==(const CounterSet&) const = default;
};

// Who wrote a line.
enum class Origin : uint8_t { kernel, waits, hazards, hints };

// What stays of a register that is written in part counts as read: no pass may reuse or reorder it.
struct SlotEffect {
    uint8_t slot, dwords;
    bool reads, writes;
};
using SlotEffects = InlineVector<SlotEffect, 16>;

struct Line {
    Instruction instruction;
    std::vector<Label> labels;         // that lie before it
    std::optional<Label> target = {};  // of a branch
    CounterSet drain;                  // must be zero before it, beyond what its operands ask for
    Origin origin = Origin::kernel;
    std::source_location where;             // in the kernel
    std::array<RegisterPart, 10> parts{};   // before allocation: the operands by slot (effects.h)
    std::optional<SlotEffects> slots = {};  // while registers are chosen, which asks for them again and again
};

struct Program {
    Target target;
    WaveSize wave_size;
    std::string name;
    std::vector<Line> lines;
};

// Puts `instruction` before lines[at]; branches to that line reach it too.
void insert_before(Program& program, size_t at, const Instruction& instruction, Origin origin);

}  // namespace riftjit::rdna
