#include "jit/rdna/text/parse_match.h"

#include <algorithm>
#include <cctype>

#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/expression.h"
#include "jit/rdna/text/parse_modifiers.h"
#include "jit/rdna/text/parse_operand.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

bool is_symbol(std::string_view text) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '$' && c != '@')
            return false;
    return true;
}

class Matcher {
public:
    Matcher(Target target, WaveSize wave, const ParsedLine& line, Opcode opcode, Encoding encoding)
        : target_(target), generation_(generation(target)), wave_(wave), line_(line), row_(info(opcode)) {
        parsed_.instruction.opcode = opcode;
        parsed_.instruction.encoding = encoding;
        parsed_.instruction.op_sel_hi = default_op_sel_hi(row_);
        if (row_.format == Format::VOP1 || row_.format == Format::VOP2 || row_.format == Format::VOPC ||
            row_.format == Format::VOP3)
            parsed_.instruction.op_sel_hi = 0;
        constexpr uint8_t kPreserve = 2;  // as LLVM has it where a line does not name dst_unused
        if (encoding == Encoding::sdwa && row_.format != Format::VOPC)
            parsed_.instruction.sdwa.destination_unused = kPreserve;
    }

    Result<Parsed> match() {
        if (!takes_label()) RIFTJIT_TRY_VOID(apply_modifiers());
        collect_pieces();
        RIFTJIT_TRY_VOID(check_count());
        for (size_t i = 0; i < pieces_.size(); ++i)
            if (const Result<void> taken = take(written_[i], pieces_[i]); !taken)
                return operand_error(target_, line_.mnemonic, i + 1, pieces_[i], taken.error().message);
        finish();
        return std::move(parsed_);
    }

private:
    Instruction& instruction() { return parsed_.instruction; }

    bool takes_label() const {
        return std::ranges::any_of(row_.source_operands(),
                                   [](const OperandInfo& source) { return source.type == OperandType::label; });
    }

    Result<void> apply_modifiers() {
        for (const LineModifier& modifier : line_.modifiers)
            if (const Result<void> applied = apply_modifier(generation_, modifier, instruction()); !applied)
                return fail(ErrorKind::Usage, "{}: modifier at column {}: {} ({})", line_.mnemonic, modifier.column,
                            applied.error().message, name(target_));
        return {};
    }

    Address& address() { return parsed_.instruction.address; }

    // A single immediate may hold blanks and commas: s_waitcnt vmcnt(0), lgkmcnt(0).
    void collect_pieces() {
        const CachePolicy& cache = address().cache;
        const MemoryForm memory = {.returns = cache.glc || (cache.temporal_hint & 1) != 0, .to_lds = address().lds};
        written_ = written_operands(generation_, row_, instruction().encoding, memory);
        pieces_ = line_.operands;
        const bool takes_rest = written_.size() == 1 && written_[0].kind == WrittenKind::simm16;
        if (takes_rest && !pieces_.empty()) pieces_ = {line_.operand_text};
        // A label may be called as a modifier is: s_branch done. No instruction takes both.
        if (takes_label()) pieces_ = split_outside_brackets(line_.operand_text.text, line_.operand_text.column, ',');
    }

    Result<void> check_count() const {
        const size_t most = written_.size();
        size_t least = most;
        // s_endpgm's number and the offset of a scalar load may be left out.
        if (row_.opcode == Opcode::s_endpgm || (most != 0 && written_[most - 1].kind == WrittenKind::scalar_offset))
            --least;
        if (pieces_.size() >= least && pieces_.size() <= most) return {};
        return fail(ErrorKind::Usage, "{}: takes {} operands, not {} ({})", line_.mnemonic, most, pieces_.size(),
                    name(target_));
    }

