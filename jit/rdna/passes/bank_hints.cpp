#include "jit/rdna/passes/bank_hints.h"

#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/vopd_pairing.h"

namespace riftjit::rdna {
namespace {

bool share_dwords(RegisterPart a, RegisterPart b) {
    return a.exists() && a.id == b.id && a.first < b.first + b.dwords && b.first < a.first + a.dwords;
}

// The second must neither read nor write what the first writes.
bool depends(const Program& program, const Line& first, const Line& second) {
    for (const SlotEffect& effect : slots_of(program, second))
        if (share_dwords(second.parts[effect.slot], first.parts[0])) return true;
    return false;
}

bool is_pair(const Program& program, const Line& first, DualRole first_role, const Line& second, DualRole second_role) {
    return second.labels.empty() && second.drain == CounterSet{} &&
           may_be_paired(first_role, first.instruction, second_role, second.instruction) &&
           !depends(program, first, second);
}

}  // namespace

BankHints bank_hints(const Program& program, const std::vector<VirtualRegister>& registers) {
    BankHints hints(registers.size());
    if (program.wave_size != WaveSize::wave32 || generation(program.target) == Generation::gfx10) return hints;
    const auto is_vector = [&](RegisterPart part) {
        return part.exists() && registers[part.id].bank == RegisterBank::vector;
    };
    std::vector<DualRole> roles;
    for (const Line& line : program.lines) roles.push_back(dual_role(line, generation(program.target)));
    for (size_t i = 0; i + 1 < program.lines.size(); ++i) {
        const Line &first = program.lines[i], &second = program.lines[i + 1];
        if (!is_pair(program, first, roles[i], second, roles[i + 1])) continue;
        for (unsigned slot = 0; slot < 3; ++slot) {
            const RegisterPart a = first.parts[slot], b = second.parts[slot];
            if (!is_vector(a) || !is_vector(b) || a.id == b.id) continue;
            const auto banks = static_cast<uint8_t>(slot == 0 ? 2 : vopd_source_banks(generation(program.target)));
            hints[a.id].push_back({a.first, b.first, b.id, banks});
            hints[b.id].push_back({b.first, a.first, a.id, banks});
        }
        ++i;
    }
    return hints;
}

}  // namespace riftjit::rdna
