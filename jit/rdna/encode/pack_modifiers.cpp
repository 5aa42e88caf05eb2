#include <algorithm>
#include <span>

#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

bool is_dpp_control(unsigned control) {
    if (control < 0x100) return true;  // quad_perm
    if (control == 0x140 || control == 0x141) return true;
    const unsigned group = control >> 4;
    const bool is_shift = group >= 0x10 && group <= 0x12;  // by 0 there is none
    return (is_shift && (control & 15) != 0) || group == 0x15 || group == 0x16;
}

bool is_integer(OperandType type) {
    return type == OperandType::i16 || type == OperandType::i32 || type <= OperandType::b64;
}

class ModifierPacker {
public:
    ModifierPacker(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                   FieldValues& values)
        : context_(context),
          instruction_(instruction),
          plan_(plan),
          row_(info(instruction.opcode)),
          allowed_(row_.modifiers[static_cast<size_t>(context.generation)]),
          values_(values) {}

    Refusal pack() {
        if (const Refusal refusal = pack_common()) return refusal;
        if (const Refusal refusal = pack_selects()) return refusal;
        return pack_word();
    }

private:
    bool is_long() const {
        return plan_.base == Layout::VOP3 || plan_.base == Layout::VOP3_sdst || plan_.base == Layout::VOP3P;
    }
    bool is_sdwa() const { return instruction_.encoding == Encoding::sdwa; }

    Refusal pack_common() {
        const bool in_word = plan_.extra == Layout::DPP16 || is_sdwa();
        const unsigned neg = is_long() ? allowed_.neg : in_word ? allowed_.neg & 3u : 0;
        const unsigned abs = is_long() ? allowed_.abs : in_word ? allowed_.abs & 3u : 0;
        const bool has_output = is_long() || plan_.extra == Layout::SDWA;
        if ((instruction_.neg & ~neg) != 0)
            return refuse_part(row_.format == Format::VOP3P ? "neg_lo" : "neg", "names a source that does not take it");
        if ((instruction_.abs & ~abs) != 0)
            return refuse_part(row_.format == Format::VOP3P ? "neg_hi" : "abs", "names a source that does not take it");
        if (instruction_.clamp && is_sdwa() && has_output && !allowed_.clamp)
            return refuse_part("clamp", "is left out beside SDWA where the other forms take none");
        if (instruction_.clamp && !(has_output && allowed_.clamp)) return refuse_part("clamp", "is not taken");
        const bool scales = !is_sdwa() || !converts_to_integer();
        if (instruction_.omod != 0 && !scales)
            return refuse_part("omod", "is not taken by SDWA conversions to integers");
        if (instruction_.omod > 3 || (instruction_.omod != 0 && !(has_output && allowed_.omod)))
            return refuse_part("omod", "is not taken");
        values_[Field::clamp] = instruction_.clamp;
        values_[Field::omod] = instruction_.omod;
        if (is_long()) {
            values_[Field::neg] = instruction_.neg;
            values_[Field::abs] = instruction_.abs;
        } else {
            values_[Field::word_neg0] = instruction_.neg & 1u;
            values_[Field::word_neg1] = instruction_.neg >> 1 & 1u;
            values_[Field::word_abs0] = instruction_.abs & 1u;
            values_[Field::word_abs1] = instruction_.abs >> 1 & 1u;
        }
        return {};
    }

    bool converts_to_integer() const {
        for (const std::string_view start : {"v_cvt_u", "v_cvt_i", "v_cvt_norm", "v_frexp_exp"})
            if (row_.name.starts_with(start)) return true;
        return false;
    }