    Result<void> take(const WrittenOperand& written, const LinePiece& piece) {
        switch (written.kind) {
            case WrittenKind::simm16:
            case WrittenKind::hwreg:
            case WrittenKind::label:
            case WrittenKind::message:
                return take_symbolic(written, piece.text);
            default:
                break;
        }
        RIFTJIT_TRY(value, parse_operand_text(generation_, piece.text));
        switch (written.kind) {
            case WrittenKind::operand:
                return take_operand(written.index, value);
            case WrittenKind::vcc:
                return take_vcc(written.index, value);
            case WrittenKind::barrier:
                return take_source(written.index, value, OperandType::i32, 1);
            case WrittenKind::literal:
                return take_literal(row_.operands[written.index].type, value);
            case WrittenKind::length:
                return take_number(instruction().operands[written.index], value);
            case WrittenKind::number_offset:
                return take_offset(value);
            case WrittenKind::scalar_offset:
                return value.form == ValueForm::integer ? take_offset(value)
                                                        : take_register(address().soffset, value, 1);
            case WrittenKind::soffset:
                return take_scalar_offset(value);
            default:
                return take_address(written.kind, value);
        }
    }

    Result<void> take_address(WrittenKind kind, const ParsedOperand& value) {
        const bool is_off = value.form == ValueForm::word && value.word == "off";
        switch (kind) {
            case WrittenKind::vaddr:
                return take_vaddr(value);
            case WrittenKind::vaddr_or_off:
                if (row_.format == Format::MUBUF) return take_buffer_vaddr(value, is_off);
                if (is_off) return {};
                address().vaddr_enable = generation_ != Generation::gfx10;
                return take_register(address().vaddr, value, 1);
            case WrittenKind::saddr_or_off:
                if (is_off) return address().saddr = null_register(generation_), Result<void>();
                return take_register(address().saddr, value, row_.format == Format::SCRATCH ? 1 : 2);
            case WrittenKind::resource:
                return take_register(address().resource, value, 4);
            default:
                return take_register(address().saddr, value, has_resource() ? 4 : 2);
        }
    }

    bool has_resource() const {
        for (const OperandInfo& source : row_.source_operands())
            if (source.type == OperandType::rsrc) return true;
        return false;
    }

    // With a scalar base a global address is one VGPR; the base is the last operand.
    Result<void> take_vaddr(const ParsedOperand& value) {
        unsigned dwords = 1;
        if (row_.format == Format::FLAT) dwords = 2;
        if (row_.format == Format::GLOBAL && !pieces_.empty()) dwords = pieces_.back().text == "off" ? 2 : 1;
        return take_register(address().vaddr, value, dwords);
    }

    Result<void> take_buffer_vaddr(const ParsedOperand& value, bool is_off) {
        const bool is_used = address().offset_enable || address().index_enable;
        if (is_off) {
            if (is_used) return fail(ErrorKind::Usage, "offen and idxen need an address register");
            address().vaddr = vgpr(0);
            return {};
        }
        if (!is_used) return fail(ErrorKind::Usage, "an address register needs offen or idxen");
        return take_register(address().vaddr, value, address().offset_enable && address().index_enable ? 2 : 1);
    }

    Result<void> take_symbolic(const WrittenOperand& written, std::string_view text) {
        if (const std::optional<int64_t> number = parse_number(text)) {
            const int64_t limit = written.kind == WrittenKind::message ? 255 : 65535;
            if (*number < -32768 || *number > limit)
                return fail(ErrorKind::Usage, "does not fit {} bits", limit == 255 ? 8 : 16);
            if (*number < 0 && is_unsigned(written)) return fail(ErrorKind::Usage, "must not be negative");
            return set_symbolic(written, static_cast<uint16_t>(*number));
        }
        if (written.kind == WrittenKind::label) {
            if (!is_symbol(text)) return fail(ErrorKind::Usage, "is no label and no number");
            parsed_.label = text;
            return {};
        }
        RIFTJIT_TRY(value, parse_symbolic(written, text));
        if (written.kind == WrittenKind::message && value > 255) return fail(ErrorKind::Usage, "does not fit 8 bits");
        return set_symbolic(written, value);
    }

    // Where a sign means nothing: fields side by side, a number that is handed on, a comparison without sign.
    bool is_unsigned(const WrittenOperand& written) const {
        if (written.kind == WrittenKind::message || written.kind == WrittenKind::hwreg) return true;
        return row_.opcode == Opcode::s_sendmsg || row_.opcode == Opcode::s_sendmsghalt ||
               row_.opcode == Opcode::s_endpgm || (row_.name.starts_with("s_cmpk_") && row_.name.ends_with("_u32"));
    }

