#include "jit/rdna/encode/encoding_plan.h"

#include <vector>

#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

constexpr size_t kEncodingCount = static_cast<size_t>(Encoding::vopd) + 1;

bool is_short_format(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}

class PlanBuilder {
public:
    PlanBuilder(Generation generation, const InstructionInfo& row, Encoding encoding)
        : generation_(generation), row_(row), encoding_(encoding) {}

    EncodingPlan build() {
        const OpcodeNumber number = row_.number[static_cast<size_t>(generation_)];
        plan_.exists = number.exists() && form_exists(number);
        if (!plan_.exists) return plan_;
        plan_.operand_count = row_.destinations + row_.sources;
        plan_.number = number.value;
        if (row_.format >= Format::DS || row_.format == Format::SMEM) {
            plan_memory();
        } else if (row_.format < Format::SMEM) {
            plan_scalar();
        } else {
            plan_vector(number);
        }
        return plan_;
    }

private:
    bool form_exists(OpcodeNumber number) const {
        const Modifiers& modifiers = row_.modifiers[static_cast<size_t>(generation_)];
        const bool is_short = is_short_format(row_.format) && !number.vop3_only;
        switch (encoding_) {
            case Encoding::native:
                return is_short || !is_short_format(row_.format);
            case Encoding::e64:
                return is_short_format(row_.format) && !modifiers.no_e64;
            case Encoding::sdwa:
                return is_short && modifiers.sdwa && generation_ == Generation::gfx10;
            case Encoding::dpp16:
            case Encoding::dpp8:
                return is_short ? modifiers.dpp : !is_short_format(row_.format) && modifiers.e64_dpp;
            case Encoding::e64_dpp16:
            case Encoding::e64_dpp8:
                return is_short_format(row_.format) && modifiers.e64_dpp;
            case Encoding::vopd:
                return false;
        }
        return false;
    }

    OperandType type(unsigned i) const { return row_.operands[i].type; }
    bool is_source(unsigned i) const { return i >= row_.destinations; }
    void put(unsigned i, Place place, Field field = Field::count) { plan_.slots[i] = {place, field, false}; }

    // Immediates and what has no field; true if operand i is one of them.
    bool put_fieldless(unsigned i) {
        switch (type(i)) {
            case OperandType::simm16:
            case OperandType::hwreg:
            case OperandType::label:
                return plan_.uses_simm16 = true;
            case OperandType::literal:
                return plan_.has_immediate_literal = true;
            case OperandType::k16:
            case OperandType::k32:
                plan_.has_immediate_literal = true;
                put(i, Place::constant);
                return true;
            default:
                break;
        }
        if (!row_.operands[i].tied) return false;
        put(i, Place::tied);
        return true;
    }

    void plan_scalar() {
        plan_.base = static_cast<Layout>(row_.format);
        unsigned source = 0;
        for (unsigned i = 0; i < plan_.operand_count; ++i) {
            if (put_fieldless(i)) continue;
            if (type(i) == OperandType::imm) {
                put(i, Place::immediate, Field::ssrc0);
                continue;
            }
            // Without destination the first of SOP1's two sources stands where the destination would (s_movreld).
            const bool in_sdst = !is_source(i) || row_.format == Format::SOPK ||
                                 (row_.format == Format::SOP1 && row_.destinations == 0 && row_.sources == 2 && i == 0);
            if (in_sdst) {
                put(i, Place::scalar, Field::sdst);
            } else {
                put(i, Place::scalar, source++ == 0 ? Field::ssrc0 : Field::ssrc1);
            }
        }
    }

    void plan_vector(OpcodeNumber number) {
        const bool is_word = row_.format == Format::VOP3P || row_.format == Format::VOP3 || number.vop3_only ||
                             encoding_ == Encoding::e64 || encoding_ == Encoding::e64_dpp16 ||
                             encoding_ == Encoding::e64_dpp8;
        if (is_dpp16(encoding_)) plan_.extra = Layout::DPP16;
        if (is_dpp8(encoding_)) plan_.extra = Layout::DPP8;
        if (encoding_ == Encoding::sdwa)
            plan_.extra = row_.format == Format::VOPC ? Layout::SDWA_compare : Layout::SDWA;
        if (is_word) {
            plan_long(number);
        } else {
            plan_short();
            for (unsigned i = 0; i < plan_.operand_count; ++i) plan_.slots[i].half = names_half(generation_, row_, i);
        }
    }

    Field first_source() const { return plan_.extra == Layout::none ? Field::src0 : Field::word_src0; }
    Place first_place() const {
        if (plan_.extra == Layout::none) return Place::source;
        return encoding_ == Encoding::sdwa ? Place::source : Place::vector;
    }

    void plan_short() {
        plan_.base = row_.format == Format::VOP1   ? Layout::VOP1
                     : row_.format == Format::VOP2 ? Layout::VOP2
                                                   : Layout::VOPC;
        for (unsigned i = 0; i < row_.destinations; ++i) plan_short_destination(i);
        unsigned source = 0;
        for (unsigned i = row_.destinations; i < plan_.operand_count; ++i) {
            if (put_fieldless(i)) continue;
            if (type(i) == OperandType::mask) {
                put(i, Place::vcc);
            } else if (is_in_destination(i)) {
                put(i, Place::vector, Field::vdst);
            } else if (source++ == 0) {
                put(i, first_place(), first_source());
            } else {
                put(i, encoding_ == Encoding::sdwa ? Place::source : Place::vector, Field::vsrc1);
            }
        }
    }

