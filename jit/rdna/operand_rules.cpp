#include "jit/rdna/operand_rules.h"

#include <algorithm>
#include <string>

#include "jit/rdna/operand_slots.h"
#include "jit/rdna/syntax.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kSgprs = 106, kFirstTtmp = 108, kTtmps = 16;

class Rules {
public:
    Rules(Target target, WaveSize wave, const Instruction& instruction)
        : target_(target),
          generation_(generation(target)),
          wave_(wave),
          instruction_(instruction),
          row_(info(instruction.opcode)),
          slots_(slots_of(instruction.opcode)),
          allowed_(row_.modifiers[static_cast<size_t>(generation_)]) {}

    Result<void> check() {
        if (!has(target_, row_.opcode)) return refuse("the target has no such instruction");
        if (!has_form(target_, row_, instruction_.encoding)) return refuse("the target has no such form of it");
        is_vop3_ = is_vop3_word(row_, generation_, instruction_.encoding);
        RIFTJIT_TRY_VOID(check_modifiers());
        for (unsigned i = 0; i < row_.destinations; ++i) RIFTJIT_TRY_VOID(check_destination(i));
        for (unsigned i = 0; i < row_.sources; ++i) RIFTJIT_TRY_VOID(check_source(i));
        RIFTJIT_TRY_VOID(check_literal());
        if (is_valu()) RIFTJIT_TRY_VOID(check_constant_bus());
        return {};
    }

private:
    template <class... Args>
    std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
        return fail(ErrorKind::Encoding, "{} ({}): {}", mnemonic(row_.opcode, generation_), name(target_),
                    fmt::format(format, std::forward<Args>(args)...));
    }
    bool is_valu() const { return row_.format >= Format::VOP1 && row_.format <= Format::VOP3P; }
    bool is_dpp() const { return is_dpp8(instruction_.encoding) || is_dpp16(instruction_.encoding); }
    bool is_sdwa() const { return instruction_.encoding == Encoding::sdwa; }
    bool is_matrix() const { return row_.name.starts_with("v_wmma") || is_swmmac(row_); }

    // Registers in the bits that the row does not have would be lost; so are modifiers.
    Result<void> check_modifiers() const {
        const bool takes_signs = is_vop3_ || is_sdwa() || is_dpp16(instruction_.encoding);
        if (instruction_.neg & ~(takes_signs ? allowed_.neg : 0)) return refuse("takes no such sign modifier");
        if (instruction_.abs & ~(takes_signs ? allowed_.abs : 0)) return refuse("takes no such absolute value");
        const bool takes_output = is_vop3_ || is_sdwa();
        if (instruction_.clamp && !(takes_output && (allowed_.clamp || is_sdwa()))) return refuse("takes no clamp");
        if (instruction_.omod != 0 && !(takes_output && allowed_.omod)) return refuse("takes no output multiplier");
        if (instruction_.op_sel & ~(is_vop3_ ? allowed_.op_sel : 0)) return refuse("takes no such op_sel");
        if (row_.format == Format::VOP3P) {
            const uint8_t changeable = allowed_.op_sel_hi;
            if ((instruction_.op_sel_hi ^ default_op_sel_hi(row_)) & ~changeable)
                return refuse("takes no such op_sel_hi");
        } else if (instruction_.op_sel_hi != 0) {
            return refuse("takes no op_sel_hi");
        }
        return {};
    }

    Result<void> check_destination(unsigned index) const {
        const OperandInfo& type = row_.operands[index];
        const Operand operand = instruction_.operands[index];
        if (type.type == OperandType::exec || (index == 1 && row_.format == Format::VOP1)) return {};
        if (row_.memory == MemoryKind::atomic && row_.format != Format::DS && !operand.exists()) return {};
        if (row_.memory == MemoryKind::load && instruction_.address.lds) return {};
        if (!operand.exists()) return refuse("destination {} is missing", index);
        if (index == slots_.mask_destination && !is_vop3_ && !(is_sdwa() && row_.format == Format::VOPC)) {
            if (operand.code != Operand::kVcc) return refuse("destination {} must be vcc in this form", index);
            return {};
        }
        const bool takes_scalar =
            row_.format <= Format::SMEM || type.type == OperandType::mask || type.registers == RegisterClass::sgpr;
        if (takes_scalar) return check_scalar(operand, dwords_of(index), "destination", index);
        if (!operand.is_vgpr()) return refuse("destination {} must be a VGPR", index);
        return check_vgpr(operand, dwords_of(index), "destination", index);
    }

    unsigned dwords_of(unsigned index) const {
        const unsigned dwords = row_.operands[index].size(wave_);
        return row_.format == Format::MUBUF && instruction_.address.tfe && index == 0 ? dwords + 1 : dwords;
    }

    Result<void> check_source(unsigned source) const {
        const unsigned index = row_.destinations + source;
        const OperandInfo& type = row_.operands[index];
        const Operand operand = instruction_.operands[index];
        if (index == slots_.mask_source && !is_vop3_) {
            if (operand.code != Operand::kVcc) return refuse("source {} must be vcc in this form", source);
            return {};
        }
        if (index == slots_.destination)
            return is_valu() ? check_vgpr_only(operand, index, source)
                             : check_scalar(operand, dwords_of(index), "source", source);
        const auto place = static_cast<unsigned>(std::find(slots_.source, slots_.source + 3, index) - slots_.source);
        if (place == 3) return {};
        if (!operand.exists()) return refuse("source {} is missing", source);
        if (row_.format > Format::VOP3P) return check_vgpr_only(operand, index, source);
        if (!is_valu()) return check_scalar_source(operand, type, index, source);
        return check_vector_source(operand, type, index, source, place);
    }

    Result<void> check_vgpr_only(Operand operand, unsigned index, unsigned source) const {
        if (!operand.is_vgpr()) return refuse("source {} must be a VGPR", source);
        return check_vgpr(operand, dwords_of(index), "source", source);
    }

    Result<void> check_scalar_source(Operand operand, const OperandInfo& type, unsigned index, unsigned source) const {
        if (operand.is_vgpr()) return refuse("source {} must be a scalar", source);
        if (type.type == OperandType::barrier) {
            const bool is_number = operand.code >= 128 && operand.code <= 208;
            if (!is_number && operand != m0_register(generation_))
                return refuse("source {} must be an inline integer or m0", source);
            return {};
        }
        const bool is_register_only = type.type >= OperandType::b16 && type.type <= OperandType::b1024;
        if (operand.is_scalar_register()) return check_scalar(operand, dwords_of(index), "source", source);
        if (is_register_only) return refuse("source {} must be a register", source);
        return check_special(operand, source);
    }

    Result<void> check_vector_source(Operand operand, const OperandInfo& type, unsigned index, unsigned source,
                                     unsigned place) const {
        const bool is_short = !is_vop3_;
        const bool vgpr_by_format = is_short && place == 1 && !is_sdwa();
        const bool vgpr_by_dpp = is_dpp() && (place == 0 || (place == 1 && !takes_scalar_src1()));
        if (type.registers == RegisterClass::vgpr || vgpr_by_format || vgpr_by_dpp)
            return check_vgpr_only(operand, index, source);
        if (operand.is_vgpr()) {
            if (type.registers == RegisterClass::sgpr || type.type == OperandType::mask)
                return refuse("source {} must be a scalar", source);
            return check_vgpr(operand, dwords_of(index), "source", source);
        }
        if (type.type == OperandType::mask) return check_scalar(operand, dwords_of(index), "source", source);
        if (operand.is_scalar_register()) {
            if (is_matrix()) return refuse("source {} must be VGPRs or an inline constant", source);
            return check_scalar(operand, dwords_of(index), "source", source);
        }
        if (is_sdwa()) return refuse("source {}: SDWA takes no constant", source);
        return check_special(operand, source);
    }

    bool takes_scalar_src1() const { return is_vop3_ && has(target_, Feature::dpp_src1_sgpr); }

    Result<void> check_special(Operand operand, unsigned source) const {
        if (operand.is_inline_constant()) return {};
        if (operand.is_literal()) {
            const bool takes_literal = !is_dpp() && !is_sdwa() && !is_matrix();
            return takes_literal ? Result<void>() : Result<void>(refuse("source {}: takes no literal", source));
        }
        const bool is_aperture = operand.code >= 235 && operand.code <= 238;
        const bool is_old =
            generation_ == Generation::gfx10 && (operand.code == 239 || operand.code == 251 || operand.code == 252);
        if (!is_matrix() && (is_aperture || is_old || operand.code == Operand::kScc)) return {};
        return refuse("source {}: code {} is no operand", source, operand.code);
    }

    Result<void> check_vgpr(Operand operand, unsigned dwords, std::string_view what, unsigned number) const {
        if (row_.opcode == Opcode::v_mov_b16) return {};
        if (operand.vgpr() + dwords > 256)
            return refuse("{} {}: v[{}:{}] is beyond v255", what, number, operand.vgpr(), operand.vgpr() + dwords - 1);
        return {};
    }

    Result<void> check_scalar(Operand operand, unsigned dwords, std::string_view what, unsigned number) const {
        if (!operand.exists() || !operand.is_scalar_register())
            return refuse("{} {} must be a scalar register", what, number);
        const unsigned code = operand.code, alignment = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
        if (operand == null_register(generation_)) return {};
        unsigned first = 0, count = kSgprs + 2;  // vcc ends the file for pairs
        if (code >= kFirstTtmp && code < kFirstTtmp + kTtmps) first = kFirstTtmp, count = kTtmps;
        if (code >= kFirstTtmp + kTtmps) first = 126, count = 2;
        if (code < kFirstTtmp && dwords > 2) count = kSgprs;
        if (operand == m0_register(generation_)) first = code, count = 1;
        if (code < first || code + dwords > first + count)
            return refuse("{} {}: {} scalar registers from code {} do not exist", what, number, dwords, code);
        if ((code - first) % alignment != 0)
            return refuse("{} {}: {} scalar registers must start at a multiple of {}", what, number, dwords, alignment);
        return {};
    }

    bool uses_literal() const {
        for (unsigned i = 0; i < row_.sources; ++i)
            if (instruction_.operands[row_.destinations + i].is_literal()) return true;
        if (slots_.constant != kNoOperand) return true;
        return row_.format == Format::SOPK && row_.sources == 2 &&
               row_.operands[row_.destinations + 1u].type == OperandType::literal;
    }
    Result<void> check_literal() const {
        if (instruction_.has_literal != uses_literal())
            return refuse("{}",
                          instruction_.has_literal ? "a literal that no operand names" : "the literal is missing");
        return {};
    }

    bool is_wide_shift() const {
        return row_.opcode == Opcode::v_lshlrev_b64 || row_.opcode == Opcode::v_lshrrev_b64 ||
               row_.opcode == Opcode::v_ashrrev_i64;
    }
    // Distinct scalar values that a VALU instruction reads: registers, a literal, vcc read implicitly.
    Result<void> check_constant_bus() const {
        uint16_t seen[6];
        unsigned count = 0;
        const auto add = [&](uint16_t code) {
            if (std::find(seen, seen + count, code) == seen + count) seen[count++] = code;
        };
        for (unsigned i = 0; i < row_.sources; ++i) {
            const Operand operand = instruction_.operands[row_.destinations + i];
            if (!operand.exists() || operand.is_vgpr() || operand.is_inline_constant()) continue;
            if (operand == null_register(generation_)) continue;
            add(operand.code);
        }
        if (slots_.constant != kNoOperand) add(Operand::kLiteral);
        if (row_.reads_vcc && row_.format == Format::VOP3) add(Operand::kVcc);
        const unsigned limit = is_wide_shift() ? 1 : 2;
        if (count > limit) return refuse("reads {} scalar values, the constant bus carries {}", count, limit);
        return {};
    }

    Target target_;
    Generation generation_;
    WaveSize wave_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    const OperandSlots& slots_;
    const Modifiers& allowed_;
    bool is_vop3_ = false;
};

