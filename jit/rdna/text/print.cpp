#include <fmt/format.h>

#include <string>

#include "jit/rdna/table/print_operand.h"
#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/print_memory.h"
#include "jit/rdna/text/symbolic.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {
namespace {

// Writes the parts of one instruction's line.
class Printer {
public:
    Printer(Target target, WaveSize wave, const Instruction& instruction)
        : generation_(generation(target)),
          wave_(wave),
          instruction_(instruction),
          row_(info(instruction.opcode)),
          spells_halves_(spells_halves(generation_, instruction)) {}

    std::string line() {
        text_ = mnemonic(row_.opcode, generation_);
        text_ += suffix(row_, generation_, instruction_.encoding);
        write_operands();
        if (row_.format >= Format::VOP1 && row_.format <= Format::VOP3P) write_alu_modifiers();
        if (row_.format == Format::SMEM || row_.format >= Format::DS)
            text_ += memory_modifiers(generation_, instruction_);
        return std::move(text_);
    }

private:
    void write_operands() {
        const MemoryForm memory = {
            .returns = instruction_.address.cache.glc || (instruction_.address.cache.temporal_hint & 1) != 0,
            .to_lds = instruction_.address.lds};
        bool is_first = true;
        for (const WrittenOperand& written : written_operands(generation_, row_, instruction_.encoding, memory)) {
            const std::string operand = spell(written);
            if (operand.empty()) continue;  // s_endpgm 0
            text_ += is_first ? " " : ", ";
            text_ += operand;
            is_first = false;
        }
    }

    std::string spell(const WrittenOperand& written) const {
        const Operand operand = instruction_.operands[written.index];
        const Address& address = instruction_.address;
        switch (written.kind) {
            case WrittenKind::operand:
                return spell_operand(written.index);
            case WrittenKind::vcc:
                return wave_ == WaveSize::wave32 ? "vcc_lo" : "vcc";
            case WrittenKind::message:
                return print_message(generation_, operand.code);
            case WrittenKind::barrier:
                return operand.is_scalar_register() ? print_register(generation_, operand, 1)
                                                    : print_constant(OperandType::i32, operand, instruction_.literal);
            case WrittenKind::simm16:
                return spell_simm16();
            case WrittenKind::hwreg:
                return print_hardware_register(generation_, instruction_.simm16);
            case WrittenKind::label:
                return fmt::to_string(instruction_.simm16);
            case WrittenKind::literal:
                return row_.format == Format::SOPK
                           ? print_constant(OperandType::i32, {Operand::kLiteral}, instruction_.literal)
                           : fmt::format("{:#x}", instruction_.literal);
            case WrittenKind::length:
                return print_constant(OperandType::i32, {Operand::kLiteral}, operand.code);
            case WrittenKind::vaddr:
                return print_register(generation_, address.vaddr, vaddr_dwords(row_, address));
            case WrittenKind::vaddr_or_off:
                return has_vaddr() ? print_register(generation_, address.vaddr, vaddr_dwords(row_, address)) : "off";
            case WrittenKind::saddr:
                return print_register(generation_, address.saddr, scalar_base_dwords());
            case WrittenKind::saddr_or_off:
                return is_null(address.saddr)
                           ? "off"
                           : print_register(generation_, address.saddr, row_.format == Format::SCRATCH ? 1 : 2);
            case WrittenKind::resource:
                return print_register(generation_, address.resource, 4);
            case WrittenKind::soffset:
                return spell_scalar(address.soffset);
            case WrittenKind::scalar_offset:
                return spell_scalar_offset();
            case WrittenKind::number_offset:
                return hexadecimal(address.offset);
        }
        return "";
    }

    bool is_null(Operand operand) const { return !operand.exists() || operand == null_register(generation_); }

    bool has_vaddr() const {
        const Address& address = instruction_.address;
        if (row_.format == Format::MUBUF) return address.offset_enable || address.index_enable;
        if (generation_ == Generation::gfx10) return address.vaddr.exists();
        return address.vaddr_enable;
    }

    unsigned scalar_base_dwords() const {
        for (const OperandInfo& source : row_.source_operands())
            if (source.type == OperandType::rsrc) return 4;
        return 2;
    }

    static std::string hexadecimal(int32_t value) {
        return value < 0 ? fmt::format("-{:#x}", -int64_t{value}) : fmt::format("{:#x}", value);
    }

    std::string spell_scalar(Operand operand) const {
        if (!operand.exists()) operand = null_register(generation_);
        if (operand.is_inline_constant()) return print_constant(OperandType::i32, operand, 0);
        return print_register(generation_, operand, 1);
    }

    std::string spell_scalar_offset() const {
        const Address& address = instruction_.address;
        if (is_null(address.soffset)) {
            const bool spells_null = address.offset == 0 && generation_ != Generation::gfx12;
            return spells_null ? "null" : hexadecimal(address.offset);
        }
        std::string text = print_register(generation_, address.soffset, 1);
        // gfx12 has one form with both, and LLVM spells its offset always.
        if (address.offset != 0 || generation_ == Generation::gfx12) text += " offset:" + hexadecimal(address.offset);
        return text;
    }

