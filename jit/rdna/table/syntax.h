// What an instruction's line of assembly holds and in which order; the printer writes it and the parser reads it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

enum class WrittenKind : uint8_t {
    operand,  // operands[index]
    vcc,      // operands[index] is vcc in this form; the text names it
    message,  // sendmsg(...) in a scalar source field
    barrier,  // a split barrier's number, or m0
    simm16,
    hwreg,
    label,
    literal,  // instruction.literal
    length,   // of a prefetch
    vaddr,
    vaddr_or_off,  // `off` where there is none
    saddr,
    saddr_or_off,
    resource,
    soffset,
    scalar_offset,  // SMEM: an SGPR with offset:, or a number
    number_offset,  // prefetch: a number
};

struct WrittenOperand {
    WrittenKind kind;
    uint8_t index = 0;  // into operands
};

class WrittenOperands {
public:
    void add(WrittenKind kind, unsigned index = 0) { items_[count_++] = {kind, static_cast<uint8_t>(index)}; }
    const WrittenOperand* begin() const { return items_.data(); }
    const WrittenOperand* end() const { return items_.data() + count_; }
    size_t size() const { return count_; }
    const WrittenOperand& operator[](size_t i) const { return items_[i]; }

private:
    std::array<WrittenOperand, 8> items_{};
    uint8_t count_ = 0;
};

// What the text of a memory instruction depends on besides its row.
struct MemoryForm {
    bool returns = true;  // an atomic gives back the old value
    bool to_lds = false;  // the loaded value goes to LDS: no destination is written
};

WrittenOperands written_operands(Generation generation, const InstructionInfo& row, Encoding encoding,
                                 MemoryForm memory);

// The sources of a VALU instruction that its text names, in order: indices into InstructionInfo::operands. A source
// that is tied to the destination has no field and no place in the text.
struct WrittenSources {
    std::array<uint8_t, 4> index{};
    uint8_t count = 0;
};
WrittenSources written_sources(const InstructionInfo& row);

// gfx12's conversions from and to fp8 and bf8 choose a byte where others have op_sel (InstructionInfo::byte_select):
// byte_sel:N in the text.
uint8_t byte_select(const InstructionInfo& row, uint8_t op_sel);
uint8_t op_sel_of_byte(const InstructionInfo& row, unsigned byte);

// How many sources op_sel:[...] lists before the destination: those, and v_fmac_f16's accumulator.
unsigned op_sel_sources(const InstructionInfo& row);

// On gfx11 and later a VGPR operand of 16 bits is one half of a register, v7.l or v7.h. Here the instruction's op_sel
// says which, in every form; in the words VOP3 has op_sel, and the shorter forms the top bit of the operand's field,
// which leaves them v0 to v127. ("RDNA3 Instruction Set Architecture", 16-bit operands.)
bool names_half(Generation generation, const InstructionInfo& row, unsigned operand);
unsigned half_bit(const InstructionInfo& row, unsigned operand);  // its bit in op_sel
// All that op_sel may name in VOP3: halves, and what the row has it for on every generation.
uint8_t op_sel_bits(Generation generation, const InstructionInfo& row);
// LLVM 19 spells plain register numbers, and op_sel where it knows it. Halves that it cannot spell are in LLVM 22's
// way, which names one in each operand that has one.
bool spells_halves(Generation generation, const Instruction& instruction);

// From gfx11 on v_pk_fmac_f16, which has no op_sel, reads an inline float in both halves; elsewhere a pair of halves
// has it in the lower one (llvm-project issue 94116, measured on Navi 31; LLVM 22). Of inline integers nothing is
// known: they are taken for 32 bits, as elsewhere, and written only where that is what was asked for.
bool doubles_inline_floats(Generation generation, const InstructionInfo& row);

bool is_vop3_only(const InstructionInfo& row, Generation generation);

// "_e32", "_e64_dpp" ...: what LLVM 19 appends to the mnemonic of this form.
std::string_view suffix(const InstructionInfo& row, Generation generation, Encoding encoding);

inline bool is_dpp8(Encoding encoding) { return encoding == Encoding::dpp8 || encoding == Encoding::e64_dpp8; }
inline bool is_dpp16(Encoding encoding) { return encoding == Encoding::dpp16 || encoding == Encoding::e64_dpp16; }

// Whether this form is a VOP3 or VOP3P word, perhaps with a DPP word.
bool is_vop3_word(const InstructionInfo& row, Generation generation, Encoding encoding);

// VOP3P's op_sel_hi where the text gives none: every source's high half, none for fma_mix.
uint8_t default_op_sel_hi(const InstructionInfo& row);

// VGPRs that a memory address takes.
unsigned vaddr_dwords(const InstructionInfo& row, const Address& address);

}  // namespace riftjit::rdna