// VOPD: two halves that read at once from four banks.
class DualRules {
public:
    DualRules(Target target, const Instruction& instruction)
        : target_(target), x_(instruction.dual[0]), y_(instruction.dual[1]), instruction_(instruction) {}

    Result<void> check() const {
        for (unsigned half = 0; half < 2; ++half) RIFTJIT_TRY_VOID(check_half(half == 0 ? x_ : y_, half));
        const unsigned x = x_.operands[0].vgpr(), y = y_.operands[0].vgpr();
        if (x % 2 == y % 2) return refuse("one destination must be even and one odd, not v{} and v{}", x, y);
        RIFTJIT_TRY_VOID(check_banks());
        return check_scalars();
    }

private:
    template <class... Args>
    std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
        return fail(ErrorKind::Encoding, "VOPD of {} and {} ({}): {}", mnemonic(x_.opcode, generation(target_)),
                    mnemonic(y_.opcode, generation(target_)), name(target_),
                    fmt::format(format, std::forward<Args>(args)...));
    }
    static bool has_vsrc1(const VopdHalf& half) { return half.opcode != Opcode::v_mov_b32; }
    static bool has_constant(const VopdHalf& half) {
        return half.opcode == Opcode::v_fmaak_f32 || half.opcode == Opcode::v_fmamk_f32;
    }
    // The third operand that is a VGPR: fmac's and dot2acc's destination, fmamk's addend (which lies in vsrc1).
    static Operand third(const VopdHalf& half) {
        if (half.opcode == Opcode::v_fmac_f32 || half.opcode == Opcode::v_dot2acc_f32_f16) return half.operands[0];
        if (half.opcode == Opcode::v_fmamk_f32) return half.operands[2];
        return {};
    }

    Result<void> check_half(const VopdHalf& half, unsigned number) const {
        const auto duals = dual_instructions();
        const auto found = std::ranges::find(duals, half.opcode, &DualInfo::opcode);
        const Generation chip = generation(target_);
        if (chip == Generation::gfx10 || found == duals.end() || chip < found->first || chip > found->last ||
            !(number == 0 ? found->x : found->y).exists())
            return refuse("the {} half cannot be {}", number == 0 ? 'X' : 'Y', mnemonic(half.opcode, chip));
        if (!half.operands[0].is_vgpr()) return refuse("a destination must be a VGPR");
        if (!half.operands[1].exists()) return refuse("a source is missing");
        if (has_vsrc1(half) && !half.operands[2].is_vgpr()) return refuse("the second source must be a VGPR");
        const Operand source = half.operands[1];
        const bool is_plain = source.is_vgpr() || source.is_scalar_register() || source.is_inline_constant() ||
                              source.is_literal() || source.code == Operand::kScc ||
                              (source.code >= 235 && source.code <= 238);
        if (!is_plain) return refuse("code {} is no operand", source.code);
        return {};
    }
    Result<void> check_banks() const {
        const auto clash = [](Operand a, Operand b, unsigned banks) {
            return a.is_vgpr() && b.is_vgpr() && a.vgpr() % banks == b.vgpr() % banks;
        };
        const bool both_move = x_.opcode == Opcode::v_mov_b32 && y_.opcode == Opcode::v_mov_b32;
        const bool is_exempt = both_move && generation(target_) == Generation::gfx12;
        if (!is_exempt && clash(x_.operands[1], y_.operands[1], 4))
            return refuse("both first sources lie in the same bank");
        const Operand x1 = x_.opcode == Opcode::v_fmamk_f32 ? Operand() : x_.operands[2];
        const Operand y1 = y_.opcode == Opcode::v_fmamk_f32 ? Operand() : y_.operands[2];
        if (has_vsrc1(x_) && has_vsrc1(y_) && clash(x1, y1, 4))
            return refuse("both second sources lie in the same bank");
        if (clash(third(x_), third(y_), 2)) return refuse("both third sources lie in the same bank");
        return {};
    }
    Result<void> check_scalars() const {
        uint16_t seen[6];
        unsigned count = 0;
        bool uses_literal = false;
        const auto add = [&](uint16_t code) {
            if (std::find(seen, seen + count, code) == seen + count) seen[count++] = code;
        };
        for (const VopdHalf* half : {&x_, &y_}) {
            const Operand source = half->operands[1];
            if (!source.is_vgpr() && !source.is_inline_constant() && source != null_register(generation(target_)))
                add(source.code);
            if (half->opcode == Opcode::v_cndmask_b32) add(Operand::kVcc);
            if (has_constant(*half)) add(Operand::kLiteral);
            uses_literal |= has_constant(*half) || source.is_literal();
        }
        if (count > 2) return refuse("reads {} scalar values, two may be read", count);
        if (uses_literal != instruction_.has_literal) return refuse("a literal is missing or superfluous");
        return {};
    }

    Target target_;
    const VopdHalf &x_, &y_;
    const Instruction& instruction_;
};

}  // namespace

