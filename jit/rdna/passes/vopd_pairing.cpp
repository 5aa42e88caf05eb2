// Dual issue: two neighbours that do not depend on each other become one VOPD instruction where the register banks
// allow it (RDNA3 ISA 7.6).
#include "jit/rdna/passes/vopd_pairing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

const DualInfo* dual_info(Opcode opcode, Generation generation) {
    for (const DualInfo& dual : dual_instructions())
        if (dual.opcode == opcode && generation >= dual.first && generation <= dual.last) return &dual;
    return nullptr;
}

bool takes_literal_constant(Opcode opcode) { return opcode == Opcode::v_fmaak_f32 || opcode == Opcode::v_fmamk_f32; }

std::optional<unsigned> vgpr_of(Operand operand) {
    return operand.is_vgpr() ? std::optional(operand.vgpr()) : std::nullopt;
}

bool same_bank(Operand a, Operand b, unsigned banks) {
    const auto x = vgpr_of(a), y = vgpr_of(b);
    return x && y && *x % banks == *y % banks;
}

VopdHalf half_of(const Instruction& instruction) {
    VopdHalf half;
    half.opcode = instruction.opcode;
    const InstructionInfo& row = info(instruction.opcode);
    half.operands[0] = instruction.operands[0];
    half.operands[1] = instruction.operands[1];
    if (row.sources > 1) half.operands[2] = instruction.operands[2];
    return half;
}

class Pairer {
public:
    explicit Pairer(PassContext& context) : context_(context), generation_(context.generation()) {}

    void run() {
        for (LineId i = context_.first(); i != kNoLine; i = context_.next(i)) {
            const LineId second = context_.next_in_block(i);
            if (second == kNoLine) continue;
            if (const auto pair = paired(i, second)) {
                context_.erase(second);
                context_.replace(i, *pair);
            }
        }
    }

private:
    std::optional<Instruction> paired(LineId first, LineId second) const {
        const Line &x = context_.line(first), &y = context_.line(second);
        const DualRole x_role = dual_role(x, generation_), y_role = dual_role(y, generation_);
        const Instruction &a = x.instruction, &b = y.instruction;
        if (y.drain != CounterSet{} || !may_be_paired(x_role, a, y_role, b)) return std::nullopt;
        if (!independent(a, context_.facts(second).effects) || !banks_allow(a, b) || !scalars_allow(a, b))
            return std::nullopt;
        return x_role == DualRole::first_or_second ? combine(a, b) : combine(b, a);
    }

    // Both halves read before either writes, so only the first result must not be touched by the second.
    static bool independent(const Instruction& first, const Effects& second) {
        const RegisterRange written{first.operands[0].code, 1};
        return !second.reads_any(written) && !second.writes_any(written);
    }

    bool banks_allow(const Instruction& a, const Instruction& b) const {
        const VopdHalf x = half_of(a), y = half_of(b);
        if (same_bank(x.operands[0], y.operands[0], 2)) return false;
        const bool moves = a.opcode == Opcode::v_mov_b32 && b.opcode == Opcode::v_mov_b32;
        const bool exempt = generation_ == Generation::gfx12 && moves;
        const unsigned banks = vopd_source_banks(generation_);
        return (exempt || !same_bank(x.operands[1], y.operands[1], banks)) &&
               !same_bank(x.operands[2], y.operands[2], banks);
    }

    // Two scalars together, the literal and vcc of v_cndmask counted.
    static bool scalars_allow(const Instruction& a, const Instruction& b) {
        std::set<uint16_t> scalars;
        for (const Instruction* half : {&a, &b}) {
            for (unsigned i = 1; i < 3; ++i) {
                const Operand operand = half->operands[i];
                if (operand.exists() && (operand.is_scalar_register() || operand.is_literal()))
                    scalars.insert(operand.code);
            }
            if (reads_lane_mask(info(half->opcode))) scalars.insert(Operand::kVcc);
        }
        return scalars.size() <= 2;
    }

    static Instruction combine(const Instruction& x, const Instruction& y) {
        Instruction pair;
        pair.opcode = x.opcode;
        pair.encoding = Encoding::vopd;
        pair.dual = {half_of(x), half_of(y)};
        pair.has_literal = x.has_literal || y.has_literal;
        pair.literal = x.has_literal ? x.literal : y.literal;
        return pair;
    }

    PassContext& context_;
    const Generation generation_;
};

}  // namespace

// A short-form operation that has no modifiers and a place in VOPD.
DualRole dual_role(const Line& line, Generation generation) {
    const Instruction& instruction = line.instruction;
    if (line.origin != Origin::kernel || instruction.encoding != Encoding::native) return DualRole::none;
    const DualInfo* dual = dual_info(instruction.opcode, generation);
    if (dual == nullptr || takes_literal_constant(instruction.opcode)) return DualRole::none;
    return dual->x.exists() ? DualRole::first_or_second : DualRole::second;
}

unsigned vopd_source_banks(Generation generation) { return generation == Generation::gfx11 ? 2 : 4; }

bool may_be_paired(DualRole a, const Instruction& a_instruction, DualRole b, const Instruction& b_instruction) {
    if (a == DualRole::none || b == DualRole::none || (a == DualRole::second && b == DualRole::second)) return false;
    return !a_instruction.has_literal || !b_instruction.has_literal || a_instruction.literal == b_instruction.literal;
}

void pair_dual_instructions(PassContext& context) {
    if (context.generation() == Generation::gfx10 || context.wave_size() != WaveSize::wave32) return;
    Pairer(context).run();
}

}  // namespace riftjit::rdna
