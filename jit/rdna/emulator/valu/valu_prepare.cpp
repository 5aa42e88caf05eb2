// From a decoded instruction to a LaneOp.
#include "host/result.h"
#include "jit/rdna/emulator/valu/valu_op.h"
#include "jit/rdna/table/inline_floats.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna::emulator {
namespace {

bool is_half_type(OperandType type) {
    return type == OperandType::f16 || type == OperandType::i16 || type == OperandType::bf16 ||
           type == OperandType::b16 || type == OperandType::k16;
}
bool is_packed_type(OperandType type) {
    return type == OperandType::f16x2 || type == OperandType::bf16x2 || type == OperandType::i16x2;
}
bool is_integer_type(OperandType type) { return type == OperandType::i32 || type == OperandType::i64; }

uint64_t sign_bit(const OperandInfo& info) {
    if (is_half_type(info.type)) return 0x8000;
    if (info.type == OperandType::f16x2 || info.type == OperandType::bf16x2) return 0x80008000;
    return info.dwords == 2 ? 1ull << 63 : 1ull << 31;
}

bool has_bit(uint8_t bits, unsigned index) { return (bits >> index & 1) != 0; }

class Preparation {
public:
    Preparation(const Instruction& instruction, Target target, WaveSize wave_size)
        : instruction_(instruction), row_(info(instruction.opcode)), packed_format_(row_.format == Format::VOP3P) {
        op_.semantics = lane_semantics(instruction.opcode);
        check(op_.semantics != nullptr, "a lane operation has semantics");
        op_.generation = generation(target);
        op_.wave_size = wave_size;
        op_.omod = instruction.omod;
        op_.clamp = instruction.clamp;
        op_.neg = instruction.neg;
        op_.abs = instruction.abs;
        op_.op_sel = instruction.op_sel;
        op_.op_sel_hi = instruction.op_sel_hi;
    }

    Result<LaneOp> run() {
        if (const char* reason = unsupported(); reason != nullptr)
            return fail(ErrorKind::Unsupported, "{}: {}", row_.name, reason);
        prepare_destinations();
        for (unsigned i = 0; i < row_.sources; ++i) prepare_source(i);
        RIFTJIT_TRY_VOID(prepare_routing());
        return op_;
    }

private:
    // Combinations that encode but that nothing public explains.
    const char* unsupported() const {
        const bool selects =
            instruction_.opcode == Opcode::v_cndmask_b32 || instruction_.opcode == Opcode::v_cndmask_b16;
        for (unsigned i = 0; i < row_.sources && !selects; ++i) {
            const OperandType type = row_.source_operands()[i].type;
            const bool neg = has_bit(instruction_.neg, i), abs = has_bit(instruction_.abs, i);
            if (packed_format_ && type == OperandType::i16x2 && (neg || abs))
                return "neg of packed integers is not defined";
            if (!packed_format_ && is_integer_type(type) && (neg || abs))
                return "neg or abs of an integer source is not defined";
            if (instruction_.opcode == Opcode::v_ldexp_f16 && i == 1 && (neg || abs))
                return "neg or abs of an exponent is not defined";
        }
        if (is_integer_dot()) {
            const bool signs =
                instruction_.opcode == Opcode::v_dot4_i32_iu8 || instruction_.opcode == Opcode::v_dot8_i32_iu4;
            if ((instruction_.neg & (signs ? 4 : 7)) != 0 || instruction_.abs != 0)
                return "neg of a dot product's integers is not defined";
            if (instruction_.op_sel != 0 || (instruction_.op_sel_hi & 3) != 3)
                return "op_sel of a dot product's bytes is not defined";
        }
        return nullptr;
    }
    bool is_integer_dot() const {
        return packed_format_ && row_.sources == 3 && row_.source_operands()[0].type == OperandType::i32 &&
               row_.source_operands()[2].type == OperandType::i32;
    }

    void prepare_destinations() {
        op_.high_half = has_bit(instruction_.op_sel, 3) && !packed_format_;
        for (unsigned i = 0; i < row_.destinations; ++i) {
            const OperandInfo& described = row_.destination_operands()[i];
            const Operand& operand = instruction_.destination(i);
            if (described.type == OperandType::exec)
                op_.lane_mask = Operand::kExec;
            else if (described.type == OperandType::mask)
                op_.lane_mask = operand.exists() ? mask_destination(operand) : uint16_t{Operand::kVcc};
            else if (operand.is_vgpr())
                op_.vgpr = static_cast<uint16_t>(operand.vgpr()), op_.dwords = described.dwords;
            else
                op_.scalar = mask_destination(operand);
        }
        if (instruction_.encoding == Encoding::sdwa) op_.sdwa = instruction_.sdwa;
    }
    uint16_t mask_destination(const Operand& operand) const {
        return operand == null_register(op_.generation) ? kNoRegister : operand.code;
    }

    void prepare_source(unsigned i) {
        const OperandInfo& described = row_.source_operands()[i];
        Operand operand = instruction_.source(i);
        if (described.type == OperandType::mask) return prepare_mask(operand);
        if (described.type == OperandType::k16 || described.type == OperandType::k32) operand = {Operand::kLiteral};
        if (!operand.exists()) operand = instruction_.destination();  // the tied old value
        ValuSource& source = op_.sources[op_.source_count++];
        source.dwords = described.dwords == 0 ? 1 : described.dwords;
        locate(operand, described.type, source);
        shape(i, described, source);
    }

