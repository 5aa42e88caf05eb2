#include "jit/rdna/encode/pack.h"

#include "jit/rdna/table/accesses.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

bool is_register_type(OperandType type) { return type <= OperandType::b1024; }

class Packer {
public:
    Packer(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan)
        : context_(context), instruction_(instruction), plan_(plan), row_(info(instruction.opcode)) {}

    Refusal pack(EncodedInstruction& out) {
        values_[Field::op] = plan_.number;
        if (plan_.uses_simm16) {
            values_[Field::simm16] = instruction_.simm16;
        } else if (instruction_.simm16 != 0) {
            return refuse_part("simm16", "is not used and must be 0");
        }
        for (unsigned i = 0; i < plan_.operand_count; ++i)
            if (const Refusal refusal = put_operand(i)) return refusal;
        for (unsigned i = plan_.operand_count; i < instruction_.operands.size(); ++i)
            if (instruction_.operands[i].exists()) return refuse_operand(i, "does not belong to this instruction");
        if (is_valu(row_.format)) {
            if (const Refusal refusal = pack_modifiers(context_, instruction_, plan_, values_)) return refusal;
            if (const Refusal refusal = check_constant_bus(context_, instruction_, plan_)) return refusal;
        } else if (const Refusal refusal = check_no_modifiers()) {
            return refusal;
        }
        if (row_.format == Format::SMEM || row_.format >= Format::DS) {
            if (const Refusal refusal = pack_address(context_, instruction_, plan_, values_)) return refusal;
        } else if (instruction_.address != Address{}) {
            return refuse_part("address", "does not belong to this instruction");
        }
        return write(out);
    }

private:
    Refusal write(EncodedInstruction& out) {
        const bool has_literal = reads_literal_ || plan_.has_immediate_literal;
        if (has_literal != instruction_.has_literal)
            return refuse_part("literal", has_literal ? "is missing" : "is not used");
        if (!has_literal && instruction_.literal != 0) return refuse_part("literal", "is not used");
        write_fields(layout_info(plan_.base, context_.generation), values_, out);
        if (plan_.extra != Layout::none) write_fields(layout_info(plan_.extra, context_.generation), values_, out);
        if (has_literal) out.words[out.count++] = instruction_.literal;
        return {};
    }

    Refusal check_no_modifiers() const {
        if (instruction_.neg != 0 || instruction_.abs != 0 || instruction_.omod != 0 || instruction_.clamp ||
            instruction_.op_sel != 0 || instruction_.op_sel_hi != 0)
            return refuse_part("modifiers", "belong to vector ALU instructions");
        if (instruction_.dpp != Dpp{} || instruction_.sdwa != Sdwa{})
            return refuse_part("modifiers", "belong to vector ALU instructions");
        return {};
    }

    Refusal put_operand(unsigned i) {
        const Operand operand = instruction_.operands[i];
        const OperandSlot slot = plan_.slots[i];
        switch (slot.place) {
            case Place::none:
                return put_nothing(i, operand);
            case Place::constant:
                if (operand.exists() && !operand.is_literal()) return refuse_operand(i, "is always the literal");
                return {};
            case Place::vcc:
                return operand.code == Operand::kVcc ? Refusal{} : refuse_operand(i, "must be vcc in this form");
            case Place::exec:
                if (operand.exists() && operand.code != Operand::kExec) return refuse_operand(i, "is always exec");
                if (slot.field != Field::count) values_[slot.field] = Operand::kExec;
                return {};
            case Place::tied:
                if (operand.exists() && operand != instruction_.operands[0])
                    return refuse_operand(i, "must be the destination, whose old value it is");
                return {};
            case Place::swapped:
                if (operand.exists() && operand != instruction_.operands[2])
                    return refuse_operand(i, "must be the register that is swapped");
                return {};
            case Place::immediate:
                return put_immediate(i, operand);
            case Place::vector:
                return put_vector(i, operand);
            case Place::scalar:
                return put_scalar(i, operand);
            case Place::source:
                return put_source(i, operand);
        }
        return {};
    }

