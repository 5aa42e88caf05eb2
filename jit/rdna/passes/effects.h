// What an instruction reads and writes, from its table row: the one source of every pass.
#pragma once

#include <cstdint>
#include <span>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// The places of an instruction that may hold a register: operands[0..5], then the address fields.
enum Slot : uint8_t { kSlotVaddr = 6, kSlotSaddr = 7, kSlotSoffset = 8, kSlotResource = 9 };
inline constexpr unsigned kSlotCount = 10;

Operand& slot_operand(Instruction& instruction, unsigned slot);
const Operand& slot_operand(const Instruction& instruction, unsigned slot);

struct SlotEffect {
    uint8_t slot, dwords;
    bool reads, writes;
};

// `count` registers from hardware code `first`; scc is 253.
struct RegisterRange {
    uint16_t first = 0, count = 0;
    bool overlaps(RegisterRange other) const {
        return first < other.first + other.count && other.first < first + count;
    }
    bool contains(unsigned code) const { return code >= first && code < first + count; }
    bool is_vgpr() const { return first >= Operand::kFirstVgpr; }
    bool operator==(const RegisterRange&) const = default;
};

template <class T, size_t kCapacity>
class InlineVector {
public:
    void push_back(T value) { items_[count_++] = value; }
    const T* begin() const { return items_.data(); }
    const T* end() const { return items_.data() + count_; }
    size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    const T& operator[](size_t i) const { return items_[i]; }

private:
    std::array<T, kCapacity> items_{};
    size_t count_ = 0;
};

using SlotEffects = InlineVector<SlotEffect, 16>;
using RegisterRanges = InlineVector<RegisterRange, 24>;

SlotEffects slot_effects(WaveSize wave, const Instruction& instruction);

struct Effects {
    RegisterRanges reads, writes;
    bool reads_any(RegisterRange range) const;
    bool writes_any(RegisterRange range) const;
};
// With hardware registers in place. The null register is no register.
Effects effects(Target target, WaveSize wave, const Instruction& instruction);

// The source operand that is no field of its own but the destination's old value, or none.
std::optional<unsigned> tied_source(Opcode opcode);
// The destination's old value takes part though no operand says so (v_fmac_f32, a load into half a register, a DPP row
// that may be masked).
bool reads_destination(const Instruction& instruction);

bool is_salu(Format format);
bool is_valu(Format format);
bool is_vector_memory(Format format);  // FLAT, GLOBAL, SCRATCH, MUBUF
bool is_wmma(Opcode opcode);           // SWMMAC too
bool is_branch(Opcode opcode);         // to a label
bool ends_wave(Opcode opcode);

// Which counters the instruction raises, and how its results come back.
struct MemoryEvents {
    CounterSet raises;
    bool in_order = true;  // among the events of its counter
};
MemoryEvents memory_events(Generation generation, const Instruction& instruction);

}  // namespace riftjit::rdna