    Refusal pack_selects() {
        const unsigned low = is_long() ? op_sel_bits(context_.generation, row_) : halves_in_fields();
        if ((instruction_.op_sel & ~low) != 0) return refuse_part("op_sel", "names a source that does not take it");
        values_[Field::op_sel] = instruction_.op_sel;
        if (row_.format != Format::VOP3P)
            return instruction_.op_sel_hi != 0 ? refuse_part("op_sel_hi", "is not taken") : Refusal{};
        // What no source of the row takes is written as LLVM does; callers may leave it out.
        const unsigned defaults = default_op_sel_hi(row_), free = defaults & ~unsigned{allowed_.op_sel_hi};
        const unsigned others = instruction_.op_sel_hi & ~unsigned{allowed_.op_sel_hi};
        if (others != 0 && others != free) return refuse_part("op_sel_hi", "names a source that does not take it");
        const unsigned high = (instruction_.op_sel_hi & allowed_.op_sel_hi) | free;
        values_[Field::op_sel_hi01] = high & 3;
        values_[Field::op_sel_hi2] = high >> 2;
        return {};
    }

    // What the fields of VGPRs say.
    unsigned halves_in_fields() const {
        unsigned bits = 0;
        for (unsigned i = 0; i < plan_.operand_count; ++i)
            if (plan_.slots[i].half && instruction_.operands[i].is_vgpr()) bits |= 1u << half_bit(row_, i);
        return bits;
    }

    Refusal pack_word() {
        if (!is_sdwa() && instruction_.sdwa != Sdwa{}) return refuse_part("sdwa", "is not this form");
        if (plan_.extra != Layout::DPP16 && plan_.extra != Layout::DPP8 && instruction_.dpp != Dpp{})
            return refuse_part("dpp", "is not this form");
        if (plan_.extra == Layout::DPP16) return pack_dpp16();
        if (plan_.extra == Layout::DPP8) return pack_dpp8();
        if (is_sdwa()) return pack_sdwa();
        return {};
    }

    Refusal pack_dpp16() {
        const Dpp& dpp = instruction_.dpp;
        if (!is_dpp_control(dpp.control)) return refuse_part("dpp_ctrl", "is no lane pattern");
        if (dpp.row_mask > 15 || dpp.bank_mask > 15) return refuse_part("dpp", "has a mask of more than four bits");
        if (dpp.selectors != 0) return refuse_part("dpp8", "is not this form");
        values_[Field::src0] = kDpp16Follows;
        values_[Field::dpp_control] = dpp.control;
        values_[Field::row_mask] = dpp.row_mask;
        values_[Field::bank_mask] = dpp.bank_mask;
        values_[Field::bound_control] = dpp.bound_control;
        values_[Field::fetch_inactive] = dpp.fetch_inactive;
        return {};
    }

    Refusal pack_dpp8() {
        const Dpp& dpp = instruction_.dpp;
        if (dpp.control != 0 || dpp.row_mask != 15 || dpp.bank_mask != 15 || dpp.bound_control)
            return refuse_part("dpp", "has fields that DPP8 lacks");
        if (dpp.selectors >> 24 != 0) return refuse_part("dpp8", "has more than eight selectors");
        values_[Field::src0] = dpp.fetch_inactive ? kDpp8FollowsFetchInactive : kDpp8Follows;
        values_[Field::selectors] = dpp.selectors;
        return {};
    }

    Refusal pack_sdwa() {
        const Sdwa& sdwa = instruction_.sdwa;
        constexpr unsigned kDword = 6, kPreserve = 2;
        for (const unsigned select : {sdwa.destination_select, sdwa.source_select[0], sdwa.source_select[1]})
            if (select > kDword) return refuse_part("sdwa", "selects no byte, word or dword");
        if (sdwa.destination_unused > kPreserve) return refuse_part("dst_unused", "is more than UNUSED_PRESERVE");
        if (const Refusal refusal = check_sign_extension()) return refusal;
        const bool has_second = written_sources(row_).count > 1 && row_.format != Format::VOP1;
        if (!has_second && sdwa.source_select[1] != kDword) return refuse_part("src1_sel", "has no source");
        const bool is_compare = plan_.extra == Layout::SDWA_compare;
        if (is_compare && (sdwa.destination_select != kDword || sdwa.destination_unused != 0))
            return refuse_part("dst_sel", "is not taken by a compare");
        if (is_compare) pack_compare_destination();
        values_[Field::src0] = kSdwaFollows;
        values_[Field::destination_select] = sdwa.destination_select;
        values_[Field::destination_unused] = sdwa.destination_unused;
        values_[Field::source_select0] = sdwa.source_select[0];
        values_[Field::source_select1] = has_second ? sdwa.source_select[1] : 0;
        values_[Field::sign_extend0] = sdwa.sign_extend & 1u;
        values_[Field::sign_extend1] = sdwa.sign_extend >> 1 & 1u;
        return {};
    }

