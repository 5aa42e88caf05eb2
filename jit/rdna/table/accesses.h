// Which registers an instruction reads and writes: what its row says, applied to its operands. Facts alone, which the
// passes and the software machine's checks share; the rules that follow from them are each one's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// The places of an instruction that may hold a register: operands[0..5], then the address fields. kNoSlot: the row
// implies the register, or it is of a half of VOPD.
enum Slot : uint8_t { kSlotVaddr = 6, kSlotSaddr = 7, kSlotSoffset = 8, kSlotResource = 9, kNoSlot = 255 };
inline constexpr unsigned kSlotCount = 10;

Operand& slot_operand(Instruction& instruction, unsigned slot);
const Operand& slot_operand(const Instruction& instruction, unsigned slot);

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

enum class AccessRole : uint8_t {
    data,
    address,     // of a memory instruction
    lane_mask,   // scalars that a vector instruction reads as one bit per lane
    lane_enable  // exec, on which every vector and memory instruction depends
};

struct Access {
    uint8_t slot = kNoSlot;
    AccessRole role = AccessRole::data;
    RegisterRange range;
    bool reads = false, writes = false;
    bool keeps = false;  // written in part: the other bits or lanes stay as they were (exec aside)
};
using Accesses = InlineVector<Access, 16>;

// With hardware registers in place, or any register of the right bank where an allocator has yet to choose. Constants
// and the null register are no access; whatever m0 adds to a register's number is not counted in.
Accesses accesses(Generation generation, WaveSize wave, const Instruction& instruction);

// Whether a memory instruction gives a register a value; an atomic does where its cache policy asks for the old one.
bool returns_value(Generation generation, const Instruction& instruction);
bool returns_old_value(Generation generation, const InstructionInfo& row, const CachePolicy& cache);

// Whether a vector instruction reads lane masks: of an operand, or vcc without one.
bool reads_lane_mask(const InstructionInfo& row);
// Whether registers of lanes that are off are read, too: by the row, or by DPP.
bool reads_across_lanes(const Instruction& instruction);

}  // namespace riftjit::rdna
