#include "jit/rdna/passes/register_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jit/rdna/object/code_object.h"
#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/bank_hints.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/live_ranges.h"
#include "jit/rdna/passes/schedule.h"

namespace riftjit::rdna {
namespace {

std::string describe(const VirtualRegister& reg) {
    const std::string_view path = reg.where.file_name();
    return fmt::format("the {}({}) declared at {}:{}", reg.bank == RegisterBank::vector ? "vgpr" : "sgpr", reg.dwords,
                       path.substr(path.rfind('/') + 1), reg.where.line());
}

unsigned alignment(const VirtualRegister& reg) {
    if (reg.bank == RegisterBank::vector || reg.dwords == 1) return 1;
    return reg.dwords == 2 ? 2 : 4;
}

struct Placed {
    RegisterRange registers;
    LiveRange live;
    size_t id;
};

// Linear scan over live ranges. A kernel that needs more registers than there are is refused: nothing is spilled.
class Allocator {
public:
    Allocator(Program& program, const std::vector<VirtualRegister>& registers, AllocationOptions options, Work& work)
        : program_(program),
          registers_(registers),
          work_(work),
          ranges_(live_ranges(program, registers, work)),
          hints_(options.chooses_banks ? bank_hints(program, registers) : BankHints(registers.size())) {}

    // Why the program cannot have hardware registers, or nothing.
    std::optional<std::string> place_all() {
        if (std::optional<std::string> refusal = place_fixed()) return refusal;
        return place_others();
    }
    unsigned vgprs() const { return vgprs_; }
    void substitute_all() {
        for (Line& line : program_.lines) substitute(line);
    }

private:
    static constexpr uint16_t kNoPlace = 0xFFFF;

    // Among fixed registers.
    const Placed* conflict(RegisterRange registers, const LiveRange& live) const {
        for (const Placed& other : placed_)
            if (other.registers.overlaps(registers) && other.live.overlaps(live)) return &other;
        return nullptr;
    }

    void place(size_t id, uint16_t code) {
        codes_[id] = code;
        if (registers_[id].bank == RegisterBank::vector)
            vgprs_ = std::max<unsigned>(vgprs_, code + registers_[id].dwords - Operand::kFirstVgpr);
        placed_.push_back({{code, registers_[id].dwords}, ranges_[id], id});
        for (unsigned dword = code; dword < code + registers_[id].dwords; ++dword) {
            if (registers_[id].fixed) {
                fixed_[dword].push_back(ranges_[id]);
                has_fixed_[dword] = true;
            } else {
                free_from_[dword] = ranges_[id].end + 1;
            }
        }
    }

    // Virtual registers are placed in the order of their beginnings, so of those before only the end counts.
    bool is_free(RegisterRange registers, const LiveRange& live) const {
        for (unsigned dword = registers.first; dword < registers.first + registers.count; ++dword) {
            ++work_.allocation;
            if (free_from_[dword] > live.begin) return false;
            if (!has_fixed_[dword]) continue;
            work_.allocation += fixed_[dword].size();
            if (std::ranges::any_of(fixed_[dword], [&](const LiveRange& other) { return other.overlaps(live); }))
                return false;
        }
        return true;
    }

    std::optional<std::string> place_fixed() {
        codes_.assign(registers_.size(), kNoPlace);
        for (size_t id = 0; id < registers_.size(); ++id) {
            const VirtualRegister& reg = registers_[id];
            if (!reg.fixed || ranges_[id].empty()) continue;
            LiveRange& live = ranges_[id];
            if (reg.defined_at_start) live.include(0);
            if (const Placed* other = conflict({*reg.fixed, reg.dwords}, live))
                return fmt::format("{}: {} and {} are one hardware register and both are live at instruction {}",
                                   program_.name, describe(reg), describe(registers_[other->id]),
                                   std::max(live.begin, other->live.begin) / 2);
            place(id, *reg.fixed);
        }
        return std::nullopt;
    }

    std::optional<std::string> place_others() {
        std::vector<size_t> order;
        for (size_t id = 0; id < registers_.size(); ++id)
            if (!registers_[id].fixed && !ranges_[id].empty()) order.push_back(id);
        std::ranges::sort(order, {}, [&](size_t id) { return std::pair(ranges_[id].begin, id); });
        for (const size_t id : order)
            if (!place_virtual(id)) return no_room_for(id);
        return std::nullopt;
    }

    std::string no_room_for(size_t id) const {
        const VirtualRegister& reg = registers_[id];
        const bool is_vector = reg.bank == RegisterBank::vector;
        return fmt::format("{}: no room for {} at instruction {}: {} {}s are live there, {} exist", program_.name,
                           describe(reg), ranges_[id].begin / 2, pressure(reg.bank, ranges_[id].begin) + reg.dwords,
                           is_vector ? "vgpr" : "sgpr", is_vector ? kMaxVgprs : kNumberedSgprs);
    }

