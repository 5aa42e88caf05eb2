#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

bool is_memory(Format format) { return format >= Format::DS; }

// Sources beyond the format's fields are the old value of the destination.
unsigned source_fields(const InstructionInfo& row) {
    switch (row.format) {
        case Format::SOP1:
        case Format::SOPK:
        case Format::VOP1:
            return 1;
        case Format::SOP2:
        case Format::SOPC:
        case Format::VOPC:
            return 2;
        default:
            return 3;
    }
}

bool is_constant_field(OperandType type) { return type == OperandType::k16 || type == OperandType::k32; }

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
        if (!is_tied(row, i)) written.add(kind_of(row, row.operands[index].type, short_form, false), index);
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

bool is_thread_addressed(const InstructionInfo& row) { return row.name.find("addtid") != std::string_view::npos; }

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
    } else if (!is_thread_addressed(row)) {
        written.add(WrittenKind::vaddr);
    }
    add_data(written, row);
    if (row.format != Format::FLAT) written.add(WrittenKind::saddr_or_off);
}

}  // namespace

bool is_swmmac(const InstructionInfo& row) { return row.name.starts_with("v_swmmac"); }
bool is_fma_mix(const InstructionInfo& row) { return row.name.starts_with("v_fma_mix"); }
bool is_permlane16(const InstructionInfo& row) {
    return row.name.starts_with("v_permlane16_") || row.name.starts_with("v_permlanex16_");
}
bool is_two_address(const InstructionInfo& row) {
    return row.format == Format::DS && row.name.find("2addr") != std::string_view::npos;
}

bool is_tied(const InstructionInfo& row, unsigned source) {
    if (is_constant_field(row.operands[row.destinations + source].type)) return false;
    if (is_swmmac(row)) return source == 2;
    if (row.format == Format::SOP2 && row.sources == 3)
        return source == 2 && !is_constant_field(row.operands[row.destinations + 1u].type);
    if (row.format == Format::VOP3 && source == 2)
        return row.name == "v_writelane_b32" || row.name.starts_with("v_cvt_sr_") ||
               row.name.starts_with("v_cvt_pk_fp8") || row.name.starts_with("v_cvt_pk_bf8") ||
               row.name.ends_with("_var_b32");
    if (is_permlane16(row)) return source == 3;
    return source >= source_fields(row) && row.destinations != 0;
}

WrittenSources written_sources(const InstructionInfo& row) {
    WrittenSources sources;
    for (unsigned i = 0; i < row.sources && sources.count < 4; ++i)
        if (!is_tied(row, i)) sources.index[sources.count++] = static_cast<uint8_t>(row.destinations + i);
    return sources;
}

// The stochastic conversions choose the destination's byte, in the upper bits of op_sel; the others the source's, with
// the bits the other way round.
bool selects_byte(const InstructionInfo& row) {
    return row.name.starts_with("v_cvt_sr_") || row.opcode == Opcode::v_cvt_f32_fp8 ||
           row.opcode == Opcode::v_cvt_f32_bf8;
}
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
    const bool is_valu = row.format >= Format::VOP1 && row.format <= Format::VOP3P;
    if (!is_valu || row.destinations + row.sources == 0) return "";
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
    } else if (is_memory(row.format)) {
        add_vector_memory(written, row, memory);
    } else {
        add_alu(written, generation, row, encoding);
    }
    return written;
}

uint8_t default_op_sel_hi(const InstructionInfo& row) {
    if (row.format != Format::VOP3P || is_fma_mix(row)) return 0;
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
            return address.offset_enable && address.index_enable ? 2 : 1;
        default:
            return 1;
    }
}

}  // namespace riftjit::rdna
