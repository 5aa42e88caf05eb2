#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

WrittenKind kind_of(const InstructionInfo& row, OperandType type, bool is_e32, bool is_destination) {
    switch (type) {
        case OperandType::imm:
            return WrittenKind::message;
        case OperandType::barrier:
            return WrittenKind::barrier;
        case OperandType::simm16:
            return WrittenKind::simm16;
        case OperandType::hwreg:
            return WrittenKind::hwreg;
        case OperandType::label:
            return WrittenKind::label;
        case OperandType::literal:
        case OperandType::k16:
        case OperandType::k32:
            return WrittenKind::literal;
        case OperandType::length:
            return WrittenKind::length;
        case OperandType::mask:
            // The short forms have no field for it, SDWA compares excepted.
            if (is_e32 && (row.format == Format::VOP2 || row.format == Format::VOPC || !is_destination))
                return WrittenKind::vcc;
            return WrittenKind::operand;
        default:
            return WrittenKind::operand;
    }
}

void add_alu(WrittenOperands& written, Generation generation, const InstructionInfo& row, Encoding encoding) {
    bool short_form = !is_vop3_word(row, generation, encoding);
    if (encoding == Encoding::sdwa && row.format == Format::VOPC) short_form = false;
    for (unsigned i = 0; i < row.destinations; ++i) {
        // v_swap: the second destination is the source.
        if (row.operands[i].type == OperandType::exec || (i == 1 && row.format == Format::VOP1)) continue;
        written.add(kind_of(row, row.operands[i].type, short_form, true), i);
    }
    for (unsigned i = 0; i < row.sources; ++i) {
        const unsigned index = row.destinations + i;
        if (!row.operands[index].tied) written.add(kind_of(row, row.operands[index].type, short_form, false), index);
    }
}

void add_scalar_memory(WrittenOperands& written, const InstructionInfo& row) {
    bool is_prefetch = false, has_base = false;
    for (unsigned i = 0; i < row.destinations; ++i) written.add(WrittenKind::operand, i);
    for (unsigned i = row.destinations; i < row.destinations + row.sources; ++i)
        is_prefetch |= row.operands[i].type == OperandType::length;
    for (unsigned i = row.destinations; i < row.destinations + row.sources; ++i) {
        const OperandType type = row.operands[i].type;
        if (type == OperandType::imm) written.add(WrittenKind::length, i);
        if (type == OperandType::base || type == OperandType::rsrc) written.add(WrittenKind::saddr), has_base = true;
    }
    if (is_prefetch) {
        written.add(WrittenKind::number_offset);
        written.add(WrittenKind::soffset);
        written.add(WrittenKind::length, row.destinations + row.sources - 1u);
    } else if (has_base) {
        written.add(WrittenKind::scalar_offset);
    }
}

void add_data(WrittenOperands& written, const InstructionInfo& row) {
    for (unsigned i = row.destinations; i < row.destinations + row.sources; ++i)
        if (row.operands[i].type != OperandType::addr) written.add(WrittenKind::operand, i);
}

bool has_address(const InstructionInfo& row) {
    for (const OperandInfo& source : row.source_operands())
        if (source.type == OperandType::addr) return true;
    return false;
}

// data, then address: DS writes the address first in any case.
void add_vector_memory(WrittenOperands& written, const InstructionInfo& row, MemoryForm memory) {
    const bool writes_result =
        row.destinations != 0 && !memory.to_lds && (row.memory != MemoryKind::atomic || memory.returns);
    if (row.format == Format::MUBUF) {
        if (!has_address(row)) return;
        if (row.memory == MemoryKind::load) {
            if (!memory.to_lds) written.add(WrittenKind::operand, 0);
        } else {
            add_data(written, row);
        }
        written.add(WrittenKind::vaddr_or_off);
        written.add(WrittenKind::resource);
        written.add(WrittenKind::soffset);
        return;
    }
    if (row.format == Format::DS) {
        if (row.destinations != 0) written.add(WrittenKind::operand, 0);
        if (has_address(row)) written.add(WrittenKind::vaddr);
        add_data(written, row);
        return;
    }
    if (!has_address(row)) return;
    if (writes_result) written.add(WrittenKind::operand, 0);
    if (row.format == Format::SCRATCH) {
        written.add(WrittenKind::vaddr_or_off);
    } else if (!row.thread_addressed) {
        written.add(WrittenKind::vaddr);
    }
    add_data(written, row);
    if (row.format != Format::FLAT) written.add(WrittenKind::saddr_or_off);
}

}  // namespace

WrittenSources written_sources(const InstructionInfo& row) {
    WrittenSources sources;
    for (unsigned i = 0; i < row.sources && sources.count < 4; ++i)
        if (!row.operands[row.destinations + i].tied)
            sources.index[sources.count++] = static_cast<uint8_t>(row.destinations + i);
    return sources;
}