bool has_form(Target target, const InstructionInfo& row, Encoding form) {
    const auto generation_index = static_cast<size_t>(generation(target));
    const Modifiers& allowed = row.modifiers[generation_index];
    const bool is_short = row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
    const bool vop3_only = row.number[generation_index].vop3_only;
    switch (form) {
        case Encoding::native:
            return true;
        case Encoding::e64:
            return is_short && (vop3_only || !allowed.no_e64);
        case Encoding::sdwa:
            return is_short && allowed.sdwa;
        case Encoding::dpp16:
        case Encoding::dpp8:
            return is_short && !vop3_only ? allowed.dpp : allowed.e64_dpp;
        case Encoding::e64_dpp16:
        case Encoding::e64_dpp8:
            return is_short && !vop3_only && allowed.e64_dpp;
        case Encoding::vopd:
            return generation(target) != Generation::gfx10;
    }
    return false;
}

Result<void> check_instruction(Target target, WaveSize wave, const Instruction& instruction) {
    if (instruction.encoding != Encoding::vopd) return Rules(target, wave, instruction).check();
    if (wave == WaveSize::wave64) return fail(ErrorKind::Encoding, "VOPD ({}): wave32 only", name(target));
    return DualRules(target, instruction).check();
}

}  // namespace riftjit::rdna