    Result<void> set_symbolic(const WrittenOperand& written, uint16_t value) {
        if (written.kind == WrittenKind::message) {
            instruction().operands[written.index] = Operand{value};
        } else {
            instruction().simm16 = value;
        }
        return {};
    }

    Result<uint16_t> parse_symbolic(const WrittenOperand& written, std::string_view text) const {
        if (written.kind == WrittenKind::message) return parse_message(generation_, text);
        if (written.kind == WrittenKind::hwreg) return parse_hardware_register(generation_, text);
        switch (row_.opcode) {
            case Opcode::s_waitcnt:
                return parse_wait_counts(generation_, text);
            case Opcode::s_wait_alu:
                return parse_dependency_counters(text);
            case Opcode::s_delay_alu:
                return parse_delay(text);
            case Opcode::s_sendmsg:
            case Opcode::s_sendmsghalt:
                return parse_message(generation_, text);
            case Opcode::s_version:
                return parse_version(text);
            default:
                return fail(ErrorKind::Usage, "is no number");
        }
    }

    Result<void> take_vcc(unsigned index, const ParsedOperand& value) {
        const unsigned dwords = wave_ == WaveSize::wave32 ? 1 : 2;
        if (value.form != ValueForm::register_ || value.reg.code != Operand::kVcc || value.dwords != dwords)
            return fail(ErrorKind::Usage, "must be {} in this form", dwords == 1 ? "vcc_lo" : "vcc");
        instruction().operands[index] = {Operand::kVcc};
        return {};
    }

    Result<void> take_number(Operand& into, const ParsedOperand& value) {
        if (value.form != ValueForm::integer || value.integer < 0 || value.integer > 127)
            return fail(ErrorKind::Usage, "is no number between 0 and 127");
        into = {static_cast<uint16_t>(value.integer)};
        return {};
    }

    Result<void> take_offset(const ParsedOperand& value) {
        if (value.form != ValueForm::integer || value.integer < INT32_MIN || value.integer > INT32_MAX)
            return fail(ErrorKind::Usage, "is no offset");
        const bool is_second =
            row_.format == Format::SMEM &&
            std::ranges::any_of(line_.modifiers, [](const auto& each) { return each.name == "offset"; });
        if (is_second) return fail(ErrorKind::Usage, "is a number where offset: gives another");
        address().offset = static_cast<int32_t>(value.integer);
        return {};
    }

    Result<void> take_scalar_offset(const ParsedOperand& value) {
        if (value.form == ValueForm::register_) return take_register(address().soffset, value, 1);
        if (value.form == ValueForm::word) return fail(ErrorKind::Usage, "is no register and no number");
        RIFTJIT_TRY(constant, source_constant(value, OperandType::i32));
        if (constant.operand.is_literal()) return fail(ErrorKind::Usage, "is no inline constant");
        address().soffset = constant.operand;
        return {};
    }

    Result<void> take_literal(OperandType type, const ParsedOperand& value) {
        if (value.form != ValueForm::integer && value.form != ValueForm::real)
            return fail(ErrorKind::Usage, "is no number");
        RIFTJIT_TRY(bits, literal_constant(value, type));
        return set_literal(bits);
    }

    Result<void> set_literal(uint32_t bits) {
        if (instruction().has_literal && instruction().literal != bits)
            return fail(ErrorKind::Usage, "is a second literal; an instruction holds one");
        instruction().has_literal = true;
        instruction().literal = bits;
        return {};
    }

    Result<void> take_register(Operand& into, const ParsedOperand& value, unsigned dwords) {
        if (value.form != ValueForm::register_) return fail(ErrorKind::Usage, "is no register");
        if (value.is_negated || value.is_absolute || value.is_sign_extended)
            return fail(ErrorKind::Usage, "takes no sign modifier");
        if (value.dwords != dwords && value.dwords != 0)
            return fail(ErrorKind::Usage, "is {} of {} bits where {} are needed",
                        value.reg.is_vgpr() ? "a VGPR" : "a register", 32 * value.dwords, 32 * dwords);
        into = value.reg;
        return {};
    }