// The stochastic conversions choose the destination's byte, in the upper bits of op_sel; the others the source's, with
// the bits the other way round.
uint8_t byte_select(const InstructionInfo& row, uint8_t op_sel) {
    if (row.format == Format::VOP3) return op_sel >> 2 & 3;
    return static_cast<uint8_t>((op_sel & 1) << 1 | (op_sel >> 1 & 1));
}
uint8_t op_sel_of_byte(const InstructionInfo& row, unsigned byte) {
    if (row.format == Format::VOP3) return static_cast<uint8_t>(byte << 2);
    return static_cast<uint8_t>((byte & 1) << 1 | (byte >> 1 & 1));
}

bool names_half(Generation generation, const InstructionInfo& row, unsigned operand) {
    return generation != Generation::gfx10 && (row.halves >> half_bit(row, operand) & 1) != 0;
}
unsigned half_bit(const InstructionInfo& row, unsigned operand) {
    return operand < row.destinations ? 3 : operand - row.destinations;
}
uint8_t op_sel_bits(Generation generation, const InstructionInfo& row) {
    const uint8_t bits = row.modifiers[static_cast<size_t>(generation)].op_sel;
    return generation == Generation::gfx10 ? bits : bits | row.halves;
}
bool spells_halves(Generation generation, const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    if (generation == Generation::gfx10 || row.halves == 0) return false;
    if (row.opcode == Opcode::v_mov_b16) return true;  // LLVM 19 knows no other way
    const bool has_op_sel = is_vop3_word(row, generation, instruction.encoding);
    const uint8_t known = has_op_sel ? row.modifiers[static_cast<size_t>(generation)].op_sel : uint8_t{0};
    return (instruction.op_sel & row.halves & ~known) != 0;
}

bool doubles_inline_floats(Generation generation, const InstructionInfo& row) {
    return row.opcode == Opcode::v_pk_fmac_f16 && generation != Generation::gfx10;
}

unsigned op_sel_sources(const InstructionInfo& row) {
    return row.opcode == Opcode::v_fmac_f16 ? 3 : written_sources(row).count;
}

bool is_vop3_only(const InstructionInfo& row, Generation generation) {
    return row.format == Format::VOP3 || row.number[static_cast<size_t>(generation)].vop3_only;
}

bool is_vop3_word(const InstructionInfo& row, Generation generation, Encoding encoding) {
    if (row.format == Format::VOP3 || row.format == Format::VOP3P) return true;
    if (is_vop3_only(row, generation)) return true;
    return encoding == Encoding::e64 || encoding == Encoding::e64_dpp16 || encoding == Encoding::e64_dpp8;
}

std::string_view suffix(const InstructionInfo& row, Generation generation, Encoding encoding) {
    if (!is_valu(row.format) || row.destinations + row.sources == 0) return "";
    const bool has_dpp_word = is_dpp8(encoding) || is_dpp16(encoding);
    if (is_vop3_word(row, generation, encoding)) {
        if (has_dpp_word) return "_e64_dpp";
        return encoding == Encoding::e64 && !is_vop3_only(row, generation) ? "_e64" : "";
    }
    if (has_dpp_word) return row.format == Format::VOPC ? "" : "_dpp";
    if (encoding == Encoding::sdwa) return "_sdwa";
    const bool has_long_form = !row.modifiers[static_cast<size_t>(generation)].no_e64;
    return has_long_form ? "_e32" : "";
}

WrittenOperands written_operands(Generation generation, const InstructionInfo& row, Encoding encoding,
                                 MemoryForm memory) {
    WrittenOperands written;
    if (row.format == Format::SMEM) {
        add_scalar_memory(written, row);
    } else if (row.format >= Format::DS) {
        add_vector_memory(written, row, memory);
    } else {
        add_alu(written, generation, row, encoding);
    }
    return written;
}

uint8_t default_op_sel_hi(const InstructionInfo& row) {
    if (row.format != Format::VOP3P || row.mixed) return 0;
    return 7;
}

unsigned vaddr_dwords(const InstructionInfo& row, const Address& address) {
    switch (row.format) {
        case Format::FLAT:
            return 2;
        case Format::GLOBAL:
            return address.saddr.exists() && address.saddr != null_register(Generation::gfx10) &&
                           address.saddr != null_register(Generation::gfx11)
                       ? 1
                       : 2;
        case Format::MUBUF:
            return (address.offset_enable ? 1u : 0u) + (address.index_enable ? 1u : 0u);
        default:
            return 1;
    }
}

}  // namespace riftjit::rdna