    Refusal put_nothing(unsigned i, Operand operand) const {
        if (row_.format == Format::DS && i < row_.destinations)  // the address, written back
            return operand.exists() && operand != instruction_.address.vaddr
                       ? refuse_operand(i, "must be the address register")
                       : Refusal{};
        return operand.exists() ? refuse_operand(i, "is not an operand of its own") : Refusal{};
    }

    Refusal put_immediate(unsigned i, Operand operand) {
        const bool is_short = plan_.slots[i].field == Field::sdata;
        const unsigned limit = is_short && context_.generation == Generation::gfx12 ? 31 : is_short ? 127 : 255;
        if (operand.code > limit) return refuse_operand(i, "does not fit its field");
        values_[plan_.slots[i].field] = operand.code;
        return {};
    }

    unsigned dwords(unsigned i) const {
        unsigned dwords = row_.operands[i].size(context_.wave);
        if (row_.format == Format::MUBUF && instruction_.address.tfe && i < row_.destinations) ++dwords;
        return dwords;
    }

    // A destination of a memory instruction that writes none.
    bool is_unwritten(unsigned i) const {
        if (row_.format < Format::DS || i >= row_.destinations) return false;
        if (instruction_.address.lds) return true;
        if (row_.memory != MemoryKind::atomic || row_.format == Format::DS) return false;
        return row_.format == Format::MUBUF ||
               !returns_old_value(context_.generation, row_, instruction_.address.cache);
    }

    Refusal put_vector(unsigned i, Operand operand) {
        if (is_unwritten(i)) {
            const bool is_data = row_.format == Format::MUBUF && operand == instruction_.source(1);
            return operand.exists() && !is_data ? refuse_operand(i, "is not written by this form") : Refusal{};
        }
        if (!operand.is_vgpr()) return refuse_operand(i, "must be a VGPR");
        return put_vgpr(i, operand, plan_.slots[i].field);
    }

    Refusal put_vgpr(unsigned i, Operand operand, Field field) {
        if (operand.code > 511 || operand.vgpr() + dwords(i) > 256) return refuse_operand(i, "reaches past v255");
        if (plan_.slots[i].half && operand.vgpr() > 127)
            return refuse_operand(i, "is beyond v127, which a 16-bit operand of this form cannot name");
        values_[field] = operand.vgpr() | half_in_field(i);
        return {};
    }

    unsigned half_in_field(unsigned i) const {
        if (!plan_.slots[i].half) return 0;
        return (instruction_.op_sel >> half_bit(row_, i) & 1u) << 7;
    }

    Refusal put_scalar(unsigned i, Operand operand) {
        const OperandInfo& operand_info = row_.operands[i];
        const bool is_written = plan_.slots[i].field == Field::sdst || plan_.slots[i].field == Field::sdata ||
                                plan_.slots[i].field == Field::vdst;
        if (operand.is_scalar_register()) {
            if (!is_scalar_group(context_.generation, operand.code, dwords(i)))
                return refuse_operand(i, "is no aligned group of SGPRs of its size");
            if (const Refusal refusal = check_scalar_register(i, operand)) return refusal;
        } else {
            if (is_written) return refuse_operand(i, "must be an SGPR");
            if (const Refusal refusal = check_scalar_constant(i, operand, operand_info.type)) return refusal;
        }
        values_[plan_.slots[i].field] = operand.code;
        return {};
    }

    Refusal check_scalar_register(unsigned i, Operand operand) const {
        const bool is_null = operand == null_register(context_.generation);
        if (row_.format == Format::SMEM && !is_null && operand.code >= 124)
            return refuse_operand(i, "must not be exec or m0");
        if (row_.format == Format::VOP3 && row_.name.starts_with("v_s_") && operand.code >= Operand::kExec)
            return refuse_operand(i, "must not be exec");
        if (row_.operands[i].type == OperandType::barrier && operand != m0_register(context_.generation))
            return refuse_operand(i, "must be m0 or a number");
        if (row_.format == Format::SOPK && row_.name.starts_with("s_waitcnt_") && !is_null)
            return refuse_operand(i, "must be null; to wait for what an SGPR says is left out");
        return {};
    }

