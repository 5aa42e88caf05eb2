// Dual issue: two neighbours that do not depend on each other become one VOPD instruction where the register banks
// allow it (RDNA3 ISA 7.6).
#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"

namespace riftjit::rdna {
namespace {

const DualInfo* dual_info(Opcode opcode, Generation generation) {
    for (const DualInfo& dual : dual_instructions())
        if (dual.opcode == opcode && generation >= dual.first && generation <= dual.last) return &dual;
    return nullptr;
}

bool takes_literal_constant(Opcode opcode) { return opcode == Opcode::v_fmaak_f32 || opcode == Opcode::v_fmamk_f32; }

// A short-form operation that has no modifiers and a place in VOPD.
bool is_candidate(const Line& line, Generation generation) {
    const Instruction& instruction = line.instruction;
    return line.origin == Origin::kernel && instruction.encoding == Encoding::native &&
           dual_info(instruction.opcode, generation) != nullptr && !takes_literal_constant(instruction.opcode);
}

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
    explicit Pairer(Program& program) : program_(program), generation_(generation(program.target)) {}

    void run() {
        std::vector<Line> result;
        for (size_t i = 0; i < program_.lines.size(); ++i) {
            Line& first = program_.lines[i];
            if (i + 1 < program_.lines.size())
                if (const auto pair = paired(first, program_.lines[i + 1])) {
                    first.instruction = *pair;
                    ++i;
                }
            result.push_back(std::move(first));
        }
        program_.lines = std::move(result);
    }

private:
    std::optional<Instruction> paired(const Line& first, const Line& second) const {
        if (!second.labels.empty() || second.drain != CounterSet{}) return std::nullopt;
        if (!is_candidate(first, generation_) || !is_candidate(second, generation_)) return std::nullopt;
        const Instruction &a = first.instruction, &b = second.instruction;
        if (!independent(a, b) || !banks_allow(a, b) || !constants_allow(a, b)) return std::nullopt;
        if (dual_info(a.opcode, generation_)->x.exists()) return combine(a, b);
        if (dual_info(b.opcode, generation_)->x.exists()) return combine(b, a);
        return std::nullopt;
    }

    // Both halves read before either writes, so only the first result must not be touched by the second.
    bool independent(const Instruction& a, const Instruction& b) const {
        const Effects second = effects(program_.target, program_.wave_size, b);
        const RegisterRange written{a.operands[0].code, 1};
        return !second.reads_any(written) && !second.writes_any(written);
    }

    bool banks_allow(const Instruction& a, const Instruction& b) const {
        const VopdHalf x = half_of(a), y = half_of(b);
        if (same_bank(x.operands[0], y.operands[0], 2)) return false;
        const bool moves = a.opcode == Opcode::v_mov_b32 && b.opcode == Opcode::v_mov_b32;
        const bool exempt = generation_ == Generation::gfx12 && moves;
        return (exempt || !same_bank(x.operands[1], y.operands[1], 4)) && !same_bank(x.operands[2], y.operands[2], 4);
    }

    // One literal; two scalars together, the literal and vcc of v_cndmask counted.
    bool constants_allow(const Instruction& a, const Instruction& b) const {
        if (a.has_literal && b.has_literal && a.literal != b.literal) return false;
        std::set<uint16_t> scalars;
        for (const Instruction* half : {&a, &b}) {
            for (unsigned i = 1; i < 3; ++i) {
                const Operand operand = half->operands[i];
                if (operand.exists() && (operand.is_scalar_register() || operand.is_literal()))
                    scalars.insert(operand.code);
            }
            if (info(half->opcode).reads_vcc) scalars.insert(Operand::kVcc);
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

    Program& program_;
    const Generation generation_;
};

}  // namespace

void pair_dual_instructions(Program& program) {
    if (generation(program.target) == Generation::gfx10 || program.wave_size != WaveSize::wave32) return;
    Pairer(program).run();
}

}  // namespace riftjit::rdna