    void locate(const Operand& operand, OperandType type, ValuSource& source) const {
        if (operand.is_vgpr()) {
            source.kind = SourceKind::vgpr;
            source.index = static_cast<uint16_t>(operand.vgpr());
        } else if (operand == null_register(op_.generation)) {
            source.kind = SourceKind::constant;  // 0, of a pair too
        } else if (operand.is_scalar_register()) {
            source.kind = SourceKind::scalar;
            source.index = operand.code;
        } else if (operand.is_literal() || operand.is_inline_constant()) {
            const bool is_signed = row_.name.find("_i64") != std::string_view::npos;
            source.kind = SourceKind::constant;
            source.constant = constant_bits(operand, instruction_.literal, constant_type(type),
                                            is_signed ? LiteralSign::sign_extended : LiteralSign::zero_extended);
            if (operand.code >= kFirstInlineFloat && operand.code <= kLastInlineFloat &&
                doubles_inline_floats(op_.generation, row_))
                source.constant |= source.constant << 16;
        } else {
            source.kind = SourceKind::aperture;
            source.index = operand.code;
        }
    }
    // fma_mix reads its constants as f32, whatever op_sel_hi says of registers.
    OperandType constant_type(OperandType type) const {
        return packed_format_ && type == OperandType::f16 ? OperandType::f32 : type;
    }

    void shape(unsigned i, const OperandInfo& described, ValuSource& source) const {
        if (op_.sdwa && i < 2) {
            source.sdwa_select = op_.sdwa->source_select[i];
            source.sdwa_sign = has_bit(op_.sdwa->sign_extend, i);
        }
        if (packed_format_) return shape_packed(i, described, source);
        const bool half = is_half_type(described.type) || names_half(op_.generation, row_, row_.destinations + i);
        if (half) {
            source.shape = SourceShape::half;
            source.high = has_bit(instruction_.op_sel, i) && source.kind != SourceKind::constant;
        }
        const uint64_t sign = half ? 0x8000 : sign_bit(described);
        if (has_bit(instruction_.abs, i)) source.keep = ~sign;
        if (has_bit(instruction_.neg, i)) source.flip = sign;
    }
    // neg holds neg_lo, abs neg_hi; a lone f32 accumulator takes them as neg and abs.
    void shape_packed(unsigned i, const OperandInfo& described, ValuSource& source) const {
        const bool low = has_bit(instruction_.neg, i), high = has_bit(instruction_.abs, i);
        if (described.type == OperandType::f32) {
            if (high) source.keep = ~(1ull << 31);
            if (low) source.flip = 1ull << 31;
        } else if (is_packed_type(described.type)) {
            source.shape = SourceShape::packed;
            source.high = has_bit(instruction_.op_sel, i);
            source.high_low = !has_bit(instruction_.op_sel_hi, i);
            if (described.type != OperandType::i16x2) source.flip = (low ? 0x8000u : 0u) | (high ? 0x80000000u : 0u);
        }
    }

    void prepare_mask(const Operand& operand) {
        op_.mask.exists = true;
        if (!operand.exists())
            op_.mask.code = Operand::kVcc;
        else if (operand == null_register(op_.generation))
            op_.mask.constant = 0;
        else if (operand.is_scalar_register())
            op_.mask.code = operand.code;
        else
            op_.mask.constant =
                constant_bits(operand, instruction_.literal, OperandType::i64, LiteralSign::zero_extended);
    }

    Result<void> prepare_routing() {
        if (row_.reads_vcc && !op_.mask.exists) {  // div_fmas
            op_.mask.exists = true;
            op_.mask.code = Operand::kVcc;
        }
        const Encoding encoding = instruction_.encoding;
        if (encoding == Encoding::dpp8 || encoding == Encoding::e64_dpp8) op_.routing = dpp8_routing(instruction_.dpp);
        if (encoding == Encoding::dpp16 || encoding == Encoding::e64_dpp16) {
            RIFTJIT_TRY(routing, dpp16_routing(instruction_.dpp));
            op_.routing = routing;
        }
        return {};
    }

    const Instruction& instruction_;
    const InstructionInfo& row_;
    bool packed_format_;
    LaneOp op_;
};

}  // namespace

Result<LaneOp> prepare_lane_op(const Instruction& instruction, Target target, WaveSize wave_size) {
    return Preparation(instruction, target, wave_size).run();
}

LaneOp prepare_dual_half(const VopdHalf& half, uint32_t literal, Target target) {
    Instruction single;
    single.opcode = half.opcode;
    const InstructionInfo& row = info(half.opcode);
    single.operands[0] = half.operands[0];
    // A constant k32 has no field: the sources that have one follow each other.
    unsigned next = 1;
    for (unsigned i = 0; i < row.sources; ++i) {
        const OperandType type = row.source_operands()[i].type;
        if (type == OperandType::k32 || type == OperandType::mask) continue;
        single.operands[row.destinations + i] = half.operands[next++];
    }
    single.literal = literal;
    single.has_literal = true;
    auto prepared = prepare_lane_op(single, target, WaveSize::wave32);
    check(prepared.has_value(), "a half of VOPD has no modifiers to refuse");
    return *prepared;
}

}  // namespace riftjit::rdna::emulator