    Refusal check_scalar_constant(unsigned i, Operand operand, OperandType type) {
        // The base and limit of an aperture may be jumped to, if only by name: LLVM counts them among the pairs.
        const bool jumps = row_.opcode == Opcode::s_setpc_b64 || row_.opcode == Opcode::s_rfe_b64;
        if (jumps && is_aperture(operand.code)) return {};
        if (is_register_type(type)) return refuse_operand(i, "must be an SGPR");
        if (type == OperandType::barrier)
            return operand.is_inline_constant() ? Refusal{} : refuse_operand(i, "must be m0 or an inline constant");
        return check_constant(i, operand);
    }

    Refusal check_constant(unsigned i, Operand operand) {
        if (operand.is_vgpr()) return refuse_operand(i, "must be scalar");
        if (operand.is_literal()) {
            if (plan_.extra != Layout::none) return refuse_operand(i, "is a literal, which this form cannot carry");
            reads_literal_ = true;
            return {};
        }
        if (is_special_source(operand.code)) return {};
        return refuse_operand(
            i, is_source_left_out(operand.code) ? "is a source that is left out" : "is no operand of this target");
    }

    Refusal put_source(unsigned i, Operand operand) {
        if (instruction_.encoding == Encoding::sdwa) return put_sdwa_source(i, operand);
        const OperandSlot slot = plan_.slots[i];
        const OperandInfo& operand_info = row_.operands[i];
        if (!operand.exists()) return refuse_operand(i, "is missing");
        if (operand.is_vgpr()) {
            if (operand_info.registers == RegisterClass::sgpr || operand_info.type == OperandType::mask)
                return refuse_operand(i, "must be scalar");
            const Refusal refusal = put_vgpr(i, operand, slot.field);
            values_[slot.field] |= Operand::kFirstVgpr;
            return refusal;
        }
        if (operand_info.registers == RegisterClass::vgpr)
            return refuse_operand(i,
                                  is_source_left_out(operand.code) ? "is a source that is left out" : "must be a VGPR");
        values_[slot.field] = operand.code;
        if (is_second_of_dpp(i) && !has(context_.target, Feature::dpp_src1_sgpr))
            return refuse_operand(i, "must be a VGPR beside DPP on this target");
        if (operand_info.type == OperandType::mask) return check_mask(i, operand);
        const bool is_matrix = is_register_type(operand_info.type) && operand_info.type >= OperandType::b128;
        const bool is_null = operand == null_register(context_.generation);
        if (operand.is_scalar_register() && is_matrix && !is_null)  // what a WMMA adds to
            return refuse_operand(i, "must be VGPRs or an inline constant");
        if (operand.is_scalar_register())
            return is_scalar_group(context_.generation, operand.code, dwords(i))
                       ? Refusal{}
                       : refuse_operand(i, "is no aligned group of SGPRs of its size");
        if (is_register_type(operand_info.type) && operand_info.type < OperandType::b128)
            return refuse_operand(i, "must be a register");
        if (operand.is_literal() && (is_register_type(operand_info.type) || is_lane_select(i)))
            return refuse_operand(i, "cannot be a literal");
        return check_constant(i, operand);
    }

    bool is_second_of_dpp(unsigned i) const {
        return plan_.extra != Layout::none && plan_.slots[i].field == Field::src1;
    }
    bool is_lane_select(unsigned i) const {
        return i == row_.destinations + 1u &&
               (row_.opcode == Opcode::v_readlane_b32 || row_.opcode == Opcode::v_writelane_b32);
    }