    std::string spell_simm16() const {
        const uint16_t value = instruction_.simm16;
        switch (row_.opcode) {
            case Opcode::s_waitcnt:
                return print_wait_counts(generation_, value);
            case Opcode::s_wait_alu:
                return print_dependency_counters(value);
            case Opcode::s_delay_alu:
                return print_delay(value);
            case Opcode::s_sendmsg:
            case Opcode::s_sendmsghalt:
                return print_message(generation_, value);
            case Opcode::s_endpgm:
                return value == 0 ? "" : fmt::to_string(value);
            case Opcode::s_version:
                return print_version(value);
            case Opcode::s_nop:
            case Opcode::s_setkill:
            case Opcode::s_sethalt:
            case Opcode::s_sleep:
            case Opcode::s_setprio:
            case Opcode::s_trap:
            case Opcode::s_incperflevel:
            case Opcode::s_decperflevel:
            case Opcode::s_denorm_mode:
            case Opcode::s_barrier_wait:
                return value <= 64 ? fmt::to_string(value) : fmt::format("{:#x}", value);
            default:
                return fmt::format("{:#x}", value);
        }
    }

    std::string spell_operand(unsigned index) const {
        const OperandInfo& type = row_.operands[index];
        const Operand operand = instruction_.operands[index];
        unsigned dwords = type.size(wave_);
        if (row_.format == Format::MUBUF && instruction_.address.tfe) ++dwords;
        const bool is_constant = operand.is_literal() || operand.is_inline_constant();
        const bool is_half = spells_halves_ && names_half(generation_, row_, index);
        const uint32_t literal = is_half ? instruction_.literal & 0xFFFF : instruction_.literal;
        std::string text = is_constant
                               ? print_constant(type.type, operand, literal, doubles_inline_floats(generation_, row_))
                           : is_half && operand.is_vgpr() ? spell_half(index)
                                                          : print_register(generation_, operand, dwords);
        return index < row_.destinations ? text
                                         : with_modifiers(std::move(text), index - row_.destinations, is_constant);
    }

    std::string spell_half(unsigned index) const {
        const bool is_high = (instruction_.op_sel >> half_bit(row_, index) & 1) != 0;
        return fmt::format("v{}.{}", instruction_.operands[index].vgpr(), is_high ? 'h' : 'l');
    }

    std::string with_modifiers(std::string text, unsigned source, bool is_constant) const {
        if (instruction_.encoding == Encoding::sdwa && (instruction_.sdwa.sign_extend >> source & 1) != 0)
            return "sext(" + text + ")";
        if (row_.format == Format::VOP3P && !row_.mixed) return text;
        const bool is_negated = (instruction_.neg >> source & 1) != 0,
                   is_absolute = (instruction_.abs >> source & 1) != 0;
        if (is_absolute) text = "|" + text + "|";
        if (!is_negated) return text;
        // A minus sign before a number would be part of it.
        return is_constant && !is_absolute ? "neg(" + text + ")" : "-" + text;
    }

    void write_alu_modifiers() {
        if (is_vop3_word(row_, generation_, instruction_.encoding)) write_vop3_modifiers();
        if (instruction_.encoding == Encoding::sdwa) write_output_modifiers();
        if (instruction_.encoding == Encoding::sdwa) write_sdwa();
        if (is_dpp8(instruction_.encoding)) write_dpp8();
        if (is_dpp16(instruction_.encoding)) write_dpp16();
    }

    void write_output_modifiers() {
        static constexpr std::string_view kScales[] = {"", " mul:2", " mul:4", " div:2"};
        if (instruction_.clamp) text_ += " clamp";
        text_ += kScales[instruction_.omod & 3];
    }

    void write_list(std::string_view name, unsigned bits, unsigned count) {
        text_ += fmt::format(" {}:[", name);
        for (unsigned i = 0; i < count; ++i) text_ += fmt::format("{}{}", i == 0 ? "" : ",", bits >> i & 1);
        text_ += "]";
    }

    void write_vop3_modifiers() {
        const Modifiers& allowed = row_.modifiers[static_cast<size_t>(generation_)];
        const unsigned sources = written_sources(row_).count;
        const unsigned all = (1u << sources) - 1;
        if (row_.format == Format::VOP3P) {
            write_packed_modifiers(allowed, sources, all);
        } else if (instruction_.op_sel != 0 && row_.opcode != Opcode::v_cndmask_b16) {  // LLVM lists it nowhere
            write_op_sel(op_sel_sources(row_));
        }
        write_output_modifiers();
    }