    void plan_short_destination(unsigned i) {
        if (type(i) == OperandType::exec) return put(i, Place::exec);
        if (type(i) == OperandType::mask) {
            if (plan_.extra == Layout::SDWA_compare) return put(i, Place::scalar, Field::sdst);
            return put(i, Place::vcc);
        }
        if (i == 1) return put(i, Place::swapped);
        put(i, row_.operands[i].registers == RegisterClass::sgpr ? Place::scalar : Place::vector, Field::vdst);
    }

    // v_movreld and its kin index by the number in the destination field, which they only read.
    bool is_in_destination(unsigned i) const {
        return row_.format == Format::VOP1 && row_.destinations == 0 && row_.sources == 2 && i == 0;
    }

    void plan_long(OpcodeNumber number) {
        plan_.has_sdst = row_.destinations == 2;
        plan_.base = row_.format == Format::VOP3P ? Layout::VOP3P : plan_.has_sdst ? Layout::VOP3_sdst : Layout::VOP3;
        if (is_short_format(row_.format) && !number.vop3_only)
            plan_.number += row_.format == Format::VOP1   ? kVop3OfVop1
                            : row_.format == Format::VOP2 ? kVop3OfVop2
                                                          : kVop3OfVopc;
        for (unsigned i = 0; i < row_.destinations; ++i) {
            const bool is_scalar = type(i) == OperandType::mask || row_.operands[i].registers == RegisterClass::sgpr;
            if (type(i) == OperandType::exec) {
                put(i, Place::exec, Field::vdst);
            } else {
                put(i, is_scalar ? Place::scalar : Place::vector, i == 0 ? Field::vdst : Field::sdst);
            }
        }
        unsigned source = 0;
        for (unsigned i = row_.destinations; i < plan_.operand_count; ++i) {
            if (put_fieldless(i)) continue;
            if (is_in_destination(i)) {
                put(i, Place::vector, Field::vdst);
            } else if (source == 0) {
                put(i, first_place(), first_source()), ++source;
            } else {
                put(i, Place::source, source++ == 1 ? Field::src1 : Field::src2);
            }
        }
    }

    void plan_memory() {
        plan_.base = row_.format == Format::SMEM      ? Layout::SMEM
                     : row_.format == Format::DS      ? Layout::DS
                     : row_.format == Format::FLAT    ? Layout::FLAT
                     : row_.format == Format::GLOBAL  ? Layout::GLOBAL
                     : row_.format == Format::SCRATCH ? Layout::SCRATCH
                                                      : Layout::MUBUF;
        unsigned data = 0;
        for (unsigned i = 0; i < plan_.operand_count; ++i) plan_memory_operand(i, data);
        plan_.has_vaddr = plan_.has_addr && !row_.thread_addressed;
    }

    void plan_memory_operand(unsigned i, unsigned& data) {
        switch (type(i)) {
            case OperandType::addr:
                plan_.has_addr = true;
                return;
            case OperandType::base:
                plan_.has_base = true;
                return;
            case OperandType::rsrc:
                plan_.has_resource = true;
                return;
            case OperandType::length:
                plan_.is_prefetch = true;
                return put(i, Place::immediate, Field::sdata);
            case OperandType::imm:
                return put(i, Place::immediate, Field::sdata);
            default:
                break;
        }
        if (row_.format == Format::SMEM) {
            if (!is_source(i)) put(i, Place::scalar, Field::sdata);  // a prefetch's offset is in the address
            return;
        }
        if (!is_source(i)) {
            if (i == 1) return put(i, Place::none);  // ds_bvh_stack_rtn: the address, written back
            return put(i, Place::vector, row_.format == Format::MUBUF ? Field::data0 : Field::vdst);
        }
        put(i, Place::vector, data++ == 0 ? Field::data0 : Field::data1);
    }

    Generation generation_;
    const InstructionInfo& row_;
    Encoding encoding_;
    EncodingPlan plan_;
};

std::vector<EncodingPlan> build_plans() {
    std::vector<EncodingPlan> plans;
    plans.reserve(3 * kOpcodeCount * kEncodingCount);
    for (size_t generation = 0; generation < 3; ++generation)
        for (const InstructionInfo& row : all_instructions())
            for (size_t encoding = 0; encoding < kEncodingCount; ++encoding)
                plans.push_back(
                    PlanBuilder(static_cast<Generation>(generation), row, static_cast<Encoding>(encoding)).build());
    return plans;
}

}  // namespace

const EncodingPlan& encoding_plan(Generation generation, Opcode opcode, Encoding encoding) {
    static const std::vector<EncodingPlan> plans = build_plans();
    return plans[(static_cast<size_t>(generation) * kOpcodeCount + static_cast<size_t>(opcode)) * kEncodingCount +
                 static_cast<size_t>(encoding)];
}

}  // namespace riftjit::rdna