    Refusal check_mask(unsigned i, Operand operand) const {
        if (!operand.is_scalar_register() || !is_scalar_group(context_.generation, operand.code, dwords(i)))
            return refuse_operand(i, "must be an SGPR, or a pair in wave64");
        if (operand.code >= Operand::kExec) return refuse_operand(i, "must not be exec");
        return {};
    }

    // SDWA holds eight bits of the source and says beside it whether that is an SGPR.
    Refusal put_sdwa_source(unsigned i, Operand operand) {
        const OperandSlot slot = plan_.slots[i];
        if (operand.is_vgpr()) return put_vgpr(i, operand, slot.field);
        if (row_.operands[i].registers == RegisterClass::vgpr) return refuse_operand(i, "must be a VGPR");
        if (!operand.exists() || !operand.is_scalar_register())
            return refuse_operand(i, "must be a register; a constant beside SDWA is left out");
        if (!is_scalar_group(context_.generation, operand.code, dwords(i)))
            return refuse_operand(i, "is no aligned group of SGPRs of its size");
        values_[slot.field] = operand.code;
        values_[slot.field == Field::word_src0 ? Field::scalar0 : Field::scalar1] = 1;
        return {};
    }

    const EncodingContext& context_;
    const Instruction& instruction_;
    const EncodingPlan& plan_;
    const InstructionInfo& row_;
    FieldValues values_;
    bool reads_literal_ = false;
};

}  // namespace

void write_fields(const LayoutInfo& layout, const FieldValues& values, EncodedInstruction& out) {
    out.words[out.count] |= layout.prefix;
    for (const FieldPlace& place : layout.fields)
        out.words[out.count + place.word] |= (values[place.field] & mask_of_width(place.width)) << place.low;
    out.count = static_cast<uint8_t>(out.count + layout.words);
}

bool read_fields(const LayoutInfo& layout, std::span<const uint32_t> words, FieldValues& values) {
    if (words.size() < layout.words) return false;
    for (const FieldPlace& place : layout.fields)
        values[place.field] = words[place.word] >> place.low & mask_of_width(place.width);
    return true;
}

bool is_scalar_group(Generation generation, unsigned code, unsigned dwords) {
    constexpr unsigned kTtmp = 108, kTtmpEnd = 124;
    if (code > 127) return false;
    if (dwords <= 1 || code == null_register(generation).code) return true;
    const unsigned alignment = dwords == 2 ? 2 : 4;
    if (code < Operand::kVcc) return code % alignment == 0 && code + dwords <= Operand::kVcc;
    if (code >= kTtmp && code < kTtmpEnd) return (code - kTtmp) % alignment == 0 && code + dwords <= kTtmpEnd;
    return dwords == 2 && (code == Operand::kVcc || code == Operand::kExec);
}

bool is_aperture(unsigned code) {
    constexpr unsigned kFirst = 235, kLast = 238;
    return code >= kFirst && code <= kLast;
}

bool is_special_source(unsigned code) {
    return Operand{static_cast<uint16_t>(code)}.is_inline_constant() || is_aperture(code) || code == Operand::kScc;
}

bool is_source_left_out(unsigned code) {
    constexpr unsigned kPopsExitingWaveId = 239, kVccz = 251, kExecz = 252, kLdsDirect = 254;
    return code == kPopsExitingWaveId || code == kVccz || code == kExecz || code == kLdsDirect;
}

Refusal pack(const EncodingContext& context, const Instruction& instruction, EncodedInstruction& out) {
    if (instruction.encoding == Encoding::vopd) return pack_dual(context, instruction, out);
    if (!has(context.target, instruction.opcode)) return refuse_form("this target has no such instruction");
    const EncodingPlan& plan = encoding_plan(context.generation, instruction.opcode, instruction.encoding);
    if (!plan.exists) return refuse_form("this target has no such form of it");
    if (instruction.dual != decltype(instruction.dual){}) return refuse_form("only VOPD has two halves");
    return Packer(context, instruction, plan).pack(out);
}

}  // namespace riftjit::rdna