    void write_packed_modifiers(const Modifiers& allowed, unsigned sources, unsigned all) {
        const unsigned default_hi = row_.mixed ? 0 : all;
        if (row_.sparse) {
            if (instruction_.op_sel != 0) text_ += fmt::format(" index_key:{}", instruction_.op_sel);
        } else {
            if (allowed.op_sel != 0 && (instruction_.op_sel & all) != 0)
                write_list("op_sel", instruction_.op_sel, sources);
            if (allowed.op_sel_hi != 0 && (instruction_.op_sel_hi & all) != default_hi)
                write_list("op_sel_hi", instruction_.op_sel_hi, sources);
        }
        if (row_.mixed) return;
        if (allowed.neg != 0 && (instruction_.neg & all) != 0) write_list("neg_lo", instruction_.neg, sources);
        if (allowed.abs != 0 && (instruction_.abs & all) != 0) write_list("neg_hi", instruction_.abs, sources);
    }

    void write_op_sel(unsigned sources) {
        if (row_.byte_select) {
            text_ += fmt::format(" byte_sel:{}", byte_select(row_, instruction_.op_sel));
            return;
        }
        if (row_.permlane) return write_list("op_sel", instruction_.op_sel, 2);
        // What compares write is no half; LLVM counts it all the same but where a DPP word follows.
        const bool is_counted = row_.format != Format::VOPC || instruction_.encoding == Encoding::e64;
        if (!is_counted || row_.destinations == 0 || row_.operands[0].type == OperandType::exec)
            return write_list("op_sel", instruction_.op_sel, sources);
        unsigned bits = instruction_.op_sel & ((1u << sources) - 1);
        const unsigned destination = instruction_.op_sel >> 3 & 1u;
        if (spells_halves_ && row_.opcode == Opcode::v_fmac_f16) bits |= destination << 2;  // its accumulator
        write_list("op_sel", bits | destination << sources, sources + 1);
    }

    void write_sdwa() {
        static constexpr std::string_view kSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                        "WORD_0", "WORD_1", "DWORD",  "?"};
        static constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
        const Sdwa& sdwa = instruction_.sdwa;
        if (row_.format != Format::VOPC)
            text_ += fmt::format(" dst_sel:{} dst_unused:{}", kSelects[sdwa.destination_select & 7],
                                 kUnused[sdwa.destination_unused & 3]);
        text_ += fmt::format(" src0_sel:{}", kSelects[sdwa.source_select[0] & 7]);
        if (row_.format != Format::VOP1) text_ += fmt::format(" src1_sel:{}", kSelects[sdwa.source_select[1] & 7]);
    }

    void write_dpp8() {
        text_ += " dpp8:[";
        for (unsigned lane = 0; lane < 8; ++lane)
            text_ += fmt::format("{}{}", lane == 0 ? "" : ",", instruction_.dpp.selectors >> 3 * lane & 7);
        text_ += instruction_.dpp.fetch_inactive ? "] fi:1" : "]";
    }

    void write_dpp16() {
        const Dpp& dpp = instruction_.dpp;
        text_ += " " + dpp_control(dpp.control);
        text_ += fmt::format(" row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask);
        if (dpp.bound_control) text_ += " bound_ctrl:1";
        if (dpp.fetch_inactive) text_ += " fi:1";
    }

    static std::string dpp_control(unsigned control) {
        if (control < 0x100)
            return fmt::format("quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                               control >> 6 & 3);
        if (control == 0x140) return "row_mirror";
        if (control == 0x141) return "row_half_mirror";
        static constexpr std::string_view kRows[] = {"row_shl", "row_shr",   "row_ror",  "",
                                                     "?",       "row_share", "row_xmask"};
        const unsigned group = (control - 0x100) / 16;
        return fmt::format("{}:{}", group < 7 ? kRows[group == 3 ? 4 : group] : "?", control & 15);
    }

    Generation generation_;
    WaveSize wave_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    bool spells_halves_;
    std::string text_;
};

std::string print_half(Generation generation, const Instruction& instruction, const VopdHalf& half) {
    const InstructionInfo& row = info(half.opcode);
    std::string text = "v_dual_" + std::string(mnemonic(half.opcode, generation).substr(2));
    const auto operand = [&](unsigned index) {
        const Operand value = half.operands[index];
        return value.is_literal() || value.is_inline_constant()
                   ? print_constant(row.operands[index].type, value, instruction.literal)
                   : print_register(generation, value, 1);
    };
    const std::string constant = fmt::format("{:#x}", instruction.literal);
    text += " " + operand(0) + ", " + operand(1);
    if (half.opcode == Opcode::v_fmamk_f32) text += ", " + constant;
    if (half.opcode != Opcode::v_mov_b32) text += ", " + print_register(generation, half.operands[2], 1);
    if (half.opcode == Opcode::v_fmaak_f32) text += ", " + constant;
    return text;
}

}  // namespace

std::string print(Target target, WaveSize wave, const Instruction& instruction) {
    if (instruction.encoding == Encoding::vopd)
        return print_half(generation(target), instruction, instruction.dual[0]) +
               " :: " + print_half(generation(target), instruction, instruction.dual[1]);
    return Printer(target, wave, instruction).line();
}

}  // namespace riftjit::rdna