    // vcc is what a compare writes unless has_sdst is set; cmpx writes exec either way.
    void pack_compare_destination() {
        const bool is_vcc = values_[Field::sdst] == Operand::kVcc;
        values_[Field::has_sdst] = row_.operands[0].type == OperandType::mask && !is_vcc;
        if (is_vcc) values_[Field::sdst] = 0;
    }

    Refusal check_sign_extension() const {
        for (unsigned source = 0; source < 8; ++source) {
            if ((instruction_.sdwa.sign_extend >> source & 1) == 0) continue;
            if (source > (row_.format == Format::VOP1 ? 0u : 1u) || source >= row_.sources ||
                !is_integer(row_.source_operands()[source].type) || ((allowed_.neg | allowed_.abs) >> source & 1) != 0)
                return refuse_part("sext", "names a source that is no integer");
        }
        return {};
    }

    const EncodingContext& context_;
    const Instruction& instruction_;
    const EncodingPlan& plan_;
    const InstructionInfo& row_;
    const Modifiers& allowed_;
    FieldValues& values_;
};

bool is_wide_shift(Opcode opcode) {
    return opcode == Opcode::v_lshlrev_b64 || opcode == Opcode::v_lshrrev_b64 || opcode == Opcode::v_ashrrev_i64;
}

}  // namespace

Refusal pack_modifiers(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                       FieldValues& values) {
    return ModifierPacker(context, instruction, plan, values).pack();
}

Refusal check_constant_bus(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan) {
    const InstructionInfo& row = info(instruction.opcode);
    std::array<uint32_t, 7> seen{};
    unsigned count = 0;
    const auto read = [&](uint32_t value) {
        for (unsigned i = 0; i < count; ++i)
            if (seen[i] == value) return;
        seen[count++] = value;
    };
    // Registers and the literal count once for each size they are read in, but scc and the apertures, which have one.
    // LLVM takes the mask that no operand names for a pair, in waves of 32 lanes too.
    constexpr uint32_t kVccPair = Operand::kVcc | 2u << 16;
    const auto names_vcc = [](const OperandSlot& slot) { return slot.place == Place::vcc; };
    const auto sources = std::span(plan.slots).first(plan.operand_count).subspan(row.destinations);
    if (row.reads_vcc || std::ranges::any_of(sources, names_vcc)) read(kVccPair);
    for (unsigned i = row.destinations; i < plan.operand_count; ++i) {
        const OperandSlot slot = plan.slots[i];
        const Operand operand = slot.place == Place::constant ? Operand{Operand::kLiteral} : instruction.operands[i];
        const bool is_read = slot.place == Place::source || slot.place == Place::constant;
        if (!is_read || !operand.exists() || operand.is_vgpr() || operand.is_inline_constant() ||
            operand == null_register(context.generation))
            continue;
        const bool has_one_size = operand.code == Operand::kScc || is_aperture(operand.code);
        const bool is_wide = row.operands[i].size(context.wave) == 2 && !has_one_size;
        const unsigned dwords = is_wide ? 2 : 1;
        read(operand.code | dwords << 16);
        if (count > (is_wide_shift(row.opcode) ? 1u : 2u))
            return refuse_operand(i, "is one scalar value more than the constant bus carries");
    }
    return {};
}

}  // namespace riftjit::rdna
