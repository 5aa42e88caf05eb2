// VOPD: two operations in one instruction, and what keeps a pair from being one.
#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

struct HalfFields {
    Field op, src0, vsrc1, vdst;
};
constexpr HalfFields kHalfFields[2] = {{Field::op_x, Field::src0_x, Field::vsrc1_x, Field::vdst_x},
                                       {Field::op_y, Field::src0_y, Field::vsrc1_y, Field::vdst_y}};

constexpr int kNoRegister = -1;

// The VGPRs that a half reads, by the port they come through: src0, vsrc1 and src2.
struct Ports {
    int src0 = kNoRegister, vsrc1 = kNoRegister, src2 = kNoRegister;
};

Ports ports(const VopdHalf& half) {
    const auto number = [](Operand operand) {
        return operand.is_vgpr() ? static_cast<int>(operand.vgpr()) : kNoRegister;
    };
    Ports ports{number(half.operands[1]), number(half.operands[2]), kNoRegister};
    if (half.opcode == Opcode::v_fmamk_f32) {
        ports.src2 = ports.vsrc1;
        ports.vsrc1 = kNoRegister;
    }
    if (info(half.opcode).reads_destination()) ports.src2 = number(half.operands[0]);
    return ports;
}

class DualPacker {
public:
    DualPacker(const EncodingContext& context, const Instruction& instruction)
        : context_(context), instruction_(instruction) {}

    Refusal pack(EncodedInstruction& out) {
        for (unsigned half = 0; half < 2; ++half) {
            if (Refusal refusal = pack_half(half)) {
                refusal.half = static_cast<int8_t>(half);
                return refusal;
            }
        }
        if (const Refusal refusal = check_pair()) return refusal;
        if (has_literal_ != instruction_.has_literal || (!has_literal_ && instruction_.literal != 0))
            return refuse_part("literal", has_literal_ ? "is missing" : "is not used");
        write_fields(layout_info(Layout::VOPD, context_.generation), values_, out);
        if (has_literal_) out.words[out.count++] = instruction_.literal;
        return {};
    }

private:
    Refusal pack_half(unsigned index) {
        const VopdHalf& half = instruction_.dual[index];
        const HalfFields& fields = kHalfFields[index];
        const DualInfo* dual = find_dual(context_.generation, half.opcode);
        const OpcodeNumber number = dual == nullptr ? OpcodeNumber{} : index == 0 ? dual->x : dual->y;
        if (!number.exists()) return refuse_form("cannot be this half of a pair");
        values_[fields.op] = number.value;
        if (!half.operands[0].is_vgpr() || half.operands[0].code > 511) return refuse_operand(0, "must be a VGPR");
        values_[fields.vdst] = half.operands[0].vgpr() >> index;  // the lowest bit of Y's follows from X's
        if (const Refusal refusal = pack_src0(half, fields)) return refusal;
        has_literal_ |= half.opcode == Opcode::v_fmaak_f32 || half.opcode == Opcode::v_fmamk_f32;
        if (half.operands[3].exists()) return refuse_operand(3, "is not an operand of its own");
        if (half.opcode == Opcode::v_mov_b32)
            return half.operands[2].exists() ? refuse_operand(2, "does not belong to this instruction") : Refusal{};
        if (!half.operands[2].is_vgpr() || half.operands[2].code > 511) return refuse_operand(2, "must be a VGPR");
        values_[fields.vsrc1] = half.operands[2].vgpr();
        return {};
    }

    Refusal pack_src0(const VopdHalf& half, const HalfFields& fields) {
        const Operand source = half.operands[1];
        if (!source.exists() || source.code > 511) return refuse_operand(1, "is missing");
        has_literal_ |= source.is_literal();
        const bool known =
            source.is_vgpr() || source.is_literal() || source.is_scalar_register() || is_special_source(source.code);
        if (!known)
            return refuse_operand(
                1, is_source_left_out(source.code) ? "is a source that is left out" : "is no operand of this target");
        values_[fields.src0] = source.code;
        return {};
    }

    Refusal check_pair() const {
        const VopdHalf &x = instruction_.dual[0], &y = instruction_.dual[1];
        if ((x.operands[0].vgpr() ^ y.operands[0].vgpr()) % 2 == 0)
            return refuse_part("vdst", "of one half must be even and of the other odd");
        // On gfx12 both halves may read one register, which is fetched once (RDNA4 ISA 7.8).
        const bool may_be_same = context_.generation == Generation::gfx12;
        const auto share = [&](int a, int b, int banks) {
            return a != kNoRegister && b != kNoRegister && a % banks == b % banks && !(may_be_same && a == b);
        };
        const Ports of_x = ports(x), of_y = ports(y);
        const bool are_moves = x.opcode == Opcode::v_mov_b32 && y.opcode == Opcode::v_mov_b32;
        const bool src0_is_free = are_moves && context_.generation == Generation::gfx12;
        if (!src0_is_free && share(of_x.src0, of_y.src0, 4)) return refuse_part("src0", "of both halves share a bank");
        if (share(of_x.vsrc1, of_y.vsrc1, 4)) return refuse_part("vsrc1", "of both halves share a bank");
        if (share(of_x.src2, of_y.src2, 2)) return refuse_part("src2", "of both halves share a bank");
        return check_scalars();
    }

    Refusal check_scalars() const {
        uint16_t seen[4] = {};
        unsigned count = 0;
        const auto read = [&](uint16_t code) {
            for (unsigned i = 0; i < count; ++i)
                if (seen[i] == code) return;
            seen[count++] = code;
        };
        if (has_literal_) read(Operand::kLiteral);
        for (const VopdHalf& half : instruction_.dual) {
            const Operand source = half.operands[1];
            const bool is_scalar = !source.is_vgpr() && !source.is_literal() && !source.is_inline_constant() &&
                                   source != null_register(context_.generation);
            if (is_scalar) read(source.code);
            if (half.opcode == Opcode::v_cndmask_b32) read(Operand::kVcc);
        }
        return count > 2 ? refuse_part("src0", "of the pair read more scalar values than the constant bus carries")
                         : Refusal{};
    }

    const EncodingContext& context_;
    const Instruction& instruction_;
    FieldValues values_;
    bool has_literal_ = false;
};

}  // namespace

const DualInfo* find_dual(Generation generation, Opcode opcode) {
    for (const DualInfo& dual : dual_instructions())
        if (dual.opcode == opcode && dual.first <= generation && generation <= dual.last) return &dual;
    return nullptr;
}

Refusal pack_dual(const EncodingContext& context, const Instruction& instruction, EncodedInstruction& out) {
    if (context.generation == Generation::gfx10) return refuse_form("this target has no VOPD");
    if (context.wave != WaveSize::wave32) return refuse_form("VOPD needs wave32");
    if (instruction.opcode != instruction.dual[0].opcode) return refuse_form("the opcode of a pair is its X half's");
    Instruction pair;
    pair.opcode = instruction.opcode;
    pair.encoding = instruction.encoding;
    pair.dual = instruction.dual;
    pair.literal = instruction.literal;
    pair.has_literal = instruction.has_literal;
    pair.size = instruction.size;
    if (pair != instruction) return refuse_part("operands and modifiers", "of a pair are in its halves");
    return DualPacker(context, instruction).pack(out);
}

}  // namespace riftjit::rdna