    Result<void> take_operand(unsigned index, const ParsedOperand& value) {
        unsigned dwords = row_.operands[index].size(wave_);
        if (row_.format == Format::MUBUF && address().tfe) ++dwords;
        if (index < row_.destinations) {
            RIFTJIT_TRY_VOID(take_register(instruction().operands[index], value, dwords));
            return take_half(index, value);
        }
        return take_source(index, value, row_.operands[index].type, dwords);
    }

    // Without .l or .h a 16-bit operand is the low half, or the one that op_sel names.
    Result<void> take_half(unsigned index, const ParsedOperand& value) {
        if (!value.has_half) return {};
        if (!names_half(generation_, row_, index) || !value.reg.is_vgpr())
            return fail(ErrorKind::Usage, "takes no .l or .h");
        const auto bit = static_cast<uint8_t>(1u << half_bit(row_, index));
        const bool has_op_sel =
            std::ranges::find(line_.modifiers, "op_sel", &LineModifier::name) != line_.modifiers.end();
        if (has_op_sel && ((instruction().op_sel & bit) != 0) != value.is_high_half)
            return fail(ErrorKind::Usage, "is not the half that op_sel names");
        if (value.is_high_half) instruction().op_sel |= bit;
        return {};
    }

    Result<void> take_source(unsigned index, ParsedOperand value, OperandType type, unsigned dwords) {
        const unsigned source = index - row_.destinations;
        RIFTJIT_TRY_VOID(take_source_modifiers(source, value));
        Operand& operand = instruction().operands[index];
        if (value.form == ValueForm::register_) {
            RIFTJIT_TRY_VOID(take_register(operand, value, dwords));
            return take_half(index, value);
        }
        if (value.form == ValueForm::word) return fail(ErrorKind::Usage, "is no register and no number");
        RIFTJIT_TRY(constant, source_constant(value, type, doubles_inline_floats(generation_, row_)));
        operand = constant.operand;
        return operand.is_literal() ? set_literal(constant.literal) : Result<void>();
    }

    // Moves -, | | and sext() from the operand to the instruction, if the form has them.
    Result<void> take_source_modifiers(unsigned source, ParsedOperand& value) {
        if (!value.is_negated && !value.is_absolute && !value.is_sign_extended) return {};
        const Modifiers& allowed = row_.modifiers[static_cast<size_t>(generation_)];
        const Encoding encoding = instruction().encoding;
        const auto bit = static_cast<uint8_t>(1u << source);
        const bool has_fields =
            is_vop3_word(row_, generation_, encoding) || encoding == Encoding::sdwa || encoding == Encoding::dpp16;
        const bool is_list = row_.format == Format::VOP3P && !row_.mixed;
        if (value.is_sign_extended) {
            if (encoding != Encoding::sdwa) return fail(ErrorKind::Usage, "takes no sext()");
            instruction().sdwa.sign_extend |= bit;
        }
        if (value.is_negated && (!has_fields || is_list || (allowed.neg & bit) == 0))
            return fail(ErrorKind::Usage, "takes no minus sign");
        if (value.is_absolute && (!has_fields || is_list || (allowed.abs & bit) == 0))
            return fail(ErrorKind::Usage, "takes no absolute value");
        if (value.is_negated) instruction().neg |= bit;
        if (value.is_absolute) instruction().abs |= bit;
        value.is_negated = value.is_absolute = value.is_sign_extended = false;
        return {};
    }

    // What the text leaves out and the encoder expects.
    void finish() {
        Address& where = address();
        if (row_.format == Format::SMEM && !where.soffset.exists()) where.soffset = null_register(generation_);
    }

    Target target_;
    Generation generation_;
    WaveSize wave_;
    const ParsedLine& line_;
    const InstructionInfo& row_;
    WrittenOperands written_;
    std::vector<LinePiece> pieces_;
    Parsed parsed_;
};

}  // namespace

std::unexpected<Error> operand_error(Target target, std::string_view mnemonic, size_t number, const LinePiece& piece,
                                     std::string_view why) {
    return fail(ErrorKind::Usage, "{}: operand {} '{}' (column {}): {} ({})", mnemonic, number, piece.text,
                piece.column, why, name(target));
}

Result<Parsed> match_form(Target target, WaveSize wave, const ParsedLine& line, Opcode opcode, Encoding encoding) {
    return Matcher(target, wave, line, opcode, encoding).match();
}

}  // namespace riftjit::rdna