    bool place_virtual(size_t id) {
        const VirtualRegister& reg = registers_[id];
        const bool is_vector = reg.bank == RegisterBank::vector;
        const unsigned count = is_vector ? kMaxVgprs : kNumberedSgprs;
        const auto is_free_at = [&](unsigned base) { return is_free({code_at(reg, base), reg.dwords}, ranges_[id]); };
        std::optional<unsigned> chosen;
        for (unsigned base = first_with_one_free(reg, ranges_[id]); base + reg.dwords <= count && !chosen;
             base += alignment(reg))
            if (is_free_at(base)) chosen = base;
        if (!chosen) return false;
        // What is granted anyway may be used for a better bank.
        const unsigned end = std::min<unsigned>(count, granted(std::max(vgprs_, *chosen + reg.dwords)));
        for (unsigned base = *chosen; !hints_[id].empty() && base + reg.dwords <= end; ++base) {
            if (!is_free_at(base) || !suits(id, code_at(reg, base))) continue;
            chosen = base;
            break;
        }
        place(id, code_at(reg, *chosen));
        return true;
    }

    // No base below has room for the register's first dword: the long-lived ones lie there. Some at a time.
    unsigned first_with_one_free(const VirtualRegister& reg, const LiveRange& live) const {
        constexpr unsigned kTogether = 8;  // a multiple of every alignment
        const unsigned count = reg.bank == RegisterBank::vector ? kMaxVgprs : kNumberedSgprs;
        const uint32_t* const from = free_from_.data() + code_at(reg, 0);
        unsigned base = 0;
        for (; base + kTogether <= count; base += kTogether) {
            unsigned free = 0;
            for (unsigned i = 0; i < kTogether; ++i) free |= from[base + i] <= live.begin ? 1u : 0u;
            if (free != 0) break;
            work_.allocation += kTogether / alignment(reg);
        }
        return base;
    }

    static uint16_t code_at(const VirtualRegister& reg, unsigned base) {
        return static_cast<uint16_t>((reg.bank == RegisterBank::vector ? Operand::kFirstVgpr : 0) + base);
    }

    unsigned granted(unsigned vgprs) const {
        const unsigned granule = info(program_.target).vgpr_granule / (lanes(program_.wave_size) / 32);
        return (vgprs + granule - 1) / granule * granule;
    }

    // Whether the register would lie in the right banks for those of its partners that have a place.
    bool suits(size_t id, uint16_t code) const {
        work_.allocation += hints_[id].size();
        return std::ranges::all_of(hints_[id], [&](const BankHint& hint) {
            const uint16_t other = codes_[hint.other_id];
            return other == kNoPlace || (code + hint.own) % hint.banks != (other + hint.other) % hint.banks;
        });
    }

    unsigned pressure(RegisterBank bank, uint32_t position) const {
        unsigned dwords = 0;
        for (const Placed& other : placed_)
            if (registers_[other.id].bank == bank && other.live.begin <= position && other.live.end >= position)
                dwords += other.registers.count;
        return dwords;
    }

    void substitute(Line& line) {
        line.slots.reset();
        for (unsigned slot = 0; slot < kSlotCount; ++slot) {
            const RegisterPart part = line.parts[slot];
            if (!part.exists()) continue;
            slot_operand(line.instruction, slot).code = static_cast<uint16_t>(codes_[part.id] + part.first);
        }
    }

    Program& program_;
    const std::vector<VirtualRegister>& registers_;
    Work& work_;
    std::vector<LiveRange> ranges_;
    const BankHints hints_;
    std::vector<Placed> placed_;
    std::array<uint32_t, kRegisterCodes> free_from_{};            // by hardware dword: position
    std::array<std::vector<LiveRange>, kRegisterCodes> fixed_{};  // by hardware dword
    std::array<bool, kRegisterCodes> has_fixed_{};
    std::vector<uint16_t> codes_;
    unsigned vgprs_ = 0;  // as many as the highest needs
};

}  // namespace

Work allocate_registers(Program& program, const std::vector<VirtualRegister>& registers, AllocationOptions options) {
    Work work;
    for (Line& line : program.lines) line.slots = slot_effects(program.target, program.wave_size, line.instruction);
    if (options.reorders) {
        auto [reordered, vgpr_budget] = scheduled(program, registers, work);
        Allocator anew(reordered, registers, options, work);
        if (!anew.place_all() && anew.vgprs() <= vgpr_budget) {
            anew.substitute_all();
            program = std::move(reordered);
            return work;
        }
    }
    Allocator as_written(program, registers, options, work);
    if (const std::optional<std::string> refusal = as_written.place_all()) throw AssemblyError(*refusal);
    as_written.substitute_all();
    return work;
}

}  // namespace riftjit::rdna
